// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

// A command that is created alone equals the one in the whole tree, and no plugin can replace it.
func TestCommandsAreIndependent(t *testing.T) {
	help := func(root *cobra.Command, name string) string {
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd.Name() != name {
			t.Fatalf("Find(%s) = %v, %v", name, cmd, err)
		}
		var b bytes.Buffer
		cmd.SetOut(&b)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	alone := 0
	for _, c := range commands() {
		whole, part := New(cmdutil.New(term.Streams{})), newFor(cmdutil.New(term.Streams{}), []string{c.name, "x"})
		if a, b := help(whole, c.name), help(part, c.name); a != b {
			t.Errorf("help of %s in the whole tree:\n%s\nalone:\n%s", c.name, a, b)
		}
		if n := len(part.Commands()); n == 1 {
			alone++
			if _, replaceable := part.Commands()[0].Annotations[cmdutil.NotInHelm]; replaceable {
				t.Errorf("%s is created alone, but a plugin may replace it", c.name)
			}
		}
	}
	if alone < 20 {
		t.Errorf("%d commands are created alone", alone)
	}
	chosen := cmdutil.New(term.Streams{})
	chosen.Settings.Builtin = []string{"diff"} // its names are compared with all commands
	for _, f := range []*cmdutil.Factory{cmdutil.New(term.Streams{}), chosen} {
		for _, args := range [][]string{nil, {"nosuch"}, {"help", "install"}, {"--debug", "install"}, {"ls"}, {"plugin", "list"}, {"__complete", ""}} {
			if root := newFor(f, args); len(root.Commands()) < len(commands()) {
				t.Errorf("%q: %d commands", args, len(root.Commands()))
			}
		}
	}
	if root := newFor(chosen, []string{"install"}); len(root.Commands()) < len(commands()) {
		t.Errorf("with HELM_BUILTIN: %d commands", len(root.Commands()))
	}
}
