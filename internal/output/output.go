// SPDX-License-Identifier: Apache-2.0

// Package output prints results in the form that -o asks for: a table for
// people, JSON or YAML for machines.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/internal/term"
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
	return fmt.Errorf("must be table, json or yaml")
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
	_ = cmd.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{string(Table), string(JSON), string(YAML)}, cobra.ShellCompDirectiveNoFileComp
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

// WriteJSON prints value as one line of JSON.
func WriteJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteYAML prints value as YAML, with the keys of its JSON form.
func WriteYAML(w io.Writer, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
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
