// SPDX-License-Identifier: Apache-2.0

// Package readme provides the command that writes the README of a chart.
package readme

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/readme"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Options are the flags of `helm readme`.
type Options struct {
	Ref           string // the chart
	Output        string // "" and "-" mean standard output
	Check         bool
	Templates     []string
	Order         string
	BadgeStyle    string
	OnlyDescribed bool
}

// fileReadme is the file that --check compares with.
const fileReadme = "README.md"

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "readme CHART",
		Short: "Write the README of a chart",
		Long: `Write the README of a chart from its Chart.yaml and its values: a table with the
type, the default and the description of each value.

Descriptions are the comments of helm-docs:

  # -- Tag of the image
  # @default -- the chart's appVersion
  tag: ""

A chart without such comments is described by its other comments and its schema.

The text is that of the chart's README.md.gotmpl, or of --template-files, with
the named templates of helm-docs. The README is printed, or written to --output.`,
		Example: `  helm readme ./mychart
  helm readme ./mychart --output ./mychart/README.md

  # Fail if the README is out of date
  helm readme ./mychart --check`,
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		Args:        cmdutil.Args(1, 1, "a chart: a directory, an archive, repository/name or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Ref = args[0]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.Output, "output", "o", "", "file to write the README to, - for standard output")
	fs.BoolVar(&o.Check, "check", false, "fail and print the difference if the chart's README.md, or "+
		"the file of --output, is out of date")
	fs.StringSliceVarP(&o.Templates, "template-files", "t", nil, "templates to use: a name in the chart, or "+
		"a path that begins with ./, ../ or / (default README.md.gotmpl)")
	fs.StringVarP(&o.Order, "sort-values-order", "s", string(readme.ByName), "order of the values: alphanum or file")
	fs.StringVarP(&o.BadgeStyle, "badge-style", "b", "flat-square", "style of the badges")
	fs.BoolVar(&o.OnlyDescribed, "ignore-non-descriptions", false, "leave out values without a description")
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if o.Output == "-" {
		o.Output = ""
	}
	c, err := f.Chart(ctx, o.Ref, nil)
	if err != nil {
		return err
	}
	templates, err := o.templates(c)
	if err != nil {
		return err
	}
	text, err := readme.Write(ctx, readme.Input{
		Chart: c, Templates: templates, Order: readme.Order(o.Order), BadgeStyle: o.BadgeStyle,
		OnlyDescribed: o.OnlyDescribed,
	})
	if err != nil {
		return fmt.Errorf("write the README of %s: %w", c.Name(), err)
	}
	derived := cmdutil.Derived{Command: "readme", Ref: o.Ref, Output: o.Output, Text: text}
	switch {
	case o.Check:
		if derived.Name, derived.Old, err = o.existing(c); err != nil {
			return err
		}
		return derived.Check(f.Out)
	case o.Output == "":
		_, err := term.SafeWriter(f.Out).Write(text)
		return err
	}
	if err := derived.Write(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.Out, "Wrote %s\n", o.Output)
	return err
}

// existing returns the file that --check compares with, or nil if it does not exist.
func (o Options) existing(c *chart.Chart) (name string, text []byte, err error) {
	name = o.Output
	if name == "" {
		if f := c.File(fileReadme); f != nil {
			return fileReadme, f.Data, nil
		}
		name = filepath.Join(o.Ref, fileReadme) // .helmignore may leave it out
	}
	text, err = readIfExists(name)
	if o.Output == "" {
		name = fileReadme
	}
	return name, text, err
}

// templates returns the files of --template-files, or the chart's own template if it has one.
func (o Options) templates(c *chart.Chart) ([]readme.Template, error) {
	names := o.Templates
	if len(names) == 0 {
		names = []string{readme.FileTemplate}
	}
	var out []readme.Template
	for _, name := range names {
		text, err := o.template(c, name)
		switch {
		case err != nil:
			return nil, err
		case text != nil:
			out = append(out, readme.Template{Name: name, Text: string(text)})
		case len(o.Templates) == 0:
			return nil, nil
		case name == readme.FileTemplate:
			out = append(out, readme.Template{Name: name, Text: readme.Default})
		default:
			return nil, &TemplateError{Chart: o.Ref, Name: name}
		}
	}
	return out, nil
}

// template returns the text of a template, or nil if it does not exist. A template of a chart
// may be in a directory and not in the chart, because .helmignore leaves it out.
func (o Options) template(c *chart.Chart, name string) ([]byte, error) {
	if filepath.IsAbs(name) || strings.HasPrefix(filepath.ToSlash(name), "./") ||
		strings.HasPrefix(filepath.ToSlash(name), "../") {
		return readIfExists(name)
	}
	for _, f := range c.Raw {
		if f.Name == name {
			return f.Data, nil
		}
	}
	return readIfExists(filepath.Join(o.Ref, name))
}

func readIfExists(name string) ([]byte, error) {
	text, err := file.Read(name, cmdutil.MaxDerived)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// A TemplateError is returned for a file of --template-files that does not exist.
type TemplateError struct{ Chart, Name string }

func (e *TemplateError) Error() string {
	return fmt.Sprintf("template %s does not exist, neither as a path nor in the chart %s", e.Name, e.Chart)
}

// Hint returns what to do about the error.
func (e *TemplateError) Hint() string {
	return "a path to a template outside of the chart begins with ./, ../ or /"
}
