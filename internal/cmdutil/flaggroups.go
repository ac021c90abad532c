// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A FlagGroup is a set of flags that help shows together.
type FlagGroup struct {
	Title string // "Flags for values"
	Flags []*pflag.Flag
}

// smallSet is the number of flags that help shows in one group.
const smallSet = 8

// FlagGroups returns the flags of cmd that help shows, without the global ones: first those that only
// this command has, then the others by what they are for. Few flags are one group.
func FlagGroups(cmd *cobra.Command) []FlagGroup {
	var own []*pflag.Flag
	global := cmd.Root().PersistentFlags()
	cmd.InitDefaultHelpFlag() // adds the flags of the parents to those of cmd too
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && global.Lookup(f.Name) != f {
			own = append(own, f)
		}
	})
	if len(own) == 0 {
		return nil
	}
	if len(own) <= smallSet {
		return []FlagGroup{{Title: "Flags", Flags: own}}
	}
	return grouped(own, "Flags", func(f *pflag.Flag) string { return subject(cmd, f.Name) },
		"values", "the chart and its version", "waiting", "safety", "output", "connections")
}

// GlobalFlagGroups returns the global flags by what they are for.
func GlobalFlagGroups(root *cobra.Command) []FlagGroup {
	var all []*pflag.Flag
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f)
		}
	})
	return grouped(all, "Global flags", func(f *pflag.Flag) string { return globalSubject(f.Name) }, "the cluster",
		"files", "output")
}

// grouped returns the flags without a subject, then those of each subject.
func grouped(flags []*pflag.Flag, title string, of func(*pflag.Flag) string, subjects ...string) []FlagGroup {
	var out []FlagGroup
	for _, s := range append([]string{""}, subjects...) {
		g := FlagGroup{Title: title}
		if s != "" {
			g.Title += " for " + s
		}
		for _, f := range flags {
			if of(f) == s {
				g.Flags = append(g.Flags, f)
			}
		}
		if g.Flags != nil {
			out = append(out, g)
		}
	}
	return out
}

// subject returns what the flag name of cmd is for, or "" if only that command has it.
func subject(cmd *cobra.Command, name string) string {
	if what := ownSubject(cmd.Name(), name); what != "" {
		return strings.TrimPrefix(what, "-")
	}
	switch name {
	case "values", "set", "set-string", "set-file", "set-json", "set-literal", "reuse-values", "reset-values",
		"reset-then-reuse-values", "skip-schema-validation":
		return "values"
	case "version", "devel", "repo", "dependency-update", "verify", "keyring", "crds", "skip-crds", "include-crds",
		"kube-version", "api-versions":
		return "the chart and its version"
	case "wait", "wait-for-jobs", "timeout", "give-up-after", "logs", "logs-keep", "logs-drop":
		return "waiting"
	case "dry-run", "rollback-on-failure", "cleanup-on-fail", "take-ownership", "force-replace", "force-conflicts",
		"conflicts", "server-side", "disable-openapi-validation", "no-hooks", "yes", "accept-perms", "script-timeout",
		"no-scripts", "enable-dns":
		return "safety"
	case "output", "no-headers", "max-col-width", "hide-notes", "hide-secret", "render-subchart-notes", "trace-events",
		"output-dir", "color", "no-color", "time-format", "show-secrets", "show-secrets-decoded",
		"stat", "no-pager":
		return "output"
	case "username", "password", "pass-credentials", "ca-file", "cert-file", "key-file", "insecure-skip-tls-verify",
		"plain-http", "password-stdin", "pass-credentials-all":
		return "connections"
	}
	return ""
}

// ownSubject returns the subject of flags that have another meaning in a command: "-" stands for none
// of its own.
func ownSubject(command, flag string) string {
	switch command + " --" + flag {
	case "package --version", "search --version":
		return "-"
	}
	return ""
}

func globalSubject(name string) string {
	switch {
	case name == "namespace", strings.HasPrefix(name, "kube"), name == "burst-limit", name == "qps":
		return "the cluster"
	case strings.HasPrefix(name, "repository-"), name == "registry-config", name == "content-cache":
		return "files"
	}
	return "output"
}

// ValueName returns the word that help shows for the value of a flag, or "" for a flag that is
// usually given without one, and the usage of the flag.
func ValueName(f *pflag.Flag) (name, usage string) {
	name, usage = pflag.UnquoteUsage(f)
	switch name {
	case "stringArray":
		name = "string"
	case "stringToString":
		name = "key=value"
	case "bool":
		name = "" // --flag=true of a value of a type of its own
	}
	return name, usage
}

// ExampleValue returns a value that the flag accepts, or "" if none is known.
func ExampleValue(f *pflag.Flag) string {
	switch f.Name {
	case "set":
		return "replicas=2"
	case "set-string":
		return "image.tag=1.20"
	case "set-literal":
		return "greeting=hello,world"
	case "set-file":
		return "script=./run.sh"
	case "set-json":
		return "'ports=[80,443]'"
	case "values":
		return "values.yaml"
	case "namespace", "other-namespace":
		return "shop"
	case "version":
		return "^1.2"
	case "kube-version":
		return "1.35"
	case "api-versions":
		return "monitoring.coreos.com/v1"
	case "show-only":
		return "templates/deployment.yaml"
	case "accept-perms":
		return "network,io"
	case "labels":
		return "team=web"
	case "selector":
		return "team=web"
	case "filter":
		return filterExample(f)
	case "repo":
		return "https://charts.example.com"
	case "destination", "untardir", "output-dir":
		return "./charts"
	case "post-renderer":
		return "./kustomize.sh"
	case "template":
		return "'{{.Version}}'"
	case "description":
		return "'raise the limits'"
	case "color":
		return "never"
	case "progress":
		return "plain"
	}
	return exampleOfType(f.Value.Type())
}

// filterExample returns an example for --filter, which selects tests in `helm test` and names in
// `helm list`.
func filterExample(f *pflag.Flag) string {
	if f.Value.Type() == "stringSlice" {
		return "name=smoke"
	}
	return "'^web'"
}

func exampleOfType(kind string) string {
	switch {
	case kind == "duration":
		return "5m"
	case slices.Contains([]string{"int", "uint", "float32"}, kind):
		return "3"
	case kind == "stringToString":
		return "key=value"
	case kind == "format":
		return "json"
	case kind == "drawing":
		return "svg"
	}
	return ""
}
