// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

// precedence returns which command runs, the plugin or a built-in one of the same name.
func precedence(f *cmdutil.Factory, cmd *cobra.Command, p *plugin.Plugin) cmdutil.Precedence {
	if !p.HasCommand() {
		return cmdutil.NoBuiltin
	}
	return f.Settings.Precedence(cmd.Root(), p.Name)
}

// sayPrecedence prints which command runs after the installation of p, if a built-in command has
// the same name.
func sayPrecedence(f *cmdutil.Factory, cmd *cobra.Command, p *plugin.Plugin) error {
	if f.Plugins().Off() {
		return nil
	}
	switch precedence(f, cmd, p) {
	case cmdutil.PluginRuns:
		return say(f, "\"helm %s\" now runs this plugin instead of the built-in command; HELM_BUILTIN=%[1]s restores that",
			p.Name)
	case cmdutil.BuiltinRuns:
		return say(f, "\"helm %s\" still runs the built-in command, because HELM_BUILTIN names it", p.Name)
	case cmdutil.Protected:
		return say(f, "\"helm %s\" still runs Helm's own command, which no plugin can replace", p.Name)
	}
	return nil
}

// runner returns what "helm NAME" runs, for [element].
func runner(f *cmdutil.Factory, cmd *cobra.Command, p *plugin.Plugin) string {
	switch which := precedence(f, cmd, p); {
	case !p.HasCommand():
		return ""
	case which == cmdutil.BuiltinRuns || which == cmdutil.Protected:
		return "built-in"
	default:
		return "plugin"
	}
}
