// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
)

// Options are the values that a user gave on the command line, each list in
// the order of its flags.
type Options struct {
	Files   []string // --values
	JSON    []string // --set-json
	Set     []string // --set
	String  []string // --set-string
	File    []string // --set-file
	Literal []string // --set-literal
}

// Build computes the user's values: the files first, each over those before
// it, then the flags of each kind, kind by kind in the order of the fields of
// Options, whatever their order on the command line was. A null stays in the
// result, so that it can delete a chart's default.
//
// read is asked for every file, "-" and URLs included.
func (o Options) Build(read func(path string) ([]byte, error)) (map[string]any, error) {
	if read == nil {
		read = func(string) ([]byte, error) { return nil, errors.New("files cannot be read here") }
	}
	out := map[string]any{}
	for _, name := range o.Files {
		data, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("read values: %w", err)
		}
		layer, err := Parse(name, data)
		if err != nil {
			return nil, err
		}
		mergeInto(out, layer)
	}
	for _, kind := range []struct {
		mode  Mode
		exprs []string
	}{{SetJSON, o.JSON}, {Set, o.Set}, {SetString, o.String}, {SetFile, o.File}, {SetLiteral, o.Literal}} {
		for _, expr := range kind.exprs {
			if err := Apply(out, kind.mode, expr, read); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
