// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/cli/help"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

// TestShortTexts checks the form of the short texts of commands: "Show release history".
func TestShortTexts(t *testing.T) {
	walk(New(cmdutil.New(term.Streams{})), func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			short := cmd.Short
			if short == "" || !unicode.IsUpper(rune(short[0])) || strings.HasSuffix(short, ".") || len(short) > 60 {
				t.Errorf("short text is %q, want a sentence of at most 60 letters that begins with a capital and has no period", short)
			}
			for word := range strings.FieldsSeq("Prints Lists Shows Tells Makes Runs Fetches Packs") {
				if strings.HasPrefix(cmd.Long, word+" ") {
					t.Errorf("long text begins with %q, want the imperative", word)
				}
			}
		})
	})
}

// The help of each command is as wide as the terminal, and names all its flags and the global ones.
func TestHelpFits(t *testing.T) {
	for path, cmd := range exampleCommands() {
		t.Run(path, func(t *testing.T) {
			for _, columns := range []int{0, 60, 110, 200} {
				text := help.Text(cmd, columns, term.Style{})
				for line := range strings.Lines(text) {
					if n := len(strings.TrimSuffix(line, "\n")); columns > 0 && n > columns {
						t.Errorf("at %d columns a line has %d: %s", columns, n, line)
					}
				}
				check := func(f *pflag.Flag) {
					if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
						t.Errorf("at %d columns --%s is missing", columns, f.Name)
					}
				}
				cmd.LocalFlags().VisitAll(check)
				cmd.InheritedFlags().VisitAll(check)
			}
		})
	}
}

// Examples of values that an error names are accepted by the flags.
func TestExampleValues(t *testing.T) {
	examples := 0
	for path, cmd := range exampleCommands() {
		visit := func(f *pflag.Flag) {
			value := strings.Trim(cmdutil.ExampleValue(f), "'")
			if value == "" || f.NoOptDefVal != "" {
				return
			}
			examples++
			if err := f.Value.Set(value); err != nil {
				t.Errorf("%s --%s %s: %v", path, f.Name, value, err)
			}
		}
		cmd.LocalFlags().VisitAll(visit)
	}
	if examples < 100 {
		t.Errorf("%d flags have an example, want 100 or more", examples)
	}
}

// walk calls visit for a command and all its subcommands.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}
