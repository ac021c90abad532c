// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/repo/index"
)

// CompleteChart completes charts, for up to limit arguments (any number if limit is negative):
// added repositories, then their charts, and the prefixes of URLs. files completes paths too.
func (f *Factory) CompleteChart(limit int, files bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if limit >= 0 && len(args) >= limit {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.completeChart(toComplete, files)
	}
}

// CompleteNameAndChart completes the chart of [NAME] CHART. It does not complete NAME: the release
// does not exist yet.
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
	var words []string
	for _, r := range added.Added() {
		words = offer(words, r.Name+"/", toComplete, r.RedactedURL())
	}
	for _, p := range prefixes() {
		if files || !p.path {
			words = offer(words, p.text, toComplete, p.description)
		}
	}
	if len(words) == 0 {
		return nil, paths
	}
	if files && toComplete != "" { // shells complete files only if there are no other words
		words = append(words, completeFiles(toComplete)...)
	}
	return words, paths | cobra.ShellCompDirectiveNoSpace
}

// prefix is the beginning of a chart reference.
type prefix struct {
	text, description string
	path              bool
}

// prefixes returns the prefixes, with Helm's descriptions.
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

// completeFiles returns the files of the current directory whose names begin with begin.
func completeFiles(begin string) []string {
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

// completeVersion completes --version with the versions of the chart in the last argument, newest
// first, if its repository has been added.
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
		return all[:min(len(all), maxDescribed)]
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

// maxDescribed is the number of versions that get a description: a shell shows about a screen of
// them.
const maxDescribed = 200

// versionText describes a version in Helm's format: "App: 7.1, Created: May 6, 2024".
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
