// SPDX-License-Identifier: Apache-2.0

// Package output prints results in the form that -o asks for: a table for
// people, JSON or YAML for machines.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Format is what -o was set to. The zero value is [Table].
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// String implements pflag.Value.
func (f *Format) String() string {
	if *f == "" {
		return string(Table)
	}
	return string(*f)
}

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	switch Format(s) {
	case Table, JSON, YAML:
		*f = Format(s)
		return nil
	}
	return fmt.Errorf("invalid format type, must be table, json or yaml")
}

// Type implements pflag.Value.
func (f *Format) Type() string { return "format" }

// Bind registers -o on fs.
func (f *Format) Bind(fs *pflag.FlagSet) {
	*f = Table
	fs.VarP(f, "output", "o", "print the result as table, json or yaml")
}

// Complete offers the formats to a shell.
func Complete(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("output",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{
				string(JSON) + "\tOutput result in JSON format",
				string(Table) + "\tOutput result in human-readable format",
				string(YAML) + "\tOutput result in YAML format",
			}, cobra.ShellCompDirectiveNoFileComp
		}) // fails only for a flag that is not there
}

// Write prints value as JSON or YAML, or calls table.
func (f Format) Write(w io.Writer, value any, table func(io.Writer) error) error {
	switch f {
	case JSON:
		return WriteJSON(w, value)
	case YAML:
		return WriteYAML(w, value)
	}
	return table(w)
}

// WriteJSON prints value as one line of JSON. On a terminal characters that could steer
// it are escaped; the value stays the same.
func WriteJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if term.IsTerminal(w) {
		text = []byte(term.Escape(string(text))) // they are in strings, or there are none
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteYAML prints value as YAML, with the keys of its JSON form, by the rules of
// [YAMLFor].
func WriteYAML(w io.Writer, value any) error {
	text, err := YAMLFor(w, value)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// YAMLFor is value as YAML to be printed to w. For a terminal characters that could steer
// it are escaped; the value stays the same.
func YAMLFor(w io.Writer, value any) ([]byte, error) {
	text, err := marshalYAML(value)
	if err != nil || !term.IsTerminal(w) {
		return text, err
	}
	return escapeYAML(text)
}

// noCharacters escapes what Unicode has, and YAML not.
var noCharacters = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

// marshalYAML is yaml.Marshal, which makes YAML of JSON, for texts with any character: in
// JSON that is not escaped it takes some of them for spaces, and refuses others.
func marshalYAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.FromJSON([]byte(noCharacters.Replace(term.Escape(string(text)))))
}

// escapeYAML has texts with characters that could steer a terminal in double quotes, and
// these characters escaped.
//
// The YAML library writes some of them as they are, and then does not read them again.
// They are replaced by characters for private use while it works, which it takes for
// letters.
func escapeYAML(text []byte) ([]byte, error) {
	if term.Safe(string(text)) == string(text) {
		return text, nil
	}
	if bytes.ContainsFunc(text, isPrivate) {
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		line, err := json.Marshal(value) // which is YAML too
		return []byte(term.Escape(string(line)) + "\n"), err
	}
	var doc yaml.Node
	if err := yaml.UnmarshalV3(bytes.Map(toPrivate, text), &doc); err != nil {
		return nil, err
	}
	quotePrivate(&doc)
	var b bytes.Buffer
	enc := yaml.NewEncoderV3(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent() // as the rest is printed
	if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
		return nil, err
	}
	return []byte(term.Escape(strings.Map(fromPrivate, b.String()))), nil
}

func quotePrivate(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && strings.ContainsFunc(n.Value, isPrivate) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quotePrivate(child)
	}
}

// The characters for private use that stand for others: for those below U+0100, and for
// those from U+2000 to U+20FF.
const (
	private     = 0xf000
	privateHigh = 0xf100
	high        = 0x2000
)

func isPrivate(r rune) bool { return r >= private && r < privateHigh+0x100 }

func toPrivate(r rune) rune {
	switch {
	case term.Safe(string(r)) == string(r):
		return r
	case r < 0x100:
		return private + r
	}
	return privateHigh + r - high
}

func fromPrivate(r rune) rune {
	switch {
	case !isPrivate(r):
		return r
	case r < privateHigh:
		return r - private
	}
	return r - privateHigh + high
}

// Rows prints a table: cells padded to their column's width and separated by
// tabs, as scripts that cut Helm's tables expect. Control characters in cells
// are made visible. A nil header prints none.
func Rows(w io.Writer, header []string, rows [][]string) error {
	return StyledRows(w, header, rows, func(_, _ int, cell string) string { return cell })
}

// StyledRows is [Rows] with colours: style is called for the text of every cell,
// of row -1 for the header's, and what it adds takes no room in a column.
func StyledRows(w io.Writer, header []string, rows [][]string, style func(row, column int, cell string) string) error {
	first := 0
	all := rows
	if header != nil {
		all = append([][]string{header}, rows...)
		first = -1
	}
	var widths []int
	for _, row := range all {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(term.SafeLine(cell)))
		}
	}
	var b strings.Builder
	for n, row := range all {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			cell = term.SafeLine(cell)
			b.WriteString(style(n+first, i, cell))
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
