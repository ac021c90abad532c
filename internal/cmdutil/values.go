// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/term"
)

// ValueFlags are the flags for values.
type ValueFlags struct {
	files   []string
	options values.Options
	strict  bool
	// texts are the files that were read: standard input can be read only once.
	texts map[string][]byte
}

// Bind registers the flags.
func (v *ValueFlags) Bind(fs *pflag.FlagSet) {
	v.texts = map[string][]byte{}
	StringSliceVarP(fs, &v.files, "values", "f",
		"values from a YAML file, a URL, or - for standard input (may be repeated; the last one wins)")
	StringArrayVarP(fs, &v.options.Set, "set", "", "set values: key1=val1,key2=val2 (may be repeated)")
	StringArrayVarP(fs, &v.options.String, "set-string", "",
		"set string values: key1=val1,key2=val2 (may be repeated)")
	StringArrayVarP(fs, &v.options.File, "set-file", "",
		"set values from files: key1=path1,key2=path2 (may be repeated)")
	StringArrayVarP(fs, &v.options.JSON, "set-json", "",
		`set JSON values: key1=json1,key2=json2, or {"key1": json1} (may be repeated)`)
	StringArrayVarP(fs, &v.options.Literal, "set-literal", "",
		"set a literal string value: key=value (may be repeated)")
}

// Build reads the files and computes the user's values for c, whose schemas say which lists merge.
func (v *ValueFlags) Build(ctx context.Context, f *Factory, c *chart.Chart) (map[string]any, error) {
	v.options.Lists = values.ListsOf(c)
	return v.Sources().Build(v.Reader(ctx, f))
}

// BindStrict registers --strict-values.
func (v *ValueFlags) BindStrict(fs *pflag.FlagSet) {
	fs.BoolVar(&v.strict, "strict-values", false, "fail if nothing in the chart reads a key of the given values")
}

// Check returns the check for values that nothing reads.
func (v *ValueFlags) Check(ctx context.Context, f *Factory) action.ValueCheck {
	locate := sync.OnceValue(func() func(path ...string) values.Origin {
		return v.Sources().Locator(v.Reader(ctx, f))
	})
	return action.ValueCheck{StrictValues: v.strict, LocateValue: func(path ...string) values.Origin {
		return locate()(path...)
	}}
}

// Given reports whether a flag gives values.
func (v *ValueFlags) Given() bool {
	o := v.options
	return len(v.files)+len(o.JSON)+len(o.Set)+len(o.String)+len(o.File)+len(o.Literal) > 0
}

// Origins returns a function that returns where the values of Build come from.
func (v *ValueFlags) Origins(ctx context.Context, f *Factory) action.OriginsFunc {
	return func() (*values.Origins, error) { return v.Sources().Origins(v.Reader(ctx, f)) }
}

// Reader returns a function that reads files like [Factory.ReadSource], each once.
func (v *ValueFlags) Reader(ctx context.Context, f *Factory) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := v.texts[path]; ok {
			return text, nil
		}
		text, err := f.ReadSource(ctx, path)
		if err == nil && v.texts != nil {
			v.texts[path] = text
		}
		return text, err
	}
}

// Sources returns the flags' values, with the lists of the chart that Build was called for.
func (v *ValueFlags) Sources() values.Options {
	o := v.options
	o.Files = v.files
	return o
}

// maxSource is the size of the largest values file, in bytes.
const maxSource = fetch.MaxText

// ReadSource reads a file, standard input ("-"), or a URL with the scheme http, https or a
// plugin's.
func (f *Factory) ReadSource(ctx context.Context, path string) ([]byte, error) {
	switch {
	case path == "-":
		if f.In == nil {
			return nil, errors.New("standard input: there is none")
		}
		data, err := term.ReadUntil(ctx, f.In, maxSource+1)
		return checkSource("standard input", data, err)
	case fetch.IsURL(path):
		return f.HTTP().Text(ctx, path)
	}
	if strings.Contains(path, "://") {
		return (&fetch.Finder{HTTP: f.HTTP(), Plugins: f.Plugins(), Progress: f.Report()}).Text(ctx, path)
	}
	data, err := file.ReadInput(ctx, path, maxSource)
	if size, ok := errors.AsType[*file.SizeError](err); ok {
		return nil, fmt.Errorf("read %s: %w", path, size)
	}
	return data, err
}

// checkSource returns data, or an error if it is too large for a values file.
func checkSource(name string, data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxSource {
		return nil, fmt.Errorf("read %s: larger than %d MiB", name, maxSource>>20)
	}
	return data, nil
}
