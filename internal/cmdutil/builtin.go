// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// NotInHelm annotates commands that Helm does not have: an installed plugin of the same name runs
// instead of them (docs/adr/0012-plugins-before-built-in-commands.md).
const NotInHelm = "moonhelm.github.io/not-in-helm"

// Internal is the prefix of hidden commands: Cobra's completion requests and helm's own.
const Internal = "__"

// Precedence says which of a plugin and a built-in command of the same name runs.
type Precedence int

// The results of [Settings.Precedence].
const (
	NoBuiltin   Precedence = iota // no built-in command has that name
	PluginRuns                    // the plugin replaces the built-in command
	BuiltinRuns                   // the built-in command runs: HELM_BUILTIN names it
	Protected                     // the built-in command runs: Helm has it too
)

// UnknownBuiltin returns the names in HELM_BUILTIN that match no command, and the names of the
// commands that it may contain, both sorted. root is the command tree without the plugins'
// commands.
func (s *Settings) UnknownBuiltin(root *cobra.Command) (unknown, known []string) {
	for _, c := range root.Commands() {
		if _, replaceable := c.Annotations[NotInHelm]; replaceable {
			known = append(known, c.Name())
		}
	}
	for _, name := range s.Builtin {
		if name != "all" && name != "" && s.Precedence(root, name) == NoBuiltin {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(known)
	slices.Sort(unknown)
	return slices.Compact(unknown), known
}

// Precedence reports which command runs if a plugin is called name. root is the command tree
// without the plugins' commands.
func (s *Settings) Precedence(root *cobra.Command, name string) Precedence {
	if name == "help" || name == "completion" || strings.HasPrefix(name, Internal) {
		return Protected // Cobra adds these later
	}
	for _, c := range root.Commands() {
		_, replaceable := c.Annotations[NotInHelm]
		switch {
		case c.Name() != name && !c.HasAlias(name):
		case !replaceable:
			return Protected
		case slices.Contains(s.Builtin, name) || slices.Contains(s.Builtin, "all"):
			return BuiltinRuns
		default:
			return PluginRuns
		}
	}
	return NoBuiltin
}
