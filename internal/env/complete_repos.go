// SPDX-License-Identifier: Apache-2.0

package env

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/resolve"
)

// CompleteChart completes charts for up to max arguments (max < 0: any number):
// repositories that were added, then their charts, and how URLs begin. files
// says whether paths are completed too.
func (e *Env) CompleteChart(max int, files bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if max >= 0 && len(args) >= max {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return e.completeChart(toComplete, files)
	}
}

// CompleteNameAndChart completes the chart of [NAME] CHART; nobody knows how a
// new release is called.
func (e *Env) CompleteNameAndChart(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	named := cmd.Flags().Changed("generate-name") || cmd.Flags().Changed("name-template")
	switch {
	case named:
		return e.CompleteChart(1, true)(cmd, args, toComplete)
	case len(args) == 0 && !strings.Contains(toComplete, "/"):
		return nil, cobra.ShellCompDirectiveDefault
	}
	return e.CompleteChart(2, true)(cmd, args, toComplete)
}

func (e *Env) completeChart(toComplete string, files bool) ([]string, cobra.ShellCompDirective) {
	paths := cobra.ShellCompDirectiveNoFileComp
	if files {
		paths = cobra.ShellCompDirectiveDefault
	}
	if strings.Contains(toComplete, "://") || strings.HasPrefix(toComplete, ".") || strings.HasPrefix(toComplete, "/") {
		return nil, paths
	}
	added := e.Repositories()
	if name, _, ok := strings.Cut(toComplete, "/"); ok {
		var charts []string
		for _, chart := range added.home.Cache.Charts(name) {
			if full := name + "/" + chart; strings.HasPrefix(full, toComplete) {
				charts = append(charts, full)
			}
		}
		return charts, paths
	}
	var begins []string
	for _, r := range added.Added() {
		begins = append(begins, r.Name+"/\t"+r.Shown())
	}
	begins = append(begins, "oci://\ta chart in a registry", "https://\tan archive at a URL", "http://\tan archive at a URL")
	begins = slices.DeleteFunc(begins, func(b string) bool { return !strings.HasPrefix(b, toComplete) })
	if len(begins) == 0 {
		return nil, paths
	}
	return begins, paths | cobra.ShellCompDirectiveNoSpace
}

// completeVersion completes --version with the versions of the chart that is the
// last argument, newest first, where its repository was added.
func (e *Env) completeVersion(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) == 0 || strings.Contains(args[len(args)-1], "://") {
		return nil, directive
	}
	name, chart, ok := strings.Cut(args[len(args)-1], "/")
	if !ok {
		return nil, directive
	}
	x, err := e.Repositories().home.Cache.Index(name)
	if err != nil {
		return nil, directive
	}
	defer x.Close()
	return resolve.Versions(x.Versions(chart)), directive
}
