// SPDX-License-Identifier: Apache-2.0

// Package readme writes the README of a chart from its Chart.yaml, its values and their
// comments, and its schema.
//
//	text, err := readme.Write(ctx, readme.Input{Chart: c})
//
// Comments and templates are those of helm-docs 1.14, and give the same text:
//
//	image:
//	  # -- Tag of the image
//	  # @default -- the chart's appVersion
//	  tag: ""
//
// A chart without such comments is described by what package chart/schema finds: other comments
// and the descriptions of a schema.
package readme

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// FileTemplate is the name of a chart's template for its README.
const FileTemplate = "README.md.gotmpl"

// Order is the order of the values in a README.
type Order string

// The orders.
const (
	ByName Order = "alphanum" // the default
	ByLine Order = "file"
)

// A Template is the text of a file with named templates. Its name is used in errors.
type Template struct{ Name, Text string }

// Input is the input of [Write].
type Input struct {
	Chart *chart.Chart
	// Templates are parsed after the built-in ones and in order: later definitions replace
	// earlier ones. The text is that of the last. Without any it is that of [Default].
	Templates []Template
	// Order is the order of the values; the default is ByName.
	Order Order
	// BadgeStyle is the style of the badges at shields.io; the default is "flat-square".
	BadgeStyle string
	// OnlyDescribed leaves out values without a description.
	OnlyDescribed bool
}

// An OrderError is returned for an Order that does not exist.
type OrderError struct{ Order Order }

func (e *OrderError) Error() string {
	return fmt.Sprintf("values cannot be sorted by %q: the orders are %q and %q", string(e.Order), ByName, ByLine)
}

// Write returns the README of in.Chart as Markdown. An error of a template is an [*engine.Error],
// one in values.yaml a [*ValuesError], and one in the order an [*OrderError]; if ctx ends, Write
// returns its error.
func Write(ctx context.Context, in Input) ([]byte, error) {
	if in.Chart == nil {
		return nil, errors.New("write a README: there is no chart")
	}
	if in.Order == "" {
		in.Order = ByName
	}
	if in.Order != ByName && in.Order != ByLine {
		return nil, &OrderError{in.Order}
	}
	values, err := readRows(in)
	if err != nil {
		return nil, err
	}
	text, err := execute(ctx, in, newData(in, values))
	if err != nil {
		return nil, err
	}
	return []byte(tidy(text)), nil
}

// tidy removes a blank at the end of each line, which the templates of badges leave, and repeated
// empty lines. Two blanks, a line break of Markdown, would be lost: so a template writes three, as
// in helm-docs.
func tidy(text string) string {
	text = strings.ReplaceAll(text, " \n", "\n")
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return text
}
