// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/storage"
)

// completionTimeout is how long a completion may take; a slow cluster completes nothing rather than
// blocking the prompt.
const completionTimeout = 3 * time.Second

// completeWithin returns the words of ask, or none after completionTimeout. It does not rely on ask
// to end with its context: not every way to reach a cluster does.
func completeWithin(ask func(ctx context.Context) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	answer := make(chan []string, 1)
	go func() { answer <- ask(ctx) }()
	select {
	case words := <-answer:
		return words, cobra.ShellCompDirectiveNoFileComp
	case <-ctx.Done():
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// candidate returns word in Cobra's format, with a description, or "" if it does not begin with
// toComplete. It returns "" too for words that contain characters special to a shell: other clients
// choose the names of releases.
func candidate(word, toComplete, description string) string {
	if word == "" || !strings.HasPrefix(word, toComplete) || strings.IndexFunc(word, isShellSpecial) >= 0 {
		return ""
	}
	if description = term.SafeLine(description); description == "" {
		return word
	}
	return word + "\t" + description
}

// isShellSpecial reports whether r has a meaning to a shell.
func isShellSpecial(r rune) bool {
	return r <= ' ' || unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'`$\\;&|<>(){}*?!", r)
}

// offer appends word to words if it is a candidate.
func offer(words []string, word, toComplete, description string) []string {
	if c := candidate(word, toComplete, description); c != "" {
		return append(words, c)
	}
	return words
}

// NoArguments completes nothing, and says that there are no more arguments.
func NoArguments(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	const noMore = "This command does not take any more arguments (but may accept flags)."
	return cobra.AppendActiveHelp(nil, noMore), cobra.ShellCompDirectiveNoFileComp
}

// CompleteReleases completes the names of releases, for up to limit arguments (any number if limit
// is negative).
func (f *Factory) CompleteReleases(limit int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if limit >= 0 && len(args) >= limit {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeWithin(func(ctx context.Context) []string {
			records, err := f.Records(f.Namespace())
			if err != nil {
				return nil
			}
			found, err := action.List{Releases: records}.Run(ctx, action.ListRequest{Filter: storage.Filter{
				Name: func(name string) bool { return strings.HasPrefix(name, toComplete) && !slices.Contains(args, name) },
			}})
			if err != nil {
				return nil
			}
			var words []string
			for _, s := range found {
				words = offer(words, s.Name, toComplete, s.ChartName()+" -> "+string(s.Status))
			}
			return words
		})
	}
}

// CompleteRevisions completes the revisions of the release in the first argument, newest first.
func (f *Factory) CompleteRevisions(_ *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, directive := completeWithin(func(ctx context.Context) []string {
		records, err := f.Records(f.Namespace())
		if err != nil {
			return nil
		}
		found, err := action.History{Releases: records}.Run(ctx, args[0], 0)
		if err != nil {
			return nil
		}
		var words []string
		for _, s := range slices.Backward(found) {
			words = offer(words, strconv.Itoa(s.Revision), toComplete, revisionText(s))
		}
		return words
	})
	return words, directive | cobra.ShellCompDirectiveKeepOrder
}

// revisionText describes a revision: "App: 7.1, Chart: web-0.1.0, deployed 2026-11-22
// 18:01, Upgrade complete".
func revisionText(s release.Summary) string {
	app := s.AppVersion
	if app == "" {
		app = "MISSING"
	}
	text := fmt.Sprintf("App: %s, Chart: %s, %s", app, s.ChartName(), s.Status)
	if !s.Updated.IsZero() {
		text += " " + s.Updated.Local().Format("2006-01-02 15:04")
	}
	if s.Description != "" {
		text += ", " + s.Description
	}
	return text
}

// CompleteChoices completes the values of cmd's flags that accept a fixed set of words.
func CompleteChoices(cmd *cobra.Command) {
	for flag, words := range map[string][]string{
		"wait": {"watcher", "ordered", "legacy", "hookOnly"}, "dry-run": {"none", "client", "server"},
		"server-side": {"true", "false", "auto"}, "conflicts": {"fail", "yield", "take"},
		"trace-events": {"text", "json"}, "crds": {"create", "upgrade", "skip"},
	} {
		if cmd.Flags().Lookup(flag) != nil {
			// The only error is that the flag does not exist.
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if cmd.Flags().Lookup("accept-perms") != nil {
		_ = cmd.RegisterFlagCompletionFunc("accept-perms", completePermissions)
	}
}

// completePermissions completes the last name of a comma-separated list with the permissions that
// are not in it yet. Shells expect the whole list.
func completePermissions(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	before := toComplete[:strings.LastIndexByte(toComplete, ',')+1]
	have := strings.Split(before, ",")
	var words []string
	for _, name := range script.PermissionNames() {
		if !slices.Contains(have, name) {
			words = append(words, before+name)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteNamespaces completes the names of namespaces.
func (f *Factory) CompleteNamespaces(_ *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	return completeWithin(func(ctx context.Context) []string {
		cluster, err := f.Cluster()
		if err != nil {
			return nil
		}
		list, err := cluster.Lookup(ctx, "v1", "Namespace", "", "")
		if err != nil {
			return nil
		}
		items, _ := list["items"].([]any)
		var words []string
		for _, item := range items {
			m, _ := item.(map[string]any)
			meta, _ := m["metadata"].(map[string]any)
			name, _ := meta["name"].(string)
			words = offer(words, name, toComplete, "")
		}
		return words
	})
}

// CompleteContexts completes the names of the kubeconfig's contexts.
func (f *Factory) CompleteContexts(_ *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	var words []string
	for _, c := range f.Contexts() {
		words = offer(words, c.Name, toComplete, c.Cluster)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// CompleteStarters completes the starters of `helm create`, and paths.
func (f *Factory) CompleteStarters(_ *cobra.Command, _ []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	entries, err := os.ReadDir(filepath.Join(f.Settings.DataHome, "starters"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var words []string
	for _, s := range entries {
		words = offer(words, s.Name(), toComplete, "")
	}
	return words, cobra.ShellCompDirectiveDefault
}

// CompleteReleaseAndRevision completes the name of a release, then its revisions.
func (f *Factory) CompleteReleaseAndRevision(cmd *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.CompleteReleases(1)(cmd, args, toComplete)
	}
	return f.CompleteRevisions(cmd, args, toComplete)
}

// CompleteReleaseAndChart completes the name of a release, then a chart.
func (f *Factory) CompleteReleaseAndChart(cmd *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.CompleteReleases(1)(cmd, args, toComplete)
	}
	return f.CompleteChart(2, true)(cmd, args, toComplete)
}
