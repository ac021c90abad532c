// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

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

// walk calls visit for a command and all its subcommands.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}
