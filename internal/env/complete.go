// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/op"
	"github.com/moonhelm/moonhelm/script"
)

// completionTimeout bounds what a shell waits for; a slow cluster completes
// nothing rather than blocking the prompt.
const completionTimeout = 3 * time.Second

// CompleteReleases completes names of releases for up to max arguments (max <
// 0: any number), asking the cluster.
func (e *Env) CompleteReleases(max int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if max >= 0 && len(args) >= max {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
		defer cancel()
		records, err := e.Records(e.Namespace())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, err := op.List{Releases: records}.Run(ctx, op.ListRequest{ListFilter: op.ListFilter{
			Name: func(name string) bool { return strings.HasPrefix(name, toComplete) },
		}})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		given := map[string]bool{}
		for _, a := range args {
			given[a] = true
		}
		var names []string
		for _, s := range found {
			if !given[s.Name] {
				names = append(names, s.Name+"\t"+s.Chart+"-"+s.ChartVersion+" -> "+string(s.Status))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteRevisions completes a release's revisions, newest first; the release
// is the command's first argument.
func (e *Env) CompleteRevisions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	records, err := e.Records(e.Namespace())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := op.History{Releases: records}.Run(ctx, args[0], 0)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var revisions []string
	for _, s := range slices.Backward(found) {
		revisions = append(revisions, fmt.Sprintf("%d\t%s, %s", s.Revision, s.Status, s.Description))
	}
	return revisions, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// CompleteChoices completes the values of those flags of cmd that take one of a
// few words.
func CompleteChoices(cmd *cobra.Command) {
	for flag, words := range map[string][]string{
		"wait": {"watcher", "legacy", "hookOnly"}, "dry-run": {"none", "client", "server"}, "server-side": {"true", "false", "auto"}, "conflicts": {"fail", "yield", "take"},
		"trace-events": {"text", "json"}, "crds": {"create", "upgrade", "skip"},
	} {
		if cmd.Flags().Lookup(flag) != nil {
			// This fails only for flags that are not there.
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	if cmd.Flags().Lookup("accept-perms") != nil {
		_ = cmd.RegisterFlagCompletionFunc("accept-perms", completePermissions)
	}
}

// completePermissions completes the last name of a list, with those that are not
// in it yet. A shell wants the whole word.
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

// CompleteNamespaces completes names of namespaces, asking the cluster.
func (e *Env) CompleteNamespaces(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	cluster, err := e.Cluster()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := cluster.Lookup(ctx, "v1", "Namespace", "", "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	items, _ := list["items"].([]any)
	var names []string
	for _, item := range items {
		m, _ := item.(map[string]any)
		meta, _ := m["metadata"].(map[string]any)
		if name, _ := meta["name"].(string); strings.HasPrefix(name, toComplete) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteContexts completes names of the kubeconfig's contexts.
func (e *Env) CompleteContexts(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, name := range e.Contexts() {
		if strings.HasPrefix(name, toComplete) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteReleaseAndRevision completes the name of a release, then its revisions.
func (e *Env) CompleteReleaseAndRevision(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return e.CompleteReleases(1)(cmd, args, toComplete)
	}
	return e.CompleteRevisions(cmd, args, toComplete)
}

// CompleteReleaseAndChart completes the name of a release, then a chart.
func (e *Env) CompleteReleaseAndChart(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return e.CompleteReleases(1)(cmd, args, toComplete)
	}
	return e.CompleteChart(2, true)(cmd, args, toComplete)
}
