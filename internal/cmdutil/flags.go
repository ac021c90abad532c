// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
)

// NameFlags say how a new release is called and which chart it is of.
type NameFlags struct {
	Generate bool
	Template string

	// Name and ChartRef are filled by Resolve.
	Name     string
	ChartRef string
}

// Bind registers the flags.
func (n *NameFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVarP(&n.Generate, "generate-name", "g", false, "generate the name (and leave the NAME argument out)")
	fs.StringVar(&n.Template, "name-template", "",
		"template that gives the name, such as 'web-{{randAlphaNum 5 | lower}}'")
}

// Resolve reads [NAME] CHART. Name stays empty where nothing gives it.
func (n *NameFlags) Resolve(args []string, now time.Time) error {
	switch {
	case n.Template != "" && n.Generate:
		return fmt.Errorf("--name-template and --generate-name cannot be used together")
	case len(args) == 2 && n.Generate:
		return fmt.Errorf("cannot set --generate-name and also specify a name")
	case len(args) == 2 && n.Template != "":
		return fmt.Errorf("cannot set --name-template and also specify a name")
	case len(args) == 2:
		n.Name, n.ChartRef = args[0], args[1]
		return nil
	}
	n.ChartRef = args[0]
	switch {
	case n.Template != "":
		name, err := engine.Text("--name-template", n.Template)
		if err != nil {
			return err
		}
		n.Name = name
	case n.Generate:
		n.Name = action.GenerateName(n.ChartRef, now)
	}
	return nil
}

// NameAndChart accepts [NAME] CHART.
func NameAndChart(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return &UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(),
			Problem: "requires at least 1 argument: a chart, which is a directory, an archive, repository/name or a URL"}
	case len(args) > 2:
		return &UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(),
			Problem: fmt.Sprintf("expected at most two arguments, unexpected arguments: %s", strings.Join(args[2:], " "))}
	}
	return nil
}

// Args accepts between atLeast and atMost arguments (atMost < 0: any number, 0: none), and
// says what is missing in the words given.
func Args(atLeast, atMost int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		problem := ""
		switch {
		case len(args) < atLeast:
			problem = fmt.Sprintf("%s: %s", wanted(atLeast, atMost, len(args)), what)
		case atMost == 0 && len(args) > 0:
			problem = fmt.Sprintf("accepts no arguments, %q is too much", args)
		case atMost > 0 && len(args) > atMost:
			problem = fmt.Sprintf("%s: %s; %q is too much", wanted(atLeast, atMost, len(args)), what, args[atMost:])
		default:
			return nil
		}
		return &UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(), Problem: problem}
	}
}

// wanted says in Helm's words how many arguments a command takes.
func wanted(atLeast, atMost, got int) string {
	count, verb := atLeast, "requires at least"
	switch {
	case atLeast == atMost:
		verb = "requires"
	case got > atLeast:
		count, verb = atMost, "accepts at most"
	}
	if count == 1 {
		return verb + " 1 argument"
	}
	return fmt.Sprintf("%s %d arguments", verb, count)
}

// Group accepts no argument: an argument of a group of commands is the name of a
// command that it does not have.
func Group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var has []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			has = append(has, c.Name())
		}
	}
	problem := fmt.Sprintf("has no command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		problem += fmt.Sprintf(", did you mean %q?", near[0])
	}
	return &UsageError{
		Command: cmd.CommandPath(), Usage: fmt.Sprintf("%s %s", cmd.CommandPath(), strings.Join(has, "|")), Problem: problem,
	}
}

// A UsageError is returned when a command was called with the wrong arguments.
type UsageError struct {
	Command string // "helm status"
	Usage   string // "helm status NAME [flags]"
	Problem string
}

func (e *UsageError) Error() string { return fmt.Sprintf("%q %s", e.Command, e.Problem) }

// Hint shows how the command is called.
func (e *UsageError) Hint() string {
	return fmt.Sprintf("usage: %s\n%s --help tells more", e.Usage, e.Command)
}

// DryRun says whether an operation is only simulated, and where.
type DryRun string

// The ways to simulate.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// String implements pflag.Value.
func (d *DryRun) String() string { return string(*d) }

// Set implements pflag.Value. Booleans are what Helm 3 took.
func (d *DryRun) Set(s string) error {
	switch s {
	case "none", "false":
		*d = DryRunNone
	case "client", "true", "unset":
		*d = DryRunClient
	case "server":
		*d = DryRunServer
	default:
		return fmt.Errorf("invalid dry-run value, must be none, client or server")
	}
	return nil
}

// Type implements pflag.Value.
func (d *DryRun) Type() string { return "string" }

// BindDryRun registers --dry-run, which may stand without a value; d's value
// is the default.
func BindDryRun(fs *pflag.FlagSet, d *DryRun) {
	fs.Var(d, "dry-run", "simulate: server lets the API server check, client asks it no more than what the release "+
		"is, none does it for real")
	fs.Lookup("dry-run").NoOptDefVal = string(DryRunClient)
}

// WaitFlags say whether and how to wait.
type WaitFlags struct {
	Strategy string
	Jobs     bool
	Timeout  time.Duration
}

// Wait reports whether objects are awaited, not only hooks.
func (w *WaitFlags) Wait() bool { return w.Strategy == "watcher" || w.Strategy == "legacy" }

// WaitOptions returns what the flags say, for package action.
func (w *WaitFlags) WaitOptions() action.WaitOptions {
	return action.WaitOptions{Wait: w.Wait(), Jobs: w.Jobs, Legacy: w.Strategy == "legacy", Timeout: w.Timeout}
}

type waitStrategy struct{ to *string }

func (s waitStrategy) String() string { return *s.to }
func (s waitStrategy) Type() string   { return "strategy" }
func (s waitStrategy) Set(v string) error {
	switch v {
	case "watcher", "legacy", "hookOnly":
		*s.to = v
	case "true", "ordered": // an order is kept wherever a chart asks for one
		*s.to = "watcher"
	case "false":
		*s.to = "hookOnly"
	default:
		return fmt.Errorf("must be watcher, legacy or hookOnly")
	}
	return nil
}

// Bind registers --wait and --timeout, and --wait-for-jobs where jobs says so.
func (w *WaitFlags) Bind(fs *pflag.FlagSet, jobs bool) {
	w.Strategy = "hookOnly"
	fs.Var(waitStrategy{&w.Strategy}, "wait", "wait until the objects are ready (or gone): watcher, legacy, or hookOnly")
	fs.Lookup("wait").NoOptDefVal = "watcher"
	fs.DurationVar(&w.Timeout, "timeout", 5*time.Minute, "how long each step may take: a hook, the wait for objects")
	if jobs {
		fs.BoolVar(&w.Jobs, "wait-for-jobs", false, "with --wait, wait until jobs are complete too")
	}
}

// LookupHost answers templates' getHostByName from the system's resolver.
func (f *Factory) LookupHost(host string) string {
	addrs, err := net.LookupHost(host)
	if err != nil || len(addrs) == 0 {
		return ""
	}
	return addrs[0]
}

// serverSide is the value of --server-side.
type serverSide string

func (s *serverSide) String() string { return string(*s) }
func (s *serverSide) Type() string   { return "bool" }
func (s *serverSide) Set(v string) error {
	if _, err := strconv.ParseBool(v); err != nil && v != "auto" {
		return fmt.Errorf("must be true, false or auto")
	}
	*s = serverSide(v)
	return nil
}

// conflictPolicy is the value of --conflicts, "" where it is not given.
type conflictPolicy plan.Resolution

func (p *conflictPolicy) String() string { return string(*p) }
func (p *conflictPolicy) Type() string   { return "policy" }
func (p *conflictPolicy) Set(v string) error {
	if !slices.Contains(plan.Resolutions(), plan.Resolution(v)) {
		return fmt.Errorf("must be fail, yield or take")
	}
	*p = conflictPolicy(v)
	return nil
}

// ApplyFlags say how objects are written.
type ApplyFlags struct {
	serverSide     serverSide
	forceReplace   bool
	forceConflicts bool
	conflicts      conflictPolicy
	noValidation   bool
	takeOwnership  bool
}

// Bind registers the flags.
func (a *ApplyFlags) Bind(fs *pflag.FlagSet) {
	a.serverSide = "auto"
	fs.Var(&a.serverSide, "server-side", "let the API server merge (server-side apply): true, false, or auto, which "+
		"does as the release's last revision did")
	fs.Lookup("server-side").NoOptDefVal = "true"
	fs.Var(&a.conflicts, "conflicts", "with server-side apply, what becomes of fields that other managers have set "+
		"otherwise: fail, yield (they stay), or take (they are taken over)")
	fs.BoolVar(&a.forceConflicts, "force-conflicts", false, "Helm's name for --conflicts=take")
	fs.BoolVar(&a.forceReplace, "force-replace", false,
		"replace objects instead of merging: what others have set goes, and what cannot be replaced is "+
			"deleted and created again")
	fs.BoolVar(&a.forceReplace, "force", false, "Helm 3's name for --force-replace")
	_ = fs.MarkHidden("force") // the flag exists: it was registered one line above
	fs.BoolVar(&a.noValidation, "disable-openapi-validation", false,
		"do not hold objects against the API server's schemas before anything is written, and warn of fields that it does "+
			"not know instead of refusing them")
}

// BindOwnership registers --take-ownership.
func (a *ApplyFlags) BindOwnership(fs *pflag.FlagSet) {
	fs.BoolVar(&a.takeOwnership, "take-ownership", false, "take over objects that exist, whatever manages them")
}

// SkipValidation has objects not be validated, as --disable-openapi-validation does.
func (a *ApplyFlags) SkipValidation() { a.noValidation = true }

// ApplyOptions returns what the flags say, for package action.
func (a *ApplyFlags) ApplyOptions() action.ApplyOptions {
	w := action.ApplyOptions{Conflicts: plan.Resolution(a.conflicts), ForceReplace: a.forceReplace,
		TakeOwnership: a.takeOwnership}
	if a.forceConflicts {
		w.Conflicts = plan.Take
	}
	if on, err := strconv.ParseBool(string(a.serverSide)); err == nil {
		w.ServerSide = &on
	}
	return w
}

// ClusterOptions returns how the flags want objects validated: without validation, fields
// that the server does not know are warnings. Helm does the same where server-side apply is
// switched off by name.
func (a *ApplyFlags) ClusterOptions() apply.Options {
	o := apply.Options{NoSchemaValidation: a.noValidation}
	if a.noValidation || a.serverSide == "false" {
		o.FieldValidation = apply.FieldValidationWarn
	}
	return o
}

// Check tells which flags do not go together.
func (a *ApplyFlags) Check() error {
	if a.forceReplace && a.forceConflicts {
		return fmt.Errorf("--force-replace and --force-conflicts cannot be used together")
	}
	if a.forceConflicts && a.conflicts != "" && plan.Resolution(a.conflicts) != plan.Take {
		return fmt.Errorf("--force-conflicts and --conflicts=%s cannot be used together", a.conflicts)
	}
	return a.ApplyOptions().Validate()
}

// IgnoredInstallFlags are flags of install that have no meaning where nothing
// is installed; scripts pass one set of flags to both.
type IgnoredInstallFlags struct {
	bools [7]bool
	text  string
	apply ApplyFlags
	wait  WaitFlags
	label map[string]string
}

// Bind registers the flags, hidden from help.
func (i *IgnoredInstallFlags) Bind(fs *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	for n, name := range []string{"create-namespace", "replace", "skip-crds", "take-ownership", "atomic",
		"rollback-on-failure", "hide-notes"} {
		own.BoolVar(&i.bools[n], name, false, "accepted and without effect here")
	}
	own.StringVar(&i.text, "description", "", "accepted and without effect here")
	StringToStringVarP(own, &i.label, "labels", "l", "accepted and without effect here")
	i.apply.Bind(own)
	i.wait.Bind(own, true)
	own.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	fs.AddFlagSet(own)
}
