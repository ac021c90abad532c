// SPDX-License-Identifier: Apache-2.0

// Package output prints results in the format of --output: a table, JSON or YAML.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Format is the value of --output. The zero value is [Table].
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

// Bind registers --output on fs.
func (f *Format) Bind(fs *pflag.FlagSet) {
	*f = Table
	fs.VarP(f, "output", "o", "output format: table, json or yaml")
}

// Complete registers the completion of --output.
func Complete(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("output",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{
				string(JSON) + "\tOutput result in JSON format",
				string(Table) + "\tOutput result in human-readable format",
				string(YAML) + "\tOutput result in YAML format",
			}, cobra.ShellCompDirectiveNoFileComp
		}) // the only error is that the flag does not exist
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

// WriteJSON prints value as one line of JSON. On a terminal it escapes control characters, which
// does not change the value.
func WriteJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if term.IsTerminal(w) {
		text = []byte(term.Escape(string(text))) // they occur only in strings
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteYAML prints value as YAML, with the keys of its JSON form. Control characters are escaped as
// in [YAMLFor].
func WriteYAML(w io.Writer, value any) error {
	text, err := YAMLFor(w, value)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// YAMLFor returns value as YAML to print to w. If w is a terminal it escapes control characters,
// which does not change the value.
func YAMLFor(w io.Writer, value any) ([]byte, error) {
	text, err := marshalYAML(value)
	if err != nil || !term.IsTerminal(w) {
		return text, err
	}
	return escapeYAML(text)
}

// nonCharacters escapes code points that YAML does not allow.
var nonCharacters = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

// marshalYAML marshals value by way of JSON. All special characters in the JSON are escaped first:
// yaml.Marshal takes some for spaces and rejects others.
func marshalYAML(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return yaml.FromJSON([]byte(nonCharacters.Replace(term.Escape(string(text)))))
}

// escapeYAML writes strings with control characters in double quotes, with these characters
// escaped.
//
// The YAML library writes some of them unescaped, and then cannot read them. Therefore they are
// replaced with private use characters, which the library takes for letters, while it runs.
func escapeYAML(text []byte) ([]byte, error) {
	if term.Safe(string(text)) == string(text) {
		return text, nil
	}
	if bytes.ContainsFunc(text, isPrivate) {
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		line, err := json.Marshal(value) // JSON is YAML too
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
	enc.CompactSeqIndent() // as in other output
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

// The private use characters that replace others: those below U+0100, and those from U+2000 to
// U+20FF.
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
