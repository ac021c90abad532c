// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/manifest"
	recorded "github.com/moonhelm/moonhelm/release"
)

// localFlags are the flags of `helm diff local`.
type localFlags struct {
	show
	cmdutil.ValueFlags
	cmdutil.ScriptFlags
	patches     cmdutil.PatchFlags
	postRender  cmdutil.PostRenderFlags
	release     string
	includeCRDs bool
	kubeVersion string
	apiVersions []string
	skipSchema  bool
	enableDNS   bool
}

func local(factory *cmdutil.Factory) *cobra.Command {
	var f localFlags
	cmd := &cobra.Command{
		Use:   "local CHART1 CHART2",
		Short: "Compare two charts",
		Long: `Render two charts with the same values, as helm template does, and compare the
output. No cluster is needed.`,
		Example: `  helm diff local ./mychart ./mychart-new -f production.yaml`,
		Args:    cmdutil.Args(2, 2, "two charts"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.show.prepare(cmd.Context(), factory, cmd.Flags()); err != nil {
				return err
			}
			change, err := f.compare(cmd.Context(), factory, args[0], args[1])
			if err != nil {
				return err
			}
			return f.write(cmd.Context(), factory, change, "Difference")
		},
	}
	fs := cmd.Flags()
	f.ValueFlags.Bind(fs)
	f.ScriptFlags.Bind(fs)
	f.patches.Bind(fs)
	f.postRender.Bind(fs)
	fs.StringVar(&f.release, "release", "release", "name of the release to render for")
	fs.BoolVar(&f.includeCRDs, "include-crds", false, "compare the CRDs in crds/ too")
	fs.StringVar(&f.kubeVersion, "kube-version", "", "Kubernetes version to render for")
	cmdutil.StringArrayVarP(fs, &f.apiVersions, "api-versions", "a",
		"additional API versions in .Capabilities.APIVersions (may be repeated)")
	fs.BoolVar(&f.skipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	fs.BoolVar(&f.enableDNS, "enable-dns", false, "allow DNS lookups in templates")
	f.show.bind(cmd)
	f.bindNoHooks(cmd)
	return cmd
}

func (f *localFlags) compare(ctx context.Context, factory *cmdutil.Factory, first, second string) (*action.Change,
	error) {
	if err := f.patches.Load(ctx, factory); err != nil {
		return nil, err
	}
	from, err := f.render(ctx, factory, first)
	if err != nil {
		return nil, err
	}
	to, err := f.render(ctx, factory, second)
	if err != nil {
		return nil, err
	}
	change, err := action.Compare(f.record(factory, from), f.record(factory, to))
	if err == nil && f.includeCRDs {
		change.CRDs, err = action.CompareChartCRDs(from.Chart, to.Chart)
	}
	return change, err
}

// record returns the rendered chart as a release.
func (f *localFlags) record(factory *cmdutil.Factory, r *action.Rendered) *recorded.Release {
	rel := recorded.New(f.release, factory.Namespace(), 1, r.Chart)
	rel.Manifest, rel.Hooks = manifest.Format(r.Objects), r.Hooks
	return rel
}

func (f *localFlags) render(ctx context.Context, factory *cmdutil.Factory, ref string) (*action.Rendered, error) {
	c, err := factory.Chart(ctx, ref, &cmdutil.ChartFlags{})
	if err != nil {
		return nil, err
	}
	vals, err := f.Build(ctx, factory, c)
	if err != nil {
		return nil, err
	}
	config, err := factory.Offline(f.ScriptFlags)
	if err != nil {
		return nil, err
	}
	if config.PostRenderer, err = f.postRender.Renderer(factory); err != nil {
		return nil, err
	}
	req := action.TemplateRequest{
		Chart: c, Values: vals, Name: f.release, Namespace: factory.Namespace(),
		KubeVersion: f.kubeVersion, APIVersions: f.apiVersions, SkipSchema: f.skipSchema,
		PatchOptions: f.patches.Options(),
	}
	if f.enableDNS {
		req.LookupHost = factory.LookupHost
	}
	return action.Template{Config: config}.Run(ctx, req)
}
