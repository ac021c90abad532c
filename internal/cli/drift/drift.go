// SPDX-License-Identifier: Apache-2.0

// Package drift provides the command that compares what runs with what was installed.
package drift

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/report/drift"
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
  helm drift web --repair --wait`,
		Annotations:       map[string]string{cmdutil.NotInHelm: ""},
		Args:              cmdutil.Args(0, 1, "the name of a release, or none for all of the namespace"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Name = args[0]
			}
			return run(cmd.Context(), f, o)
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

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
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
	reports, err := o.repairAll(ctx, f, req, found)
	written := drift.Write(f.Streams, o.Output, reports,
		drift.Options{Now: f.Now(), Allowed: o.ShowAllowed, One: o.Name != ""})
	for _, r := range reports {
		if r.Err != nil {
			err = errors.Join(err, fmt.Errorf("release %s in namespace %s: %w", r.Name, r.Namespace, r.Err))
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

// repairAll repairs the releases that have drifted, one after the other, if the flags ask for it. A
// release that cannot be repaired has Err set.
func (o Options) repairAll(ctx context.Context, f *cmdutil.Factory, req action.DriftRequest,
	found []action.ReleaseDrift) ([]drift.Report, error) {
	reports := make([]drift.Report, len(found))
	for i, d := range found {
		reports[i].ReleaseDrift = d
		// A named release is repaired even without drift: that takes over what a killed client has locked.
		if o.Repair == "" || d.Err != nil || !d.Drifted() && !d.Unfinished && o.Name == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return reports, err
		}
		config, err := f.ConfigIn(d.Namespace, o.Timeout)
		if err != nil {
			return reports, err
		}
		repaired, err := action.Repair{Config: config}.Run(ctx, action.RepairRequest{
			Name: d.Name, DriftOptions: req.DriftOptions, InPlace: o.Repair == repair(drift.InPlace),
			Description: o.Description, WaitOptions: o.WaitOptions(), MaxHistory: o.MaxHistory,
		})
		if err != nil {
			reports[i].Err = err
			continue
		}
		reports[i].ReleaseDrift = *repaired
		if repaired.Drifted() {
			reports[i].Repaired = drift.Repair(o.Repair)
		}
	}
	return reports, nil
}
