// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
)

// warnBuiltin says on standard error which names in HELM_BUILTIN no command has: a
// misspelled one would let the plugin run without a word.
func warnBuiltin(root *cobra.Command, f *cmdutil.Factory) {
	unknown, known := f.Settings.UnknownBuiltin(root)
	for _, name := range unknown {
		fmt.Fprintf(f.Err, "%s HELM_BUILTIN names %q, and there is no such command; it can name %s, or all\n",
			f.Style(f.Err).Yellow("Warning:"), name, strings.Join(known, ", "))
	}
}

// stays reports whether name is a built-in command that runs whatever plugins are
// installed.
func stays(root *cobra.Command, f *cmdutil.Factory, name string) bool {
	p := f.Settings.Precedence(root, name)
	return p == cmdutil.BuiltinRuns || p == cmdutil.Protected
}

// replace takes the built-in command of a plugin's name out of the tree, and reports
// whether there was one.
func replace(root *cobra.Command, name string) bool {
	for _, c := range root.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			root.RemoveCommand(c)
			return true
		}
	}
	return false
}

// describeReplacement has help say which of a plugin and a built-in command runs.
func describeReplacement(cmd *cobra.Command, p *plugin.Plugin) {
	if cmd.Long == "" {
		cmd.Long = cmd.Short
	}
	cmd.Annotations = map[string]string{cmdutil.NotInHelm: ""}
	cmd.Short += " (plugin, in place of the built-in)"
	cmd.Long += "\n\n" + replacementNote(p)
}

func replacementNote(p *plugin.Plugin) string {
	return fmt.Sprintf("\"helm %s\" runs the plugin in %s.\nHELM_BUILTIN=%[1]s runs the built-in command of that name.",
		p.Name, term.SafeLine(p.Dir))
}

// describeReplaceable has the help of the commands that Helm does not have say what
// takes their place.
func describeReplaceable(root *cobra.Command) {
	for _, c := range root.Commands() {
		if _, ok := c.Annotations[cmdutil.NotInHelm]; ok {
			c.Long += fmt.Sprintf(`

This is the built-in command, which Helm does not have. Where a plugin of the name
%q is installed, the plugin runs in its place unless HELM_BUILTIN=%[1]s.`, c.Name())
		}
	}
}

// asksHelp reports whether a plugin's arguments ask for its help.
func asksHelp(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || strings.HasPrefix(a, "--help") })
}
