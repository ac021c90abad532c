// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
)

// upgradeFlags are the flags of `helm diff upgrade`.
type upgradeFlags struct {
	show
	save
	cmdutil.DeployFlags
	reuse   cmdutil.ReuseFlags
	history action.TemplateHistory

	install           bool
	onlyInstall       bool
	maxHistory        int
	threeWay          bool
	includeCRDs       bool
	disableValidation bool
	kubeVersion       string
	apiVersions       []string
	// lookup enables lookups in templates even if live objects are not compared.
	lookup bool
}

func upgrade(factory *cmdutil.Factory, as group) *cobra.Command {
	var f upgradeFlags
	cmd := &cobra.Command{
		Use:   "upgrade NAME CHART",
		Short: "Preview the changes of an upgrade",
		Long: `Show the changes of helm upgrade with the same arguments: which objects it would
create, change, replace and delete, which hooks it would change, and which
objects other clients have changed since they were written. The API server is
asked for the result of each change, so defaults and rejections are shown.

With --three-way-merge=false the manifest of the release is compared with the new
one instead, as text, as helm-diff does by default; live objects are not read.`,
		Example: `  helm diff upgrade web ./mychart -f production.yaml

  # Exit with code 2 if there are changes
  helm diff upgrade web ./mychart --set replicaCount=3 --detailed-exitcode

  # Compare the recorded manifest with the new one, as text, and print a line for each object
  helm diff upgrade web ./mychart --set replicaCount=3 --three-way-merge=false --output simple

  # Show the release as if it were new, without a cluster
  helm diff upgrade web ./mychart --dry-run`,
		Args:              cmdutil.Args(2, 2, "the name of a release and a chart"),
		ValidArgsFunction: factory.CompleteReleaseAndChart,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, factory, args) },
	}
	as.describe(cmd)
	f.onlyInstall = cmd.Name() == "install"
	f.bind(cmd, factory, as)
	return cmd
}

func (f *upgradeFlags) run(cmd *cobra.Command, factory *cmdutil.Factory, args []string) error {
	if err := f.prepare(cmd, factory); err != nil {
		return err
	}
	change, err := f.plan(cmd.Context(), factory, args[0], args[1])
	if err != nil && f.refuses(err) {
		f.DryRun = cmdutil.DryRunNone // the API server has validated the other changes
		return f.writeRefused(cmd.Context(), factory, err, func() (*action.Change, error) {
			return f.plan(cmd.Context(), factory, args[0], args[1])
		})
	}
	if err != nil {
		return err
	}
	if change.Kept != nil {
		change.Kept.Options.NoValidation = f.Apply.NoValidation()
	}
	f.save.again = renderAgain(cmd.Flags(), args[1])
	return f.save.around(cmd.Context(), factory, change.Kept, func() error {
		return f.show.write(cmd.Context(), factory, change, "")
	})
}

func (f *upgradeFlags) bind(cmd *cobra.Command, factory *cmdutil.Factory, as group) {
	fs := cmd.Flags()
	f.DeployFlags.Bind(cmd, factory)
	if as != ofInstall {
		f.reuse.Bind(fs)
	}
	cmdutil.BindHistoryMax(fs, factory, &f.maxHistory)
	cmdutil.BindTemplateHistory(fs, &f.history)
	cmdutil.BindRecreatePods(fs)
	as.hide(fs, "hide-secret", "hide-notes", "atomic")
	if as == ofDiff {
		as.hide(fs, "rollback-on-failure", "cleanup-on-fail", "history-max", "wait",
			"wait-for-jobs", "timeout", "readiness-timeout", "description", "labels", "create-namespace",
			"render-subchart-notes")
	}
	fs.Lookup("dry-run").Usage = "without a value or with client, use no cluster and compare with nothing, as if the " +
		"release were new; with server, enable lookup in templates even with --three-way-merge=false"
	fs.Lookup("no-hooks").Usage = "do not compare hooks"
	if as != ofInstall {
		fs.BoolVarP(&f.install, "install", "i", false, "if the release does not exist, preview an install")
		fs.BoolVar(&f.install, "allow-unreleased", false, "same as --install")
	}
	bindThreeWay(cmd, &f.threeWay)
	fs.BoolVar(&f.includeCRDs, "include-crds", false,
		"compare the CRDs in crds/ too, which an upgrade ignores without --crds upgrade")
	fs.BoolVar(&f.disableValidation, "disable-validation", false,
		"do not validate the changes with the API server")
	fs.StringVar(&f.kubeVersion, "kube-version", "", "Kubernetes version to render for, instead of the cluster's")
	cmdutil.StringArrayVarP(fs, &f.apiVersions, "api-versions", "a",
		"additional API versions in .Capabilities.APIVersions (may be repeated)")
	f.show.bind(cmd)
	f.save.bind(cmd, factory, true)
}

func bindThreeWay(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "three-way-merge", true,
		"compare live objects with the result of the operation; with false, recorded manifests with each "+
			"other; the default is HELM_DIFF_THREE_WAY_MERGE")
}

func (f *upgradeFlags) prepare(cmd *cobra.Command, factory *cmdutil.Factory) error {
	if err := f.show.prepare(cmd.Context(), factory, cmd.Flags()); err != nil {
		return err
	}
	if err := f.save.prepare(factory, cmd.Flags()); err != nil {
		return err
	}
	v := variables{factory, cmd.Flags()}
	if err := v.toggle(&f.threeWay, "three-way-merge", "HELM_DIFF_THREE_WAY_MERGE"); err != nil {
		return err
	}
	f.lookup = f.DryRun == cmdutil.DryRunServer
	for _, name := range []string{"HELM_DIFF_USE_UPGRADE_DRY_RUN", "HELM_DIFF_USE_INSECURE_SERVER_SIDE_DRY_RUN"} {
		on := false
		if err := v.toggle(&on, "", name); err != nil {
			return err
		}
		f.lookup = f.lookup || on
	}
	f.options.NoHooks = f.NoHooks
	if f.disableValidation {
		f.Apply.SkipValidation()
		f.options.Unvalidated = true
	}
	switch {
	case f.DryRun == cmdutil.DryRunClient:
		f.threeWay = false
	case f.threeWay && !f.disableValidation:
		f.DryRun = cmdutil.DryRunServer
	default:
		f.DryRun = cmdutil.DryRunNone // Plan writes nothing in any case
	}
	f.HideSecret = false
	return f.DeployFlags.Prepare()
}

// plan returns the changes of an upgrade, or of an install if there is no release.
func (f *upgradeFlags) plan(ctx context.Context, factory *cmdutil.Factory, name, ref string) (*action.Change, error) {
	c, err := factory.Chart(ctx, ref, &f.Chart)
	if err != nil {
		return nil, err
	}
	vals, err := f.Values.Build(ctx, factory, c)
	if err != nil {
		return nil, err
	}
	if err := f.Patches.Load(ctx, factory); err != nil {
		return nil, err
	}
	var change *action.Change
	var rendered *action.Rendered
	if f.DryRun == cmdutil.DryRunClient || f.onlyInstall {
		change, rendered, err = f.planInstall(ctx, factory, c, vals, name)
	} else {
		change, rendered, err = f.planUpgrade(ctx, factory, c, vals, name)
	}
	if err != nil {
		return nil, err
	}
	if !f.threeWay {
		if change, err = action.Compare(change.From, change.To); err != nil {
			return nil, err
		}
	}
	if left := change.CRDs == nil || change.From != nil && change.CRDs.Changes() == 0; f.includeCRDs && left {
		if change.From != nil {
			f.options.CRDNote = "an upgrade ignores CRDs without --crds upgrade"
		}
		change.CRDs, err = action.CompareCRDs(change.From, rendered.Chart)
	}
	return change, err
}

func (f *upgradeFlags) preview() action.Preview {
	return action.Preview{
		KubeVersion: f.kubeVersion, APIVersions: f.apiVersions,
		Recorded: !f.threeWay, NoLookup: !f.threeWay && !f.lookup, Keep: f.save.wanted(),
	}
}

func (f *upgradeFlags) planUpgrade(ctx context.Context, factory *cmdutil.Factory, c *chart.Chart, vals map[string]any,
	name string,
) (*action.Change, *action.Rendered, error) {
	verb, err := f.Upgrader(factory)
	if err != nil {
		return nil, nil, err
	}
	req := f.Request(ctx, factory, c, vals, name)
	req.Reuse, req.Preview, req.TemplateHistory = f.reuse.Reuse(), f.preview(), f.history
	req.OrInstall = f.install
	req.ReportConflicts, req.ResetPatches, req.MaxHistory = true, f.reuse.ResetPatches, f.maxHistory
	change, rendered, err := verb.Plan(ctx, req)
	var missing *action.NoReleaseError
	switch {
	case !errors.As(err, &missing):
		return change, rendered, err
	case !f.install:
		return nil, nil, hint.With(err,
			fmt.Sprintf("--allow-unreleased, or --install, previews an install of %s", name))
	}
	if change, rendered, err = f.planInstall(ctx, factory, c, vals, name); err == nil {
		const stars = "********************"
		const note = "Release was not present in Helm.  Diff will show entire contents as new."
		_, err = fmt.Fprintf(factory.Err, "%s\n\n\t%s\n\n%s\n", stars, note, stars)
	}
	return change, rendered, err
}

func (f *upgradeFlags) planInstall(ctx context.Context, factory *cmdutil.Factory, c *chart.Chart, vals map[string]any,
	name string,
) (*action.Change, *action.Rendered, error) {
	verb, err := f.Installer(factory)
	if err != nil {
		return nil, nil, err
	}
	req := f.Request(ctx, factory, c, vals, name)
	req.Replace, req.Preview, req.Reuse = !f.onlyInstall, f.preview(), f.reuse.Reuse()
	req.OrInstall = f.install && !f.onlyInstall
	req.ReportConflicts, req.MaxHistory = true, f.maxHistory
	return verb.Plan(ctx, req)
}
