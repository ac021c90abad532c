// SPDX-License-Identifier: Apache-2.0

// Package apply provides the command that does what a plan says that was saved.
package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report"
	"github.com/moonhelm/moonhelm/internal/report/diff"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/storage"
)

// Options are the flags of `helm apply`.
type Options struct {
	cmdutil.ScriptFlags
	cmdutil.WatchFlags
	Chart   cmdutil.ChartFlags
	Values  cmdutil.ValueFlags
	Patches cmdutil.PatchFlags
	Output  output.Format

	Path, ChartRef string
	Identity       string
	Check          bool
	Rebase         bool
	Approve        bool
	ExitCode       bool
	HideNotes      bool
	// Namespace reports whether the user has named a namespace.
	Namespace bool
	// Rendering is the first flag given that only matters where the chart is rendered, or "".
	Rendering string
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "apply FILE [CHART]",
		Short: "Do exactly what a saved plan says",
		Long: `Do what a plan says that helm plan has saved with --save: an install, an upgrade, a
rollback or an uninstall, with the flags that it was planned with. Nothing is
rendered: the objects are those that were reviewed.

Before the first write, everything that the plan rests on is compared with the
release and the cluster as they are now: the revision, which objects exist, and the
values of the fields that the plan changes. If any of it has changed, apply refuses
and shows the difference. What does not matter does not: status, managed fields,
fields that the plan leaves alone. An object that is changed later, while apply
runs, is not written.

FILE may be -, for standard input. A plan that was saved with --redact is rendered again from CHART, the same values
and the same patches, and compared with the plan's digests.`,
		Example: `  helm apply plan.json

  # Only check whether the plan still holds: exit code 2 if not
  helm apply plan.json --check --detailed-exitcode

  # Plan again where something has changed, and ask
  helm apply plan.json --rebase

  # A sealed plan, and one that must be signed
  helm apply sealed.json --identity key.txt
  helm apply signed.json --verify --keyring ann.asc`,
		Args:        cmdutil.Args(1, 2, "the file of a plan, and optionally a chart"),
		Annotations: map[string]string{cmdutil.NotInHelm: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Path = args[0]
			if len(args) > 1 {
				o.ChartRef = args[1]
			}
			o.Namespace = cmd.Flags().Changed("namespace")
			o.Rendering = renderingFlag(cmd.Flags())
			if o.Check && o.Rebase {
				return errors.New("--check and --rebase cannot be used together: --check writes nothing, --rebase " +
					"applies what it shows")
			}
			return o.exit(run(cmd.Context(), f, cmd.Flags(), o))
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.Check, "check", false, "only compare the plan with the release and the cluster; nothing is written")
	fs.BoolVar(&o.Check, "dry-run", false, "same as --check")
	fs.BoolVar(&o.Rebase, "rebase", false,
		"if the plan no longer holds or has expired, plan again, show what would change now, and ask")
	fs.BoolVar(&o.Approve, "auto-approve", false, "with --rebase, do not ask")
	fs.StringVar(&o.Identity, "identity", "", "file with the secret key of a recipient, from age-keygen, for a sealed "+
		"plan; the default is HELM_PLAN_IDENTITY")
	fs.BoolVar(&o.ExitCode, "detailed-exitcode", false,
		"exit with code 2 if the plan no longer holds or has expired, and nothing was written")
	fs.BoolVar(&o.HideNotes, "hide-notes", false, "do not print the chart's notes")
	o.Output.Bind(fs)
	output.Complete(cmd)
	o.WatchFlags.Bind(fs)
	o.ScriptFlags.Bind(fs)
	o.BindOff(fs)
	o.Values.Bind(fs)
	o.Patches.Bind(fs)
	o.Chart.Bind(cmd, f)
	fs.Lookup("verify").Usage = "verify the signature of the plan, FILE.prov, and the chart's provenance file"
	cmdutil.CompleteChoices(cmd)
	return cmd
}

// renderingFlag returns the first flag given with values or patches, as the user writes it, or "".
func renderingFlag(fs *pflag.FlagSet) string {
	for _, name := range []string{"values", "set", "set-file", "set-json", "set-literal", "set-string", "patch",
		"patch-allow-missing"} {
		if fs.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// exit returns err with the exit code for plans that no longer hold.
func (o Options) exit(err error) error {
	if err == nil || !o.ExitCode || !isStale(err) {
		return err
	}
	return &cmdutil.ExitError{Code: 2, Err: err}
}

// isStale reports whether err is that the plan does not hold, found before anything was written.
func isStale(err error) bool {
	_, stale := errors.AsType[*action.StaleError](err)
	_, expired := errors.AsType[*action.ExpiredError](err)
	return stale || expired
}

func run(ctx context.Context, f *cmdutil.Factory, fs *pflag.FlagSet, o Options) error {
	if err := o.WatchFlags.Check(); err != nil {
		return err
	}
	doc, err := o.read(ctx, f)
	if err != nil {
		return err
	}
	return cmdutil.FollowableHints(fs, "helm plan "+doc.Operation, withPlanHint(doc, o.apply(ctx, f, doc)))
}

func (o Options) apply(ctx context.Context, f *cmdutil.Factory, doc *planfile.Document) error {
	if named := f.Settings.Namespace; o.Namespace && named != doc.Release.Namespace {
		return &namespaceError{Path: o.Path, Plan: doc.Release.Namespace, Flag: named}
	}
	f.Settings.Namespace = doc.Release.Namespace
	var flags cmdutil.ApplyFlags
	flags.OfPlan(doc.Options)
	config, err := f.Config(o.ScriptFlags, flags, doc.Options.Timeout)
	if err != nil {
		return err
	}
	req := action.ApplyRequest{Plan: doc, LookupHost: f.LookupHost, Watch: o.Watch()}
	if err := o.readChart(ctx, f, &req); err != nil {
		return err
	}
	verb := action.Apply{Config: config}
	if o.Check {
		err := verb.Check(ctx, req)
		if err != nil && !isStale(err) {
			return err
		}
		if err := report.WritePlanCheck(f.Streams, o.Output, doc, err); err != nil {
			return err
		}
		return err
	}
	if o.Rebase {
		if err := o.rebase(ctx, f, verb, &req); err != nil {
			return err
		}
	}
	applied, err := verb.Run(ctx, req)
	if err != nil {
		return failed(req.Plan, err)
	}
	return o.print(f, req.Plan, applied)
}

// read reads the plan, and opens it with the identity if it is sealed.
func (o Options) read(ctx context.Context, f *cmdutil.Factory) (*planfile.Document, error) {
	doc, signer, err := cmdutil.ReadPlan(ctx, f, o.Path, o.Chart.VerifyFlags)
	if err != nil {
		return nil, err
	}
	if signer != "" {
		if _, err := fmt.Fprintln(f.Err, signer); err != nil {
			return nil, err
		}
	}
	if doc.Sealed == "" {
		return doc, nil
	}
	path := o.Identity
	if path == "" {
		path = f.Getenv("HELM_PLAN_IDENTITY")
	}
	if path == "" {
		return nil, &planfile.SealedError{}
	}
	identity, err := file.ReadInput(ctx, path, maxIdentity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	return doc, doc.Open(identity)
}

// maxIdentity is the size of the largest identity file, in bytes.
const maxIdentity = 1 << 20

// readChart reads the chart and the values of a plan without payload.
func (o Options) readChart(ctx context.Context, f *cmdutil.Factory, req *action.ApplyRequest) error {
	if !req.Plan.Redacted && (o.ChartRef != "" || o.Rendering != "") {
		needless := "chart"
		if o.ChartRef == "" {
			needless = o.Rendering
		}
		return hint.With(fmt.Errorf("%s has the objects to apply: it needs no %s", o.Path, needless),
			"only a plan that helm plan has saved with --redact is rendered again")
	}
	if o.ChartRef == "" {
		return nil
	}
	c, err := f.Chart(ctx, o.ChartRef, &o.Chart)
	if err != nil {
		return err
	}
	if err := o.Patches.Load(ctx, f); err != nil {
		return err
	}
	req.PatchOptions = o.Patches.Options()
	req.Chart, req.ValueOrigins = c, o.Values.Origins(ctx, f)
	req.Values, err = o.Values.Build(ctx, f, c)
	return err
}

// rebase replaces the plan by a new one if it no longer holds, after the user has agreed.
func (o Options) rebase(ctx context.Context, f *cmdutil.Factory, verb action.Apply, req *action.ApplyRequest) error {
	err := verb.Check(ctx, *req)
	if err == nil || !isStale(err) {
		return err
	}
	if !o.Approve && !f.Interactive() {
		return hint.With(err, "--rebase asks, and there is no terminal: --auto-approve agrees beforehand")
	}
	change, failed := verb.Rebase(ctx, *req)
	if failed != nil {
		return failed
	}
	if _, err := fmt.Fprintf(f.Err, "%s\n\nThis is what would change now:\n\n", term.Safe(err.Error())); err != nil {
		return err
	}
	screen := f.Streams
	if o.Output != output.Table { // standard output is the document's
		screen.Out = f.Err
	}
	if err := diff.Write(ctx, screen, diff.Text, diff.Of(change, diff.Options{}), diff.Options{}); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f.Err, "%s: %s\n", term.SafeLine(req.Plan.Release.Name),
		report.PlanSummary(change.Kept)); err != nil {
		return err
	}
	if !o.Approve {
		answer, err := f.Ask(fmt.Sprintf("Apply this plan to %s %s? Only yes is a yes: ", change.Kept.Operation,
			term.SafeLine(req.Plan.Release.Name)))
		if err != nil {
			return err
		}
		if answer != "yes" {
			return &refusedError{Path: o.Path}
		}
	}
	req.Plan = change.Kept
	return nil
}

// withPlanHint returns err with the command that plans what can be done now, if the release has come or
// gone since.
func withPlanHint(doc *planfile.Document, err error) error {
	var inUse *action.NameInUseError
	var missing *action.NoReleaseError
	switch {
	case errors.As(err, &inUse):
		return hint.With(err, fmt.Sprintf("helm plan upgrade %s CHART --save FILE plans an upgrade of the release that "+
			"exists now; of a plan to upgrade --install, --rebase would make one", doc.Release.Name))
	case errors.As(err, &missing), errors.Is(err, storage.ErrNotFound):
		return &goneError{Name: doc.Release.Name, Namespace: doc.Release.Namespace, Operation: doc.Operation}
	}
	return err
}

// A goneError is returned if the release of a plan to rebase does not exist any more. It does not wrap the error
// about that, to which the program adds where else a release of the name is.
type goneError struct{ Name, Namespace, Operation string }

func (e *goneError) Error() string {
	verb := e.Operation
	if verb == planfile.Rollback {
		verb = "roll back"
	}
	return fmt.Sprintf("the release %q in namespace %s is gone: there is nothing to %s", e.Name, e.Namespace, verb)
}

// Hint says how to install it.
func (e *goneError) Hint() string {
	if e.Operation != planfile.Upgrade {
		return ""
	}
	return fmt.Sprintf("helm plan install %s CHART --save FILE plans an install; of a plan to upgrade --install, "+
		"--rebase would make one", e.Name)
}

// failed returns an error of an operation as its command does.
func failed(doc *planfile.Document, err error) error {
	switch {
	case isStale(err):
		return err
	case doc.Operation == planfile.Install:
		return cmdutil.Failed(cmdutil.Installation, err)
	case doc.Operation == planfile.Upgrade:
		return cmdutil.Failed(cmdutil.Upgrading, err)
	}
	return err
}

// print prints what the command of the operation prints.
func (o Options) print(f *cmdutil.Factory, doc *planfile.Document, applied *action.Applied) error {
	name := doc.Release.Name
	table := o.Output == output.Table
	switch doc.Operation {
	case planfile.Uninstall:
		if table {
			if err := report.WriteKept(f.Out, applied.Uninstalled.Kept); err != nil {
				return err
			}
			_, err := fmt.Fprintf(f.Out, "release %q uninstalled\n", name)
			return err
		}
	case planfile.Rollback:
		if table {
			_, err := fmt.Fprintln(f.Out, "Rollback was a success! Happy Helming!")
			return err
		}
	case planfile.Upgrade:
		if table {
			if _, err := fmt.Fprintf(f.Out, "Release %q has been upgraded. Happy Helming!\n", name); err != nil {
				return err
			}
		}
	}
	return report.View{HideNotes: o.HideNotes}.Write(f.Streams, o.Output, applied.Release)
}

// A namespaceError is returned if the user names another namespace than the plan.
type namespaceError struct{ Path, Plan, Flag string }

func (e *namespaceError) Error() string {
	return fmt.Sprintf("%s is for namespace %q, and --namespace is %q", e.Path, e.Plan, e.Flag)
}

// Hint says what to do.
func (e *namespaceError) Hint() string {
	return "leave --namespace out, or make a plan for that namespace"
}

// A refusedError is returned if the user does not agree to a plan.
type refusedError struct{ Path string }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the new plan in place of %s was refused: nothing was written", e.Path)
}
