// SPDX-License-Identifier: Apache-2.0

// Package install is the command that puts a chart into a cluster.
package install

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/op"
	"github.com/moonhelm/moonhelm/release"
)

// Options are the flags of `helm install`.
type Options struct {
	env.ValueFlags
	env.NameFlags
	env.WaitFlags
	env.ApplyFlags
	env.ChartFlags
	env.ScriptFlags
	Output output.Format

	Description     string
	Labels          map[string]string
	CreateNamespace bool
	DryRun          env.DryRun
	HideSecret      bool
	HideNotes       bool
	Replace         bool
	SkipCRDs        bool
	TakeOwnership   bool
	NoHooks         bool
	SkipSchema      bool
	SubNotes        bool
	EnableDNS       bool
	Atomic          bool
}

// New makes the command.
func New(e *env.Env) *cobra.Command {
	o := Options{DryRun: env.DryRunNone}
	cmd := &cobra.Command{
		Use:   "install [NAME] CHART",
		Short: "install a chart",
		Long: `Installs a chart into a cluster as a release of that name.

CHART is the path of a chart's folder or archive. Values come from the chart's
values.yaml, then from --values files, then from --set and its kin; later ones
win, and a null takes a key away.

  helm install web ./mychart
  helm install web ./mychart -f production.yaml --set replicas=3 --wait
  helm install --generate-name ./mychart --namespace shop --create-namespace
  helm install web ./mychart --dry-run=server --hide-secret

Where an object exists already and does not belong to the release, nothing is
written, unless --take-ownership is given. If the install fails half-way the
release stays, marked failed: helm uninstall removes what was created.`,
		Args: env.NameAndChart,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Resolve(args, e.Now()); err != nil {
				return err
			}
			return run(cmd.Context(), e, o)
		},
	}
	fs := cmd.Flags()
	o.ValueFlags.Bind(fs)
	o.NameFlags.Bind(fs)
	o.WaitFlags.Bind(fs, true)
	o.ApplyFlags.Bind(fs)
	o.ChartFlags.Bind(fs, true)
	o.ScriptFlags.Bind(fs)
	o.Output.Bind(fs)
	output.Complete(cmd)
	fs.StringVar(&o.Description, "description", "", "what the release's history says of this revision")
	fs.StringToStringVarP(&o.Labels, "labels", "l", nil, "labels of the release's record: key=value,key=value")
	fs.BoolVar(&o.CreateNamespace, "create-namespace", false, "create the namespace if it is not there")
	env.BindDryRun(fs, &o.DryRun)
	fs.BoolVar(&o.HideSecret, "hide-secret", false, "with --dry-run, do not print Secrets")
	fs.BoolVar(&o.HideNotes, "hide-notes", false, "do not print the chart's notes")
	fs.BoolVar(&o.Replace, "replace", false, "use the name of a release that failed or was uninstalled with its history kept")
	fs.BoolVar(&o.SkipCRDs, "skip-crds", false, "do not install the CRDs of crds/")
	fs.BoolVar(&o.TakeOwnership, "take-ownership", false, "take over objects that exist, whoever's they are")
	fs.BoolVar(&o.NoHooks, "no-hooks", false, "do not run hooks")
	fs.BoolVar(&o.SkipSchema, "skip-schema-validation", false, "do not hold values against the charts' schemas")
	fs.BoolVar(&o.SubNotes, "render-subchart-notes", false, "print the notes of subcharts too")
	fs.BoolVar(&o.EnableDNS, "enable-dns", false, "let templates look up host names")
	fs.BoolVar(&o.Atomic, "rollback-on-failure", false, "uninstall again if the install fails (implies --wait)")
	fs.BoolVar(&o.Atomic, "atomic", false, "Helm 3's name for --rollback-on-failure")
	_ = fs.MarkHidden("atomic") // the flag exists: it was registered one line above
	env.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, e *env.Env, o Options) error {
	if o.HideSecret && o.DryRun == env.DryRunNone {
		return fmt.Errorf("--hide-secret hides Secrets from what --dry-run prints: use both, or neither")
	}
	if o.Name == "" {
		return fmt.Errorf("must either provide a name or specify --generate-name")
	}
	if err := o.ApplyFlags.Check(); err != nil {
		return err
	}
	if err := env.CheckLabels(o.Labels); err != nil {
		return err
	}
	if o.Atomic {
		o.Strategy = "watcher"
	}
	vals, err := o.ValueFlags.Build(ctx, e)
	if err != nil {
		return err
	}
	c, err := e.Chart(o.ChartRef)
	if err != nil {
		return err
	}
	req := op.InstallRequest{
		Chart: c, Values: vals, Name: o.Name, Namespace: e.Namespace(),
		Description: o.Description, Labels: o.Labels, CreateNamespace: o.CreateNamespace,
		Replace: o.Replace, TakeOwnership: o.TakeOwnership, SkipCRDs: o.SkipCRDs,
		SkipSchema: o.SkipSchema, SubchartNotes: o.SubNotes,
		Wait: o.Wait(), WaitJobs: o.Jobs, Timeout: o.Timeout,
	}
	if o.EnableDNS {
		req.LookupHost = e.LookupHost
	}
	if c.Metadata.Deprecated {
		fmt.Fprintln(e.Err, "Warning: this chart is deprecated")
	}
	if o.DryRun != env.DryRunNone {
		return dryRun(ctx, e, o, req)
	}
	return install(ctx, e, o, req)
}

func install(ctx context.Context, e *env.Env, o Options, req op.InstallRequest) error {
	cluster, err := e.Cluster()
	if err != nil {
		return err
	}
	cluster = o.ApplyFlags.For(cluster)
	records, err := e.Records(req.Namespace)
	if err != nil {
		return err
	}
	verb := op.Install{Cluster: cluster, Releases: records, Progress: e.Report(), Now: e.Now}
	if verb.Events, err = e.Events(o.ScriptFlags, o.hooksOn(cluster), o.Timeout); err != nil {
		return err
	}
	rel, err := verb.Run(ctx, req)
	if err != nil {
		if o.Atomic && rel != nil {
			return undo(ctx, e, cluster, records, o, req, err)
		}
		return err
	}
	return show(e, o, rel)
}

// hooksOn is the cluster that annotation hooks run on, nil for none.
func (o Options) hooksOn(cluster *env.Cluster) *env.Cluster {
	if o.NoHooks {
		return nil
	}
	return cluster
}

// undo removes what a failed install left, when the user asked for all or nothing.
func undo(ctx context.Context, e *env.Env, cluster *env.Cluster, records op.Recorder, o Options, req op.InstallRequest, cause error) error {
	ctx = context.WithoutCancel(ctx)
	verb := op.Uninstall{Cluster: cluster, Releases: records, Progress: e.Report(), Now: e.Now}
	flags := o.ScriptFlags
	flags.Yes = true // the same scripts were allowed a moment ago
	var err error
	if verb.Events, err = e.Events(flags, o.hooksOn(cluster), o.Timeout); err != nil {
		return fmt.Errorf("%w; uninstalling it again went wrong too: %w", cause, err)
	}
	if _, err := verb.Run(ctx, op.UninstallRequest{Name: req.Name, Wait: true, Timeout: o.Timeout}); err != nil {
		return fmt.Errorf("%w; uninstalling it again went wrong too: %w", cause, err)
	}
	return fmt.Errorf("release %s failed, and has been uninstalled due to --rollback-on-failure: %w", req.Name, cause)
}

func dryRun(ctx context.Context, e *env.Env, o Options, req op.InstallRequest) error {
	verb := op.Install{Progress: e.Report(), Now: e.Now}
	var err error
	if verb.Events, err = e.Events(o.ScriptFlags, nil, 0); err != nil {
		return err
	}
	var cluster *env.Cluster
	if o.DryRun == env.DryRunServer {
		if cluster, err = e.Cluster(); err != nil {
			return err
		}
		cluster = o.ApplyFlags.For(cluster)
		verb.Cluster = cluster
		if verb.Releases, err = e.Records(req.Namespace); err != nil {
			return err
		}
	}
	rel, rendered, err := verb.Plan(ctx, req)
	if err != nil {
		return err
	}
	if cluster != nil && !req.CreateNamespace {
		owner := op.Owner{Release: req.Name, Namespace: req.Namespace}
		if err := cluster.DryRun().Apply(ctx, rendered.Known(), owner); err != nil {
			return fmt.Errorf("the cluster would refuse this: %w", err)
		}
	}
	if o.HideSecret {
		if err := report.HideSecrets(rel); err != nil {
			return err
		}
	}
	return show(e, o, rel)
}

func show(e *env.Env, o Options, rel *release.Release) error {
	v := report.View{Manifest: o.DryRun != env.DryRunNone, HideNotes: o.HideNotes}
	return v.Write(e.Streams, o.Output, rel)
}
