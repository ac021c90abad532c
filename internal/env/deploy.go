// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// DeployFlags are the flags that install and upgrade have in common.
type DeployFlags struct {
	ValueFlags
	WaitFlags
	ApplyFlags
	ChartFlags
	ScriptFlags

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
func (d *DeployFlags) Bind(cmd *cobra.Command, e *Env) {
	fs := cmd.Flags()
	d.DryRun = DryRunNone
	d.ValueFlags.Bind(fs)
	d.WaitFlags.Bind(fs, true)
	d.ApplyFlags.Bind(fs)
	d.BindOwnership(fs)
	d.ChartFlags.Bind(cmd, e)
	d.BindUpdate(fs, &d.ScriptFlags)
	d.ScriptFlags.Bind(fs)
	d.postRender.Bind(fs)
	fs.StringVar(&d.Description, "description", "", "what the release's history says of this revision")
	fs.StringToStringVarP(&d.Labels, "labels", "l", nil, "labels of the release's record: key=value,key=value")
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
	fs.StringVar(&d.crds, "crds", "create", "what becomes of the definitions in crds/: create (an install creates those that are missing), upgrade (they are updated too), skip")
	fs.BoolVar(&d.skipCRDs, "skip-crds", false, "the same as --crds skip")
	CompleteChoices(cmd)
}

// BindHistoryMax registers --history-max, whose default the environment gives.
func BindHistoryMax(fs *pflag.FlagSet, e *Env, max *int) {
	fs.IntVar(max, "history-max", e.Settings.MaxHistory, "how many revisions of the release are kept, 0 for all")
}

// Prepare checks the flags and makes those that follow from others.
func (d *DeployFlags) Prepare() error {
	if d.HideSecret && d.DryRun == DryRunNone {
		return fmt.Errorf("--hide-secret hides Secrets from what --dry-run prints: use both, or neither")
	}
	if err := d.ApplyFlags.Check(); err != nil {
		return err
	}
	if err := CheckLabels(d.Labels); err != nil {
		return err
	}
	switch d.crds {
	case "create", "upgrade", "skip":
	default:
		return fmt.Errorf("--crds is %q, must be create, upgrade or skip", d.crds)
	}
	if d.Atomic && d.Strategy == "hookOnly" {
		d.Strategy = "watcher"
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

// hooksOn says how annotation hooks run on cluster.
func (d *DeployFlags) hooksOn(cluster *kube.Client, records *storage.Storage) Hooks {
	if d.NoHooks {
		return Hooks{}
	}
	return Hooks{Cluster: cluster, Records: records, Timeout: d.Timeout, TakeOwnership: d.takeOwnership, Yes: d.Yes, Approved: &action.ApprovedHooks{}}
}

// Install is the request for an install of c that the flags come to.
func (d *DeployFlags) Install(e *Env, c *chart.Chart, vals map[string]any, name string) action.InstallRequest {
	req := action.InstallRequest{
		Chart: c, Values: vals, Name: name, Namespace: e.Namespace(),
		Description: d.Description, Labels: d.Labels, CreateNamespace: d.CreateNamespace,
		CRDs: d.CRDs(), SkipSchema: d.SkipSchema, SubchartNotes: d.SubNotes,
		Waiting: d.Waiting(), Writing: d.Writing(), Predict: d.DryRun == DryRunServer,
		CleanupOnFail: d.CleanupOnFail, Atomic: d.Atomic,
	}
	if d.EnableDNS {
		req.LookupHost = e.LookupHost
	}
	return req
}

// Installer is the verb that installs on the cluster as the flags want it. A
// client-side dry run has no cluster.
func (d *DeployFlags) Installer(e *Env) (action.Install, error) {
	verb := action.Install{Progress: e.Report(), Now: e.Now}
	t, err := d.target(e)
	if err != nil {
		return verb, err
	}
	verb.Events, verb.Undo = t.events, t.undo
	if t.cluster != nil {
		verb.Cluster, verb.Releases, verb.Locker = t.cluster, t.records, t.locker
	}
	return verb, nil
}

// Upgrader is the verb that upgrades, likewise; a client-side dry run still
// reads the records.
func (d *DeployFlags) Upgrader(e *Env) (action.Upgrade, error) {
	verb := action.Upgrade{Progress: e.Report(), Now: e.Now}
	t, err := d.target(e)
	if err != nil {
		return verb, err
	}
	verb.Events, verb.Undo, verb.ConfirmUndo = t.events, t.undo, t.confirmUndo
	if t.cluster != nil {
		verb.Cluster, verb.Locker = t.cluster, t.locker
	}
	records, err := e.Records(e.Namespace())
	verb.Releases = records
	return verb, err
}

// target is what a deploying verb works on and who answers its events.
type target struct {
	cluster *kube.Client // nil for a client-side dry run, as what follows
	records *storage.Storage
	locker  action.Locker

	events, undo *event.Bus
	// confirmUndo is that of [action.Upgrade].
	confirmUndo func(context.Context, *release.Release) error
}

func (d *DeployFlags) target(e *Env) (t target, err error) {
	if d.DryRun == DryRunClient {
		if t.events, err = e.Events(d.ScriptFlags, Hooks{}); err != nil {
			return t, err
		}
		return t, d.postRender.Register(e, t.events)
	}
	if t.cluster, err = e.Cluster(); err != nil {
		return t, err
	}
	t.cluster = d.ApplyFlags.For(t.cluster)
	if t.records, err = e.Records(e.Namespace()); err != nil {
		return t, err
	}
	t.locker = e.Locker(t.cluster, t.records, d.Timeout)
	hooks := d.hooksOn(t.cluster, t.records)
	if t.events, err = e.Events(d.ScriptFlags, hooks); err != nil {
		return t, err
	}
	if err = d.postRender.Register(e, t.events); err != nil || !d.Atomic {
		return t, err
	}
	again := d.ScriptFlags
	again.Yes = true // the same scripts were allowed a moment ago
	if hooks.Cluster != nil {
		t.confirmUndo = e.Responder(hooks).ConfirmRollback
	}
	t.undo, err = e.Events(again, hooks)
	return t, err
}

// Values reads the user's values.
func (d *DeployFlags) Values(ctx context.Context, e *Env) (map[string]any, error) {
	return d.ValueFlags.Build(ctx, e)
}

// Upgrade is the request for an upgrade to c that the flags come to.
func (d *DeployFlags) Upgrade(e *Env, c *chart.Chart, vals map[string]any, name string) action.UpgradeRequest {
	req := action.UpgradeRequest{
		Chart: c, Values: vals, Name: name, Namespace: e.Namespace(),
		Description: d.Description, Labels: d.Labels,
		CRDs: d.CRDs(), SkipSchema: d.SkipSchema, SubchartNotes: d.SubNotes,
		Waiting: d.Waiting(), Writing: d.Writing(), Predict: d.DryRun == DryRunServer,
		CleanupOnFail: d.CleanupOnFail, Atomic: d.Atomic,
	}
	if d.EnableDNS {
		req.LookupHost = e.LookupHost
	}
	return req
}

// ReuseFlags say what becomes of the values that a release has.
type ReuseFlags struct {
	reuse, reset, resetThenReuse bool
}

// Bind registers the flags.
func (r *ReuseFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVar(&r.reuse, "reuse-values", false, "lay new values over those of the last revision, defaults included")
	fs.BoolVar(&r.reset, "reset-values", false, "forget the values of the last revision")
	fs.BoolVar(&r.resetThenReuse, "reset-then-reuse-values", false, "lay new values over the user's values of the last revision, and those over the new chart's defaults")
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
	NoScripts     bool
	MaxHistory    int
}

// Bind registers the flags.
func (u *UndoFlags) Bind(fs *pflag.FlagSet, e *Env) {
	fs.StringVar(&u.Description, "description", "", "what the release's history says of the new revision")
	fs.BoolVar(&u.CleanupOnFail, "cleanup-on-fail", false, "if it fails, delete what it has created")
	fs.BoolVar(&u.NoHooks, "no-hooks", false, "do not run hooks")
	fs.BoolVar(&u.NoScripts, "no-scripts", false, "do not run the scripts of the release's chart")
	BindHistoryMax(fs, e, &u.MaxHistory)
}

// Rollbacker is the verb that rolls back as the flags want it.
func (u *UndoFlags) Rollbacker(e *Env, a ApplyFlags, s ScriptFlags, timeout time.Duration) (action.Rollback, error) {
	verb := action.Rollback{Progress: e.Report(), Now: e.Now}
	cluster, err := e.Cluster()
	if err != nil {
		return verb, err
	}
	cluster = a.For(cluster)
	records, err := e.Records(e.Namespace())
	if err != nil {
		return verb, err
	}
	verb.Cluster, verb.Releases, verb.Locker = cluster, records, e.Locker(cluster, records, timeout)
	hooks := Hooks{Cluster: cluster, Records: records, Timeout: timeout, TakeOwnership: a.takeOwnership, Yes: s.Yes}
	if u.NoHooks {
		hooks = Hooks{}
	}
	if u.NoScripts {
		verb.Events = e.Bus(hooks)
		return verb, nil
	}
	verb.Events, err = e.Events(s, hooks)
	return verb, err
}
