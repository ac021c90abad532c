// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/plugin"
)

// precedence is which runs, the plugin or a built-in command of its name.
func precedence(f *cmdutil.Factory, cmd *cobra.Command, p *plugin.Plugin) cmdutil.Precedence {
	if !p.HasCommand() {
		return cmdutil.NoBuiltin
	}
	return f.Settings.Precedence(cmd.Root(), p.Name)
}

// sayPrecedence tells what runs now that the plugin is installed, where there is a
// built-in command of its name.
func sayPrecedence(f *cmdutil.Factory, cmd *cobra.Command, p *plugin.Plugin) error {
	if f.Plugins().Off() {
		return nil
	}
	switch precedence(f, cmd, p) {
	case cmdutil.PluginRuns:
		return say(f, "\"helm %s\" now runs this plugin, in place of the built-in command; HELM_BUILTIN=%[1]s turns it round",
			p.Name)
	case cmdutil.BuiltinRuns:
		return say(f, "\"helm %s\" still runs the built-in command, because HELM_BUILTIN names it", p.Name)
	case cmdutil.Protected:
		return say(f, "\"helm %s\" still runs Helm's own command, whose place no plugin can take", p.Name)
	}
	return nil
}

// runner is what "helm NAME" runs, as [element] has it.
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
