// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/repo/index"
)

// CompleteChart completes charts for up to limit arguments (limit < 0: any number):
// repositories that were added, then their charts, and how URLs begin. files
// says whether paths are completed too.
func (f *Factory) CompleteChart(limit int, files bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if limit >= 0 && len(args) >= limit {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.completeChart(toComplete, files)
	}
}

// CompleteNameAndChart completes the chart of [NAME] CHART; the name of a new release
// cannot be known.
func (f *Factory) CompleteNameAndChart(cmd *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	named := cmd.Flags().Changed("generate-name") || cmd.Flags().Changed("name-template")
	switch {
	case named:
		return f.CompleteChart(1, true)(cmd, args, toComplete)
	case len(args) == 0 && !strings.Contains(toComplete, "/"):
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.CompleteChart(2, true)(cmd, args, toComplete)
}

func (f *Factory) completeChart(toComplete string, files bool) ([]string, cobra.ShellCompDirective) {
	paths := cobra.ShellCompDirectiveNoFileComp
	if files {
		paths = cobra.ShellCompDirectiveDefault
	}
	if strings.Contains(toComplete, "://") || strings.HasPrefix(toComplete, ".") || strings.HasPrefix(toComplete, "/") {
		return nil, paths
	}
	added := f.Repositories()
	if name, _, ok := strings.Cut(toComplete, "/"); ok {
		var charts []string
		for _, chart := range f.Collection().Cache.Charts(name) {
			charts = offer(charts, name+"/"+chart, toComplete, "")
		}
		return charts, paths
	}
	var begins []string
	for _, r := range added.Added() {
		begins = offer(begins, r.Name+"/", toComplete, r.Shown())
	}
	for _, p := range prefixes() {
		if files || !p.path {
			begins = offer(begins, p.text, toComplete, p.description)
		}
	}
	if len(begins) == 0 {
		return nil, paths
	}
	if files && toComplete != "" { // a shell adds files only where there is nothing else
		begins = append(begins, filesHere(toComplete)...)
	}
	return begins, paths | cobra.ShellCompDirectiveNoSpace
}

// prefix is how references to charts begin.
type prefix struct {
	text, description string
	path              bool
}

// prefixes are all prefixes, in Helm's words.
func prefixes() []prefix {
	return []prefix{
		{"oci://", "Chart OCI prefix", false},
		{"https://", "Chart URL prefix", false},
		{"http://", "Chart URL prefix", false},
		{"file://", "Chart local URL prefix", false},
		{"./", "Relative path prefix to local chart", true},
		{"/", "Absolute path prefix to local chart", true},
	}
}

// filesHere are the files of the current directory whose names begin so.
func filesHere(begin string) []string {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range entries {
		names = offer(names, f.Name(), begin, "")
	}
	return names
}

// completeVersion completes --version with the versions of the chart that is the
// last argument, newest first, where its repository was added.
func (f *Factory) completeVersion(_ *cobra.Command, args []string, toComplete string) ([]string,
	cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) == 0 || strings.Contains(args[len(args)-1], "://") {
		return nil, directive
	}
	name, chart, ok := strings.Cut(args[len(args)-1], "/")
	if !ok {
		return nil, directive
	}
	x, err := f.Collection().Cache.Index(name)
	if err != nil {
		return nil, directive
	}
	defer x.Close()
	var all []string
	texts := map[string]string{}
	for entry, err := range x.Chart(chart, func(have []string) []string {
		all = dependency.Versions(have)
		return all[:min(len(all), mostDescribed)]
	}) {
		if err == nil {
			texts[entry.Version] = versionText(entry)
		}
	}
	var words []string
	for _, version := range all {
		words = offer(words, version, toComplete, texts[version])
	}
	return words, directive
}

// mostDescribed is how many versions are described: a shell shows a screen of them.
const mostDescribed = 200

// versionText describes a version in Helm's words: "App: 7.1, Created: May 6, 2024".
func versionText(entry *index.Entry) string {
	var parts []string
	if entry.AppVersion != "" {
		parts = append(parts, "App: "+entry.AppVersion)
	}
	if !entry.Created.IsZero() {
		parts = append(parts, "Created: "+entry.Created.Format("January 2, 2006"))
	}
	text := strings.Join(parts, ", ")
	if entry.Deprecated {
		text = strings.TrimSpace(text + " (deprecated)")
	}
	return text
}
