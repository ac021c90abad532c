// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helpLine matches the line of a flag in Helm's help: the shorthand, the name, the type, and
// the value if it is optional.
var helpLine = regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[a-z0-9-]+)(?: (\w+))?(\[=.*?\])?(?:  |$)`)

// TestFlagsOfHelm calls each command with each flag of Helm's help, in all forms that Helm
// accepts.
func TestFlagsOfHelm(t *testing.T) {
	home, bin := t.TempDir(), ours(t)
	for _, command := range []string{"install", "upgrade", "rollback", "uninstall", "test", "history", "status", "list", "template", "get all", "get hooks", "get manifest", "get metadata", "get notes", "get values",
		"create", "dependency build", "dependency list", "dependency update", "env", "lint", "package", "plugin install", "plugin list", "plugin uninstall", "plugin update", "pull", "push",
		"registry login", "registry logout", "repo add", "repo index", "repo list", "repo remove", "repo update", "search hub", "search repo", "show all", "show chart", "show crds", "show readme", "show values",
		"verify", "version"} {
		verb := strings.Fields(command)
		seen := map[string]bool{}
		for _, module := range []string{helm4, helm3} {
			help := run(t, peer(t, module), home, append(verb, "--help")...).stdout // Helm 3 may not have the command
			own, _, _ := strings.Cut(help, "\nGlobal Flags:")
			if command == "install" {
				own = help // the global ones are the same for all
			}
			for _, m := range helpLine.FindAllStringSubmatch(own, -1) {
				letter, name, kind, optional := m[1], m[2], m[3], m[4]
				if name == "--help" {
					continue
				}
				value := map[string]string{
					"duration": "1m", "int": "3", "uint": "3", "float32": "1.5", "format": "json", "WaitStrategy": "watcher", "stringToString": "a=b", "string": "x", "strings": "x", "stringArray": "x=1", "postRendererString": "cat", "postRendererArgsSlice": "x", "": "true",
				}[kind]
				switch name {
				case "--server-side":
					value = "auto"
				case "--dry-run":
					value = "server"
				case "--color", "--colour":
					value = "never"
				}
				if value == "" {
					t.Errorf("%s %s: this test does not know what a %s is; add it", command, name, kind)
				}
				forms := [][]string{{name + "=" + value}}
				switch {
				case kind == "":
					forms = append(forms, []string{name}, []string{name + "=false"})
				case optional != "":
					forms = append(forms, []string{name})
				default:
					forms = append(forms, []string{name, value})
				}
				if letter != "" {
					forms = append(forms, append([]string{strings.Replace(forms[len(forms)-1][0], name, letter, 1)}, forms[len(forms)-1][1:]...))
				}
				for _, form := range forms {
					args := slices.Concat(verb, form)
					key := strings.Join(args, " ")
					if seen[key] {
						continue
					}
					seen[key] = true
					if r := run(t, bin, home, append(args, "--help")...); r.err != nil {
						t.Errorf("helm %s: %s", key, r.stderr)
					}
				}
			}
		}
		if command == "install" && len(seen) < 20 {
			t.Errorf("%s has %d flags in Helm's help: this test cannot read it any more", command, len(seen))
		}
	}
}
