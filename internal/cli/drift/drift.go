// SPDX-License-Identifier: Apache-2.0

// Package drift provides the command that compares what runs with what was installed.
package drift

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/report/diff"
	"github.com/moonhelm/moonhelm/internal/report/drift"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// Options are the flags of `helm drift`.
type Options struct {
	cmdutil.WaitFlags

	Name          string
	AllNamespaces bool
	Filter        string
	Selector      string
	Ignore        []string
	Output        drift.Format
	ShowAllowed   bool
	Repair        repair
	DryRun        bool
	Description   string
	MaxHistory    int
}

// repair is the value of --repair: "", revision or in-place.
type repair drift.Repair

func (r *repair) String() string { return string(*r) }

func (r *repair) Type() string { return "how" }

func (r *repair) Set(s string) error {
	switch s {
	case "true", string(drift.Revision):
		*r = repair(drift.Revision)
	case string(drift.InPlace):
		*r = repair(drift.InPlace)
	case "false":
		*r = ""
	default:
		return errors.New("must be revision or in-place")
	}
	return nil
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "drift [RELEASE]",
		Short: "Show what has changed since releases were installed",
		Long: `Compare the objects in the cluster with those that a release has installed, or
all releases of the namespace. The record of the release is enough: no chart is
needed. Fields that were changed, removed or added are shown, with the client that
did it and when, as far as the cluster knows. The exit code is 2 if anything has
drifted, 1 after an error, and else 0.

What the owner of a field may change is not drift: replicas that an autoscaler sets,
what controllers and admission webhooks add, defaults of the API server.
--show-allowed lists these differences too. --ignore and the annotation
` + plan.IgnoreDriftAnnotation + ` of an object exclude more: "true", or paths.

--repair undoes the drift, under the release's lock, and changes nothing else; the
record gets a new revision, or with --repair=in-place stays as it is.`,
		Example: `  helm drift web
  helm drift --all-namespaces --output prometheus

  # Leave out what a person may change, and undo the rest
  helm drift web --ignore Deployment/web:spec.replicas --ignore manager=kubectl-label
  helm drift web --repair --wait

  # What would that write?
  helm drift web --repair --dry-run`,
		Annotations:       map[string]string{cmdutil.NotInHelm: ""},
		Args:              cmdutil.Args(0, 1, "the name of a release, or none for all of the namespace"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			return run(cmd.Context(), f, cmd.Flags(), o)
		},
	}
	o.bind(cmd.Flags(), f)
	cmdutil.CompleteChoices(cmd)
	var formats []string
	for _, format := range drift.Formats() {
		formats = append(formats, string(format))
	}
	// The only error is that a flag does not exist.
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, noFiles))
	_ = cmd.RegisterFlagCompletionFunc("repair", cobra.FixedCompletions([]string{"revision", "in-place"}, noFiles))
	return cmd
}

func (o *Options) bind(fs *pflag.FlagSet, f *cmdutil.Factory) {
	fs.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "check the releases of all namespaces")
	fs.StringVarP(&o.Filter, "filter", "f", "", "check only releases whose name matches this regular expression")
	fs.StringVarP(&o.Selector, "selector", "l", "",
		"check only releases whose record has these labels, such as key1=value1,key2!=value2")
	cmdutil.StringArrayVarP(fs, &o.Ignore, "ignore", "",
		"ignore differences: a path (spec.replicas), KIND, KIND/NAME, KIND/NAME:PATH, with * for any text in KIND "+
			"and NAME, or manager=NAME (may be repeated)")
	fs.VarP(&o.Output, "output", "o", "output format: text, json, yaml, junit or prometheus")
	fs.BoolVar(&o.ShowAllowed, "show-allowed", false, "show the differences that are no drift too, and why")
	fs.Var(&o.Repair, "repair", "undo the drift: as a new revision, or in-place, without one")
	fs.Lookup("repair").NoOptDefVal = string(drift.Revision)
	fs.BoolVar(&o.DryRun, "dry-run", false, "with --repair, show what it would write, and write nothing")
	fs.StringVar(&o.Description, "description", "", "with --repair, description of the new revision")
	cmdutil.BindHistoryMax(fs, f, &o.MaxHistory)
	o.WaitFlags.Bind(fs, true)
}

// request returns the request that the flags make.
func (o Options) request() (action.DriftRequest, error) {
	req := action.DriftRequest{Name: o.Name}
	if o.Name != "" && (o.AllNamespaces || o.Filter != "" || o.Selector != "") {
		return req, errors.New("the name of a release and --all-namespaces, --filter or --selector cannot be used together")
	}
	if o.DryRun && o.Repair == "" {
		return req, errors.New("--dry-run needs --repair: without it nothing is written")
	}
	for _, text := range o.Ignore {
		rule, err := plan.ParseIgnoreRule(text)
		if err != nil {
			return req, fmt.Errorf("--ignore: %w", err)
		}
		req.Ignore = append(req.Ignore, rule)
	}
	var err error
	req.Filter, err = cmdutil.ReleaseFilter(o.Filter, o.Selector)
	return req, err
}

func run(ctx context.Context, f *cmdutil.Factory, fs *pflag.FlagSet, o Options) error {
	req, err := o.request()
	if err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	found, err := o.find(ctx, f, req)
	if err != nil {
		return err
	}
	if err := warnUnused(f, req.Ignore, found); err != nil {
		return err
	}
	reports, changes, err := o.repairAll(ctx, f, req, found)
	written := drift.Write(f.Streams, o.Output, reports,
		drift.Options{Now: f.Now(), Allowed: o.ShowAllowed, One: o.Name != ""})
	if written == nil {
		written = o.writeChanges(ctx, f, changes)
	}
	for _, r := range reports {
		if r.Err != nil {
			failed := fmt.Errorf("release %s in namespace %s: %w", r.Name, r.Namespace, r.Err)
			err = errors.Join(err, cmdutil.FollowableHints(fs, "helm upgrade", failed))
		}
	}
	if err = errors.Join(err, written); err == nil && drift.Open(reports) {
		err = &cmdutil.ExitError{Code: driftExitCode}
	}
	return err
}

// driftExitCode is the exit code if anything has drifted.
const driftExitCode = 2

// find compares the releases.
func (o Options) find(ctx context.Context, f *cmdutil.Factory, req action.DriftRequest) ([]action.ReleaseDrift, error) {
	config, err := f.ConfigIn(f.Namespace(), o.Timeout)
	if err != nil {
		return nil, err
	}
	namespace := f.Namespace()
	if o.AllNamespaces {
		namespace = ""
	}
	records, err := f.Records(namespace)
	if err != nil {
		return nil, err
	}
	return action.Drift{Releases: records, Cluster: config.Cluster}.Run(ctx, req)
}

// warnUnused warns of rules of --ignore that ignore nothing.
func warnUnused(f *cmdutil.Factory, rules []plan.IgnoreRule, found []action.ReleaseDrift) error {
	var objects []plan.ObjectDrift
	for _, d := range found {
		objects = append(objects, d.Objects...)
	}
	for _, u := range plan.UnusedRules(rules, objects) {
		text := "ignores nothing"
		if len(u.Near) > 0 {
			text += ": did you mean " + strings.Join(u.Near, " or ") + "?"
		}
		if _, err := fmt.Fprintf(f.Err, "Warning: --ignore %s %s\n", term.SafeLine(u.Rule), term.SafeLine(text)); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges prints what repairs would write, for people.
func (o Options) writeChanges(ctx context.Context, f *cmdutil.Factory, changes []*action.Change) error {
	if !o.Output.ForPeople() {
		return nil
	}
	for _, c := range changes {
		d := diff.Of(c, diff.Options{})
		d.Title = "Plan of the repair of " + c.To.Name
		if _, err := fmt.Fprintln(f.Out); err != nil {
			return err
		}
		if err := diff.Write(ctx, f.Streams, diff.Text, d, diff.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// repairAll repairs the releases that have drifted, one after the other, if the flags ask for it, or
// returns what that would write. A release that cannot be repaired has Err set.
func (o Options) repairAll(ctx context.Context, f *cmdutil.Factory, req action.DriftRequest,
	found []action.ReleaseDrift) (reports []drift.Report, changes []*action.Change, err error) {
	reports = make([]drift.Report, len(found))
	for i, d := range found {
		reports[i].ReleaseDrift = d
		// A named release is repaired even without drift: that takes over what a killed client has locked.
		if o.Repair == "" || d.Err != nil || !d.Drifted() && !d.Unfinished && o.Name == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return reports, changes, err
		}
		config, err := f.ConfigIn(d.Namespace, o.Timeout)
		if err != nil {
			return reports, changes, err
		}
		change, err := o.repairOne(ctx, config, req, &reports[i])
		if reports[i].Err = err; change != nil {
			changes = append(changes, change)
		}
	}
	return reports, changes, nil
}

// repairOne repairs one release, or returns what that would write.
func (o Options) repairOne(ctx context.Context, config *action.Config, req action.DriftRequest, r *drift.Report) (
	*action.Change, error) {
	verb, how := action.Repair{Config: config}, drift.Repair(o.Repair)
	repairing := action.RepairRequest{
		Name: r.Name, DriftOptions: req.DriftOptions, InPlace: how == drift.InPlace,
		Description: o.Description, WaitOptions: o.WaitOptions(), MaxHistory: o.MaxHistory,
	}
	if o.DryRun {
		found, change, err := verb.Plan(ctx, repairing)
		if err != nil {
			return nil, err
		}
		if r.ReleaseDrift = *found; found.Drifted() {
			r.Planned = how
		}
		return change, nil
	}
	repaired, err := verb.Run(ctx, repairing)
	if err != nil {
		return nil, err
	}
	if r.ReleaseDrift = *repaired; repaired.Drifted() {
		r.Repaired = how
	}
	return nil, nil
}
