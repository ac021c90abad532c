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
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/plan"
)

// NameFlags are the flags that name a new release.
type NameFlags struct {
	Generate bool
	Template string

	// Name and ChartRef are set by Resolve.
	Name     string
	ChartRef string
}

// Bind registers the flags.
func (n *NameFlags) Bind(fs *pflag.FlagSet) {
	fs.BoolVarP(&n.Generate, "generate-name", "g", false, "generate the name (omit the NAME argument)")
	fs.StringVar(&n.Template, "name-template", "",
		"template of the name, such as 'web-{{randAlphaNum 5 | lower}}'")
}

// Resolve parses [NAME] CHART. It leaves Name empty if no argument or flag sets it.
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
		var name strings.Builder
		if err := (engine.Text{Name: "--name-template", Text: n.Template}).Execute(&name); err != nil {
			return fmt.Errorf("--name-template %q: %w", n.Template, err)
		}
		n.Name = name.String()
	case n.Generate:
		n.Name = action.GenerateName(n.ChartRef, now)
	}
	return nil
}

// NameAndChart validates the arguments [NAME] CHART.
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

// Args validates that there are between atLeast and atMost arguments (any number if atMost is
// negative, none if it is 0). what describes them for the error message.
func Args(atLeast, atMost int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		problem := ""
		switch {
		case len(args) < atLeast:
			problem = fmt.Sprintf("%s: %s", wantedArgs(atLeast, atMost, len(args)), what)
		case atMost == 0 && len(args) > 0:
			problem = fmt.Sprintf("accepts no arguments, unexpected arguments: %q", args)
		case atMost > 0 && len(args) > atMost:
			problem = fmt.Sprintf("%s: %s; unexpected arguments: %q", wantedArgs(atLeast, atMost, len(args)), what,
				args[atMost:])
		default:
			return nil
		}
		return &UsageError{Command: cmd.CommandPath(), Usage: cmd.UseLine(), Problem: problem}
	}
}

// wantedArgs returns the number of arguments that a command accepts, in Helm's words.
func wantedArgs(atLeast, atMost, got int) string {
	count, verb := atLeast, "requires at least"
	switch {
	case atLeast == atMost:
		verb = "requires"
	case got > atLeast:
		count, verb = atMost, "accepts at most"
	}
	return verb + " " + plural.Count(count, "argument")
}

// Group validates the arguments of a command that only groups others: it accepts none, and an
// argument is reported as an unknown subcommand.
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
	if near := SimilarCommands(cmd, args[0]); len(near) > 0 {
		problem += fmt.Sprintf(", did you mean %q?", near[0])
	}
	return &UsageError{
		Command: cmd.CommandPath(), Usage: fmt.Sprintf("%s %s", cmd.CommandPath(), strings.Join(has, "|")), Problem: problem,
	}
}

// SimilarCommands returns the commands below cmd, or their aliases, that word may be a misspelling of.
func SimilarCommands(cmd *cobra.Command, word string) []string {
	var names, aliases []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names, aliases = append(names, c.Name()), append(aliases, c.Aliases...)
		}
	}
	return suggest.Nearest(append(names, aliases...), word)
}

// A UsageError is returned when a command was called with the wrong arguments.
type UsageError struct {
	Command string // "helm status"
	Usage   string // "helm status NAME [flags]"
	Problem string
}

func (e *UsageError) Error() string { return fmt.Sprintf("%q %s", e.Command, e.Problem) }

// Hint returns the command's usage.
func (e *UsageError) Hint() string {
	return fmt.Sprintf("usage: %s\n%s --help shows the flags and examples", e.Usage, e.Command)
}

// DryRun says whether and how an operation is simulated.
type DryRun string

// The values of --dry-run.
const (
	DryRunNone   DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// String implements pflag.Value.
func (d *DryRun) String() string { return string(*d) }

// Set implements pflag.Value. It accepts Helm 3's booleans too.
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

// BindDryRun registers --dry-run with d's value as its default. Without a value the flag means
// client.
func BindDryRun(fs *pflag.FlagSet, d *DryRun) {
	fs.Var(d, "dry-run", "simulate the operation: server validates with the API server, client only reads the release "+
		"from it, none does not simulate")
	fs.Lookup("dry-run").NoOptDefVal = string(DryRunClient)
}

// WaitFlags are the flags for waiting.
type WaitFlags struct {
	Strategy string
	Jobs     bool
	Timeout  time.Duration
	// Readiness is the timeout of a batch of objects that others wait for; 0 is the default.
	Readiness time.Duration
	// Timeouts are those of --timeout NAME=TIME.
	Timeouts map[string]time.Duration
	GiveUp   GiveUpFlag
	WatchFlags
}

// orderedReadiness is the default of --readiness-timeout with --wait=ordered, as in Helm's proposal 25.
const orderedReadiness = time.Minute

// Wait reports whether to wait for objects, not only for hooks.
func (w *WaitFlags) Wait() bool {
	return w.Strategy == "watcher" || w.Strategy == "legacy" || w.Strategy == "ordered"
}

// Check returns an error if a batch may take longer than the whole.
func (w *WaitFlags) Check() error {
	if w.Readiness < 0 || w.Timeout > 0 && w.Readiness > w.Timeout {
		return hint.With(fmt.Errorf("--readiness-timeout is %s, must be between 0 and --timeout, %s", w.Readiness, w.Timeout),
			"--timeout is for each step: a hook, or all objects; --readiness-timeout is for the objects that others wait for")
	}
	return w.WatchFlags.Check()
}

// readiness returns the timeout of a batch, or 0 for that of all objects.
func (w *WaitFlags) readiness() time.Duration {
	if w.Readiness == 0 && w.Strategy == "ordered" {
		return min(orderedReadiness, w.Timeout)
	}
	return w.Readiness
}

// WaitOptions returns the flags as options of package action.
func (w *WaitFlags) WaitOptions() action.WaitOptions {
	return action.WaitOptions{Wait: w.Wait(), Jobs: w.Jobs, Legacy: w.Strategy == "legacy", Timeout: w.Timeout,
		ReadinessTimeout: w.readiness(), GiveUpAfter: w.GiveUp.After, Timeouts: w.Timeouts, Watch: w.Watch()}
}

type waitStrategy struct{ to *string }

func (s waitStrategy) String() string { return *s.to }
func (s waitStrategy) Type() string   { return "strategy" }
func (s waitStrategy) Set(v string) error {
	switch v {
	case "watcher", "legacy", "hookOnly", "ordered": // the chart's order is followed in any case
		*s.to = v
	case "true":
		*s.to = "watcher"
	case "false":
		*s.to = "hookOnly"
	default:
		return fmt.Errorf("must be watcher, ordered, legacy or hookOnly")
	}
	return nil
}

// GiveUpFlag is the flag that says how long failing pods may take to recover.
type GiveUpFlag struct {
	// After is 0 for the defaults, and negative for ever, as in [action.WaitOptions].
	After time.Duration
}

// Bind registers --give-up-after.
func (g *GiveUpFlag) Bind(fs *pflag.FlagSet) {
	fs.Var(giveUpAfter{&g.After}, "give-up-after", "how long failing pods may take to recover before a wait "+
		"fails, or never (default 20s if a pod or container cannot start, 30s if one keeps crashing)")
}

type giveUpAfter struct{ to *time.Duration }

func (g giveUpAfter) Type() string { return "time" }

func (g giveUpAfter) String() string {
	switch {
	case g.to == nil || *g.to == 0:
		return ""
	case *g.to < 0:
		return "never"
	}
	return g.to.String()
}

func (g giveUpAfter) Set(v string) error {
	if v == "never" {
		*g.to = -1
		return nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return fmt.Errorf("must be a duration such as 90s or 5m, or never")
	}
	*g.to = d
	return nil
}

// Bind registers --wait, --timeout and --give-up-after, and --wait-for-jobs if jobs is true.
func (w *WaitFlags) Bind(fs *pflag.FlagSet, jobs bool) {
	w.Strategy = "hookOnly"
	fs.Var(waitStrategy{&w.Strategy}, "wait",
		"wait until the objects are ready (or deleted): watcher, ordered, legacy, or hookOnly")
	fs.Lookup("wait").NoOptDefVal = "watcher"
	BindTimeout(fs, &w.Timeout, &w.Timeouts, "time to wait for each step: a hook, or all objects")
	w.GiveUp.Bind(fs)
	w.WatchFlags.Bind(fs)
	if jobs {
		fs.DurationVar(&w.Readiness, "readiness-timeout", 0, "time to wait for the objects that others depend on, "+
			"before the others are applied (default --timeout, and 1m with --wait=ordered)")
		fs.BoolVar(&w.Jobs, "wait-for-jobs", false, "with --wait, wait until Jobs are complete too")
	}
}

// LookupHost resolves host for the template function getHostByName.
func (f *Factory) LookupHost(host string) string {
	addrs, err := net.LookupHost(host)
	if err != nil || len(addrs) == 0 {
		return ""
	}
	return addrs[0]
}

// serverSide implements pflag.Value for --server-side.
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

// conflictPolicy implements pflag.Value for --conflicts. It is "" if the flag is not given.
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

// ApplyFlags are the flags for writing objects.
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
	fs.Var(&a.serverSide, "server-side", "use server-side apply: true, false, or auto, which "+
		"follows the release's last revision")
	fs.Lookup("server-side").NoOptDefVal = "true"
	fs.Var(&a.conflicts, "conflicts", "with server-side apply, policy for fields that other field managers "+
		"own: fail, yield (keep their values), or take (overwrite)")
	fs.BoolVar(&a.forceConflicts, "force-conflicts", false, "Helm's name for --conflicts=take")
	fs.BoolVar(&a.forceReplace, "force-replace", false,
		"replace objects instead of merging, which drops fields set by other clients; objects that cannot "+
			"be replaced are deleted and created again")
	fs.BoolVar(&a.forceReplace, "force", false, "Helm 3's name for --force-replace")
	_ = fs.MarkHidden("force") // the flag exists: it is registered above
	fs.BoolVar(&a.noValidation, "disable-openapi-validation", false,
		"do not validate objects against the API server's schemas beforehand, and warn of unknown fields "+
			"instead of rejecting them")
}

// BindOwnership registers --take-ownership.
func (a *ApplyFlags) BindOwnership(fs *pflag.FlagSet) {
	fs.BoolVar(&a.takeOwnership, "take-ownership", false,
		"adopt existing objects, even if another release or tool manages them")
}

// SkipValidation disables the validation of objects, as --disable-openapi-validation does.
func (a *ApplyFlags) SkipValidation() { a.noValidation = true }

// ApplyOptions returns the flags as options of package action.
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

// ClusterOptions returns the options for validating objects. Unknown fields are warnings if
// validation is disabled or, as in Helm, --server-side=false is given.
func (a *ApplyFlags) ClusterOptions() apply.Options {
	o := apply.Options{NoSchemaValidation: a.noValidation}
	if a.noValidation || a.serverSide == "false" {
		o.FieldValidation = apply.FieldValidationWarn
	}
	return o
}

// Check returns an error if flags exclude each other.
func (a *ApplyFlags) Check() error {
	if a.forceReplace && a.forceConflicts {
		return fmt.Errorf("--force-replace and --force-conflicts cannot be used together")
	}
	if a.forceConflicts && a.conflicts != "" && plan.Resolution(a.conflicts) != plan.Take {
		return fmt.Errorf("--force-conflicts and --conflicts=%s cannot be used together", a.conflicts)
	}
	return a.ApplyOptions().Validate()
}

// IgnoredInstallFlags are flags of install that have no effect in commands that install nothing.
// Scripts pass the same flags to both.
type IgnoredInstallFlags struct {
	bools [7]bool
	text  string
	apply ApplyFlags
	wait  WaitFlags
	label map[string]string
}

// Ordered reports whether --wait=ordered is given.
func (i *IgnoredInstallFlags) Ordered() bool { return i.wait.Strategy == "ordered" }

// Bind registers the flags, hidden from help.
func (i *IgnoredInstallFlags) Bind(fs *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	for n, name := range []string{"create-namespace", "replace", "skip-crds", "take-ownership", "atomic",
		"rollback-on-failure", "hide-notes"} {
		own.BoolVar(&i.bools[n], name, false, "accepted but ignored")
	}
	own.StringVar(&i.text, "description", "", "accepted but ignored")
	StringToStringVarP(own, &i.label, "labels", "l", "accepted but ignored")
	i.apply.Bind(own)
	i.wait.Bind(own, true)
	own.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	fs.AddFlagSet(own)
}
