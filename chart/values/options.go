// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
)

// Options are the values flags of a command line. Each list is in the order of the flags.
type Options struct {
	Files   []string // --values
	JSON    []string // --set-json
	Set     []string // --set
	String  []string // --set-string
	File    []string // --set-file
	Literal []string // --set-literal

	// Lists are the lists that merge item by item, or nil if there are none; see [ListsOf].
	Lists *Lists
}

// Build returns the user's values. It merges the files in their order and then applies the
// other flags in the order of the fields of Options. Nulls stay in the result, so that they
// can delete a chart's defaults.
//
// Build calls read for every file, including "-" and URLs.
func (o Options) Build(read func(path string) ([]byte, error)) (map[string]any, error) {
	out := map[string]any{}
	if err := o.build(read, out, false); err != nil {
		return nil, err
	}
	return out, nil
}

// build merges the user's values into out. If trace is set, the leaves are traced.
func (o Options) build(read func(path string) ([]byte, error), out map[string]any, trace bool) error {
	if read == nil {
		read = func(string) ([]byte, error) { return nil, errors.New("files cannot be read here") }
	}
	for _, name := range o.Files {
		data, err := read(name)
		if err != nil {
			return fmt.Errorf("read values: %w", err)
		}
		layer, err := Parse(name, data)
		if err != nil {
			return err
		}
		if trace {
			layer = traceFile(name, data, layer, o.Lists)
		}
		mergeInto(out, layer, o.Lists)
	}
	var check *keylessCheck
	if !trace { // values are made without origins first
		check = newKeylessCheck(out, o.Lists)
	}
	for _, kind := range o.expressions() {
		for _, expr := range kind.exprs {
			apply := o.Lists.Apply
			if trace {
				apply = o.Lists.applyTraced
			}
			if err := apply(out, kind.mode, expr, read); err != nil {
				return err
			}
			check.applied(out, kind.mode, expr)
		}
	}
	return check.err(out)
}

// expressions are the expressions of a flag.
type expressions struct {
	mode  Mode
	exprs []string
}

// expressions returns the expressions of all flags in the order in which they are applied.
func (o Options) expressions() []expressions {
	return []expressions{{SetJSON, o.JSON}, {Set, o.Set}, {SetString, o.String}, {SetFile, o.File},
		{SetLiteral, o.Literal}}
}
