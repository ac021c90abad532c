// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/repo"
)

// repoOptions are the flags of `helm search repo`.
type repoOptions struct {
	repo.Search
	cmdutil.AccessFlags // for registries
	results
}

func newRepo(f *cmdutil.Factory) *cobra.Command {
	var o repoOptions
	cmd := &cobra.Command{
		Use:   "repo [WORD]",
		Short: "Search for charts in added repositories",
		Long: `Search the names, descriptions and keywords of charts in the indexes that
"helm repo update" has downloaded, and show the newest release of each matching
chart. Library charts, which
cannot be installed, are marked. For the address of a chart in an OCI registry,
show its versions.`,
		Example: `  helm search repo web
  helm search repo web --version ^1.2
  helm search repo web --versions --devel
  helm search repo --regexp '/(web|shop)'
  helm search repo oci://registry.example.com/charts/web --versions`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Word = strings.Join(args, " ")
			return o.run(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.BoolVarP(&o.Versions, "versions", "l", false, "show every version of a chart")
	fs.StringVar(&o.Want, "version", "", "search only versions in this range, such as ^1.2 or 1.x")
	fs.BoolVar(&o.Devel, "devel", false, "include pre-releases; ignored with --version")
	fs.BoolVarP(&o.Regexp, "regexp", "r", false, "treat WORD as a regular expression")
	o.BindTLS(fs)
	o.BindPlain(fs)
	o.bind(cmd)
	return cmd
}

// element is a chart in JSON and YAML. The keys are Helm's.
type element struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	AppVersion  string `json:"app_version"`
	Description string `json:"description"`
}

func (o *repoOptions) run(ctx context.Context, factory *cmdutil.Factory) error {
	query, err := o.Query()
	if err != nil {
		return err
	}
	var found []repo.Found
	if strings.HasPrefix(o.Word, registry.Scheme) {
		found, err = factory.Registry().Search(ctx, o.Word, o.HostOptions(), query)
	} else {
		found, err = factory.Repositories().Search(ctx, query)
	}
	if err != nil {
		return err
	}
	elements := make([]element, len(found))
	rows := make([][]string, len(found))
	for i, f := range found {
		elements[i] = element{Name: f.Name, Version: f.Version, AppVersion: f.AppVersion, Description: f.Description}
		rows[i] = []string{f.Name, f.Version, f.AppVersion, description(f)}
	}
	return o.write(factory, len(found), elements, []string{"NAME", "CHART VERSION", "APP VERSION", "DESCRIPTION"}, rows)
}

// description returns a chart's description, with a mark for library charts. JSON and YAML have no
// mark, and the columns before it are Helm's.
func description(f repo.Found) string {
	if !f.Library {
		return f.Description
	}
	return strings.TrimSpace("(library) " + f.Description)
}
