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

// warnBuiltin warns on standard error of names in HELM_BUILTIN that are not commands: with a
// misspelled name the plugin would run silently.
func warnBuiltin(root *cobra.Command, f *cmdutil.Factory) {
	unknown, known := f.Settings.UnknownBuiltin(root)
	for _, name := range unknown {
		fmt.Fprintf(f.Err, "%s HELM_BUILTIN contains %q, which is not a command; it may contain %s, or all\n",
			f.Style(f.Err).Yellow("Warning:"), name, strings.Join(known, ", "))
	}
}

// isBuiltin reports whether the built-in command name runs, whatever plugins are installed.
func isBuiltin(root *cobra.Command, f *cmdutil.Factory, name string) bool {
	p := f.Settings.Precedence(root, name)
	return p == cmdutil.BuiltinRuns || p == cmdutil.Protected
}

// removeBuiltin removes the built-in command called name from the tree, and reports whether there
// was one.
func removeBuiltin(root *cobra.Command, name string) bool {
	for _, c := range root.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			root.RemoveCommand(c)
			return true
		}
	}
	return false
}

// describeReplacement extends a plugin command's help with the built-in command that it replaces.
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

// describeReplaceable extends the help of the commands that Helm does not have: a plugin may
// replace them.
func describeReplaceable(root *cobra.Command) {
	for _, c := range root.Commands() {
		if _, ok := c.Annotations[cmdutil.NotInHelm]; ok {
			c.Long += fmt.Sprintf(`

Helm does not have this built-in command. If a plugin called %q is installed, the
plugin runs instead, unless HELM_BUILTIN=%[1]s is set.`, c.Name())
		}
	}
}

// isHelpRequest reports whether a plugin's arguments contain a help flag.
func isHelpRequest(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || strings.HasPrefix(a, "--help") })
}
