// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestPrecedence(t *testing.T) {
	root := &cobra.Command{Use: "helm"}
	root.AddCommand(
		&cobra.Command{Use: "install NAME", Aliases: []string{"i"}},
		&cobra.Command{Use: "diff", Aliases: []string{"d"}, Annotations: map[string]string{NotInHelm: ""}},
	)
	for _, test := range []struct {
		name, builtin, plugin string
		want                  Precedence
	}{
		{"no command of that name", "", "hello", NoBuiltin},
		{"Helm's own", "", "install", Protected},
		{"an alias of Helm's own", "", "i", Protected},
		{"Helm's own, named", "install", "install", Protected},
		{"one that Cobra adds", "", "help", Protected},
		{"Cobra's and helm's internal names", "", "__complete", Protected},
		{"not in Helm", "", "diff", PluginRuns},
		{"not in Helm, by its alias", "", "d", PluginRuns},
		{"another is named", "schema,different", "diff", PluginRuns},
		{"named", "schema,diff", "diff", BuiltinRuns},
		{"named, with blanks", "schema, diff", "diff", BuiltinRuns},
		{"all are", "all", "diff", BuiltinRuns},
		{"all, and no command of that name", "all", "hello", NoBuiltin},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewSettings(from(map[string]string{"HELM_BUILTIN": test.builtin}))
			if got := s.Precedence(root, test.plugin); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
