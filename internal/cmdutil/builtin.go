// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// NotInHelm is the annotation of commands that Helm does not have: an installed
// plugin of that name runs in their place (docs/adr/0012-plugins-before-built-in-commands.md).
const NotInHelm = "moonhelm.github.io/not-in-helm"

// Internal begins the names of commands that are not for people: Cobra's, by which a
// shell asks for completions, and helm's own.
const Internal = "__"

// Precedence is which of a plugin and a built-in command runs.
type Precedence int

// What decides between a plugin and a built-in command of its name.
const (
	NoBuiltin   Precedence = iota // there is no built-in command of that name
	PluginRuns                    // the plugin runs in place of the built-in
	BuiltinRuns                   // the built-in runs, because HELM_BUILTIN names it
	Protected                     // the built-in runs: it is Helm's own
)

// UnknownBuiltin returns the names in HELM_BUILTIN that no command has, and those of the
// commands that it can name, both sorted. Root is the command tree before plugins are added
// to it.
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

// Precedence reports which runs where a plugin has that name. Root is the command tree
// before plugins are added to it.
func (s *Settings) Precedence(root *cobra.Command, name string) Precedence {
	if name == "help" || name == "completion" || strings.HasPrefix(name, Internal) {
		return Protected // Cobra adds them later
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
