// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/storage"
)

// DeployFlags are the flags that install and upgrade share.
type DeployFlags struct {
	Values  ValueFlags
	Wait    WaitFlags
	Apply   ApplyFlags
	Chart   ChartFlags
	Scripts ScriptFlags
	Patches PatchFlags

	Description     string
	Labels          map[string]string
	CreateNamespace bool
	DryRun          DryRun
	HideSecret      bool
	HideNotes       bool
	NoHooks         bool
	SkipSchema      bool
	SubNotes        bool
	EnableDNS       bool
	Atomic          bool
	CleanupOnFail   bool

	crds       string
	skipCRDs   bool
	postRender PostRenderFlags
}

// Bind registers the flags.
func (d *DeployFlags) Bind(cmd *cobra.Command, f *Factory) {
	fs := cmd.Flags()
	d.DryRun = DryRunNone
	d.Values.Bind(fs)
	d.Values.BindStrict(fs)
	d.Wait.Bind(fs, true)
	d.Apply.Bind(fs)
	d.Apply.BindOwnership(fs)
	d.Chart.Bind(cmd, f)
	d.Chart.BindUpdate(fs, &d.Scripts)
	d.Scripts.Bind(fs)
	d.Patches.Bind(fs)
	d.postRender.Bind(fs)
	fs.StringVar(&d.Description, "description", "", "description of this revision in the release's history")
	StringToStringVarP(fs, &d.Labels, "labels", "l", "labels of the release record: key=value,key=value")
	fs.BoolVar(&d.CreateNamespace, "create-namespace", false, "create the namespace if it does not exist")
	BindDryRun(fs, &d.DryRun)
	fs.BoolVar(&d.HideSecret, "hide-secret", false, "with --dry-run, do not print Secrets")
	fs.BoolVar(&d.HideNotes, "hide-notes", false, "do not print the chart's notes")
	fs.BoolVar(&d.NoHooks, "no-hooks", false, "do not run hooks")
	fs.BoolVar(&d.SkipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	fs.BoolVar(&d.SubNotes, "render-subchart-notes", false, "print the notes of subcharts too")
	fs.BoolVar(&d.EnableDNS, "enable-dns", false, "allow DNS lookups in templates")
	fs.BoolVar(&d.Atomic, "rollback-on-failure", false, "roll back if the operation fails (implies --wait)")
	fs.BoolVar(&d.Atomic, "atomic", false, "Helm 3's name for --rollback-on-failure")
	_ = fs.MarkHidden("atomic") // the flag exists: it is registered above
	fs.BoolVar(&d.CleanupOnFail, "cleanup-on-fail", false, "delete created objects if the operation fails")
	fs.StringVar(&d.crds, "crds", "", "policy for the CRDs in crds/: create (an install creates missing ones), "+
		"upgrade (update them too), skip; the default is what Chart.yaml asks for, or create")
	fs.BoolVar(&d.skipCRDs, "skip-crds", false, "same as --crds=skip")
	CompleteChoices(cmd)
}

// BindHistoryMax registers --history-max. HELM_MAX_HISTORY is its default.
func BindHistoryMax(fs *pflag.FlagSet, f *Factory, most *int) {
	fs.IntVar(most, "history-max", f.Settings.MaxHistory, "number of revisions of the release to keep, 0 for all")
}

// BindTemplateHistory registers the flags for what templates see of the release's history.
func BindTemplateHistory(fs *pflag.FlagSet, h *action.TemplateHistory) {
	fs.Var((*countFlag)(&h.ReleaseHistoryMax), "release-history-max",
		"number of earlier revisions, the newest first, that templates see in .Release.History")
	fs.BoolVar(&h.IncludeHistoryValues, "include-history-values", false,
		"include the user's values of these revisions; they may have secrets")
}

// countFlag is a flag with a number that is not negative.
type countFlag int

func (c *countFlag) String() string { return strconv.Itoa(int(*c)) }
func (c *countFlag) Type() string   { return "int" }

func (c *countFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("must be 0 or a higher whole number")
	}
	*c = countFlag(n)
	return nil
}

// Prepare checks the flags.
func (d *DeployFlags) Prepare() error {
	if d.HideSecret && d.DryRun == DryRunNone {
		return fmt.Errorf("--hide-secret needs --dry-run: it hides Secrets in the output of a dry run")
	}
	if err := errors.Join(d.Apply.Check(), d.Wait.Check()); err != nil {
		return err
	}
	if err := storage.CheckLabels(d.Labels); err != nil {
		return fmt.Errorf("--labels: %w", err)
	}
	switch d.crds {
	case "", "create", "upgrade", "skip":
	default:
		return fmt.Errorf("--crds is %q, must be create, upgrade or skip", d.crds)
	}
	return nil
}

// Load checks the flags and loads the chart that ref names and the values for it. It warns if the
// chart is deprecated.
func (d *DeployFlags) Load(ctx context.Context, f *Factory, ref string) (*chart.Chart, map[string]any, error) {
	if err := d.Prepare(); err != nil {
		return nil, nil, err
	}
	c, err := f.Chart(ctx, ref, &d.Chart)
	if err != nil {
		return nil, nil, err
	}
	vals, err := d.Values.Build(ctx, f, c)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Patches.Load(ctx, f); err != nil {
		return nil, nil, err
	}
	if c.Metadata.Deprecated {
		fmt.Fprintln(f.Err, "Warning: this chart is deprecated")
	}
	return c, vals, nil
}

// CRDs returns the policy that the flags select.
func (d *DeployFlags) CRDs() action.CRDPolicy {
	if d.skipCRDs {
		return action.CRDSkip
	}
	return action.CRDPolicy(d.crds)
}

// Request returns a request to install c, or to upgrade to it, with the flags' options.
func (d *DeployFlags) Request(ctx context.Context, f *Factory, c *chart.Chart, vals map[string]any,
	name string) action.DeployRequest {
	req := action.DeployRequest{
		Chart: c, Values: vals, ValueOrigins: d.Values.Origins(ctx, f), Name: name, Namespace: f.Namespace(),
		Description: d.Description, Labels: d.Labels, CreateNamespace: d.CreateNamespace,
		CRDs: d.CRDs(), SkipSchema: d.SkipSchema, SubchartNotes: d.SubNotes, NoHooks: d.NoHooks,
		WaitOptions: d.Wait.WaitOptions(), ApplyOptions: d.Apply.ApplyOptions(), ServerDryRun: d.DryRun == DryRunServer,
		CleanupOnFail: d.CleanupOnFail, Atomic: d.Atomic, UndoCancelled: true, // a second interrupt ends it
		ValueCheck: d.Values.Check(ctx, f), PatchOptions: d.Patches.Options(),
	}
	if d.EnableDNS {
		req.LookupHost = f.LookupHost
	}
	return req
}

// Installer returns an install with the flags' options. For a client-side dry run it has no
// cluster.
func (d *DeployFlags) Installer(f *Factory) (action.Install, error) {
	config, err := d.config(f)
	return action.Install{Config: config}, err
}

// Upgrader returns an upgrade with the flags' options. For a client-side dry run it has no cluster,
// but still reads the release records.
func (d *DeployFlags) Upgrader(f *Factory) (action.Upgrade, error) {
	config, err := d.config(f)
	if err != nil {
		return action.Upgrade{}, err
	}
	if config.Releases == nil {
		config.Releases, err = f.Records(f.Namespace())
	}
	return action.Upgrade{Config: config}, err
}

func (d *DeployFlags) config(f *Factory) (*action.Config, error) {
	var config *action.Config
	var err error
	if d.DryRun == DryRunClient {
		config, err = f.Offline(d.Scripts)
	} else {
		config, err = f.Config(d.Scripts, d.Apply, d.Wait.Timeout)
	}
	if err != nil {
		return nil, err
	}
	config.PostRenderer, err = d.postRender.Renderer(f)
	return config, err
}

// ReuseFlags are the flags that say which values of the last revision an upgrade keeps.
type ReuseFlags struct {
	reuse, reset, resetThenReuse bool
	// ResetPatches is set if the patches of the last revision are not kept.
	ResetPatches bool
}

// Bind registers the flags.
func (r *ReuseFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVar(&r.reuse, "reuse-values", false,
		"reuse the values of the last revision, chart defaults included, and merge in new ones")
	fs.BoolVar(&r.reset, "reset-values", false, "discard the values of the last revision")
	fs.BoolVar(&r.resetThenReuse, "reset-then-reuse-values", false,
		"reset to the new chart's defaults, then merge in the user values of the last revision and new ones")
	fs.BoolVar(&r.ResetPatches, "reset-patches", false,
		"discard the patches of the last revision, which otherwise are kept as its values are")
}

// Reuse returns the policy that the flags select; --reset-values overrides the others.
func (r *ReuseFlags) Reuse() action.Reuse {
	switch {
	case r.reset:
		return action.ResetValues
	case r.reuse:
		return action.ReuseValues
	case r.resetThenReuse:
		return action.ResetThenReuse
	}
	return action.ReuseIfNone
}

// RollbackFlags are the flags of rollback that have another meaning, or none, in other commands.
type RollbackFlags struct {
	Description   string
	CleanupOnFail bool
	NoHooks       bool
	MaxHistory    int
}

// Bind registers the flags.
func (u *RollbackFlags) Bind(fs *pflag.FlagSet, f *Factory) {
	fs.StringVar(&u.Description, "description", "", "description of the new revision in the release's history")
	fs.BoolVar(&u.CleanupOnFail, "cleanup-on-fail", false, "delete created objects if the rollback fails")
	fs.BoolVar(&u.NoHooks, "no-hooks", false, "do not run hooks")
	BindHistoryMax(fs, f, &u.MaxHistory)
}

// Rollbacker returns a rollback with the flags' options.
func (u *RollbackFlags) Rollbacker(f *Factory, a ApplyFlags, s ScriptFlags, timeout time.Duration) (action.Rollback,
	error) {
	config, err := f.Config(s, a, timeout)
	return action.Rollback{Config: config}, err
}
