// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/plugin"
)

// precedence is which runs, the plugin or a built-in command of its name.
func precedence(e *env.Env, cmd *cobra.Command, p *plugin.Plugin) env.Precedence {
	if !p.HasCommand() {
		return env.NoBuiltin
	}
	return e.Settings.Precedence(cmd.Root(), p.Name)
}

// sayPrecedence tells what runs now that the plugin is installed, where there is a
// built-in command of its name.
func sayPrecedence(e *env.Env, cmd *cobra.Command, p *plugin.Plugin) error {
	if e.Plugins().Off() {
		return nil
	}
	switch precedence(e, cmd, p) {
	case env.PluginRuns:
		return say(e, "\"helm %s\" now runs this plugin, in place of the built-in command; HELM_BUILTIN=%[1]s turns it round", p.Name)
	case env.BuiltinRuns:
		return say(e, "\"helm %s\" still runs the built-in command, because HELM_BUILTIN names it", p.Name)
	case env.Protected:
		return say(e, "\"helm %s\" still runs Helm's own command, whose place no plugin can take", p.Name)
	}
	return nil
}

// runner is what "helm NAME" runs, as [element] has it.
func runner(e *env.Env, cmd *cobra.Command, p *plugin.Plugin) string {
	switch which := precedence(e, cmd, p); {
	case !p.HasCommand():
		return ""
	case which == env.BuiltinRuns || which == env.Protected:
		return "built-in"
	default:
		return "plugin"
	}
}
