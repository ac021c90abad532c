// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/storage"
)

// DeployFlags are the flags that install and upgrade have in common.
type DeployFlags struct {
	Values  ValueFlags
	Wait    WaitFlags
	Apply   ApplyFlags
	Chart   ChartFlags
	Scripts ScriptFlags

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
	d.Wait.Bind(fs, true)
	d.Apply.Bind(fs)
	d.Apply.BindOwnership(fs)
	d.Chart.Bind(cmd, f)
	d.Chart.BindUpdate(fs, &d.Scripts)
	d.Scripts.Bind(fs)
	d.postRender.Bind(fs)
	fs.StringVar(&d.Description, "description", "", "what the release's history says of this revision")
	StringToStringVarP(fs, &d.Labels, "labels", "l", "labels of the release's record: key=value,key=value")
	fs.BoolVar(&d.CreateNamespace, "create-namespace", false, "create the namespace if it is not there")
	BindDryRun(fs, &d.DryRun)
	fs.BoolVar(&d.HideSecret, "hide-secret", false, "with --dry-run, do not print Secrets")
	fs.BoolVar(&d.HideNotes, "hide-notes", false, "do not print the chart's notes")
	fs.BoolVar(&d.NoHooks, "no-hooks", false, "do not run hooks")
	fs.BoolVar(&d.SkipSchema, "skip-schema-validation", false, "do not hold values against the charts' schemas")
	fs.BoolVar(&d.SubNotes, "render-subchart-notes", false, "print the notes of subcharts too")
	fs.BoolVar(&d.EnableDNS, "enable-dns", false, "let templates look up host names")
	fs.BoolVar(&d.Atomic, "rollback-on-failure", false, "undo everything if it fails (implies --wait)")
	fs.BoolVar(&d.Atomic, "atomic", false, "Helm 3's name for --rollback-on-failure")
	_ = fs.MarkHidden("atomic") // the flag exists: it was registered one line above
	fs.BoolVar(&d.CleanupOnFail, "cleanup-on-fail", false, "if it fails, delete what it has created")
	fs.StringVar(&d.crds, "crds", "create", "what becomes of the definitions in crds/: create (an install creates those "+
		"that are missing), upgrade (they are updated too), skip")
	fs.BoolVar(&d.skipCRDs, "skip-crds", false, "the same as --crds skip")
	CompleteChoices(cmd)
}

// BindHistoryMax registers --history-max, whose default the environment gives.
func BindHistoryMax(fs *pflag.FlagSet, f *Factory, most *int) {
	fs.IntVar(most, "history-max", f.Settings.MaxHistory, "how many revisions of the release are kept, 0 for all")
}

// Prepare checks the flags and makes those that follow from others.
func (d *DeployFlags) Prepare() error {
	if d.HideSecret && d.DryRun == DryRunNone {
		return fmt.Errorf("--hide-secret hides Secrets from what --dry-run prints: use both, or neither")
	}
	if err := d.Apply.Check(); err != nil {
		return err
	}
	if err := storage.CheckLabels(d.Labels); err != nil {
		return fmt.Errorf("--labels: %w", err)
	}
	switch d.crds {
	case "create", "upgrade", "skip":
	default:
		return fmt.Errorf("--crds is %q, must be create, upgrade or skip", d.crds)
	}
	return nil
}

// CRDs is the policy that the flags choose.
func (d *DeployFlags) CRDs() action.CRDPolicy {
	switch {
	case d.skipCRDs || d.crds == "skip":
		return action.CRDSkip
	case d.crds == "upgrade":
		return action.CRDUpgrade
	}
	return action.CRDCreate
}

// Request is the request for an install of c, or an upgrade to it, that the flags come
// to.
func (d *DeployFlags) Request(f *Factory, c *chart.Chart, vals map[string]any, name string) action.DeployRequest {
	req := action.DeployRequest{
		Chart: c, Values: vals, Name: name, Namespace: f.Namespace(),
		Description: d.Description, Labels: d.Labels, CreateNamespace: d.CreateNamespace,
		CRDs: d.CRDs(), SkipSchema: d.SkipSchema, SubchartNotes: d.SubNotes, NoHooks: d.NoHooks,
		WaitOptions: d.Wait.WaitOptions(), ApplyOptions: d.Apply.ApplyOptions(), ServerDryRun: d.DryRun == DryRunServer,
		CleanupOnFail: d.CleanupOnFail, Atomic: d.Atomic, UndoCancelled: true, // a second interrupt ends it
	}
	if d.EnableDNS {
		req.LookupHost = f.LookupHost
	}
	return req
}

// Installer is the verb that installs on the cluster as the flags want it. A
// client-side dry run has no cluster.
func (d *DeployFlags) Installer(f *Factory) (action.Install, error) {
	config, err := d.config(f)
	return action.Install{Config: config}, err
}

// Upgrader is the verb that upgrades, likewise; a client-side dry run still
// reads the records.
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

// ReuseFlags say what becomes of the values that a release has.
type ReuseFlags struct {
	reuse, reset, resetThenReuse bool
}

// Bind registers the flags.
func (r *ReuseFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVar(&r.reuse, "reuse-values", false, "lay new values over those of the last revision, defaults included")
	fs.BoolVar(&r.reset, "reset-values", false, "forget the values of the last revision")
	fs.BoolVar(&r.resetThenReuse, "reset-then-reuse-values", false,
		"lay new values over the user's values of the last revision, and those over the new chart's defaults")
}

// Reuse is what the flags choose; --reset-values goes before the others.
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

// UndoFlags are the flags of a rollback that others do not have in this form.
type UndoFlags struct {
	Description   string
	CleanupOnFail bool
	NoHooks       bool
	MaxHistory    int
}

// Bind registers the flags.
func (u *UndoFlags) Bind(fs *pflag.FlagSet, f *Factory) {
	fs.StringVar(&u.Description, "description", "", "what the release's history says of the new revision")
	fs.BoolVar(&u.CleanupOnFail, "cleanup-on-fail", false, "if it fails, delete what it has created")
	fs.BoolVar(&u.NoHooks, "no-hooks", false, "do not run hooks")
	BindHistoryMax(fs, f, &u.MaxHistory)
}

// Rollbacker is the verb that rolls back as the flags want it.
func (u *UndoFlags) Rollbacker(f *Factory, a ApplyFlags, s ScriptFlags, timeout time.Duration) (action.Rollback,
	error) {
	config, err := f.Config(s, a, timeout)
	return action.Rollback{Config: config}, err
}
