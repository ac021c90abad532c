// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/pager"
	"github.com/moonhelm/moonhelm/internal/report/diff"
	"github.com/moonhelm/moonhelm/internal/term"
)

// show are the flags that all subcommands share: what to compare, and how to print it.
type show struct {
	format   diff.Format
	document output.Format
	options  diff.Options
	context  int
	lines    []string
	secrets  bool // --suppress-secrets
	renames  float32
	exitCode bool
	stat     bool
	noPager  bool
	color    string // "" if neither the flag nor the variable is set
}

const defaultContext = 3

func (s *show) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(&s.format, "output",
		"format of the output, as in helm-diff: diff, simple, json, template (the file in "+
			"HELM_DIFF_TPL), dyff or structured; the default is HELM_DIFF_OUTPUT")
	s.document = output.Table
	fs.VarP(&s.document, "document", "o",
		"print a document with all details of each object instead: json or yaml; -o json differs "+
			"from --output json")
	fs.IntVarP(&s.context, "context", "C", defaultContext,
		"lines of context around each change, -1 for whole objects; the default is HELM_DIFF_OUTPUT_CONTEXT")
	fs.BoolVar(&s.options.ShowUnchanged, "show-unchanged", false, "list unchanged objects too")
	fs.BoolVar(&s.options.ShowSecrets, "show-secrets", false, "print the contents of Secrets")
	fs.BoolVar(&s.options.DecodeSecrets, "show-secrets-decoded", false, "print the contents of Secrets decoded")
	cmdutil.StringArrayVarP(fs, &s.options.SuppressKinds, "suppress", "",
		"do not print changes in objects of this kind (may be repeated)")
	fs.BoolVarP(&s.secrets, "suppress-secrets", "q", false,
		"do not print changes in Secrets: same as --suppress Secret")
	cmdutil.StringArrayVarP(fs, &s.lines, "suppress-output-line-regex", "",
		"do not print lines that match this regular expression; they still count as changes (may be repeated)")
	fs.BoolVar(&s.options.Normalize, "normalize-manifests", false,
		"compare manifests by content, not by format, as live objects always are; "+
			"the default is HELM_DIFF_NORMALIZE_MANIFESTS")
	fs.BoolVar(&s.options.StripCR, "strip-trailing-cr", false, "strip trailing carriage returns before comparing")
	fs.Float32VarP(&s.renames, "find-renames", "D", 0,
		"treat a deleted and a created object of the same kind as renamed if at most this fraction of their "+
			"lines differs, such as 0.2; 0 disables it")
	fs.BoolVar(&s.options.IncludeTests, "include-tests", false, "compare test hooks too")
	fs.BoolVar(&s.exitCode, "detailed-exitcode", false, "exit with code 2 if there are changes")
	fs.BoolVar(&s.exitCode, "exit-code", false, "same as --detailed-exitcode")
	fs.BoolVar(&s.stat, "stat", false,
		"print a line for each object, and what the change does: which pods restart, and what is lost or fails")
	fs.BoolVar(&s.noPager, "no-pager", false,
		"do not show long output on a terminal in a pager; the default pager is HELM_PAGER, PAGER or less")
	// The only error is that the flag does not exist.
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	var formats []string
	for _, f := range diff.Formats() {
		formats = append(formats, string(f))
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, noFiles))
	_ = cmd.RegisterFlagCompletionFunc("document", cobra.FixedCompletions([]string{"json", "yaml"}, noFiles))
}

// bindNoHooks registers --no-hooks for commands without DeployFlags or RollbackFlags.
func (s *show) bindNoHooks(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.options.NoHooks, "no-hooks", false, "do not compare hooks")
}

// prepare validates the flags, and applies variables.
func (s *show) prepare(ctx context.Context, f *cmdutil.Factory, fs *pflag.FlagSet) error {
	v := variables{f, fs}
	if fs.Changed("output") && fs.Changed("document") {
		return errors.New("--output and -o cannot be used together: --output is helm-diff's format, -o a document")
	}
	if fs.Changed("output") && s.stat {
		return errors.New("--stat and --output cannot be used together: --output is helm-diff's format; " +
			"-o json and -o yaml are those of --stat")
	}
	if text := v.value("output", "HELM_DIFF_OUTPUT"); text != "" {
		if err := s.format.Set(text); err != nil {
			return fmt.Errorf("HELM_DIFF_OUTPUT is %q: %w", text, err)
		}
	}
	if text := v.value("context", "HELM_DIFF_OUTPUT_CONTEXT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("HELM_DIFF_OUTPUT_CONTEXT is %q, must be a number of lines", text)
		}
		s.context = n
	}
	if err := v.toggle(&s.options.Normalize, "normalize-manifests", "HELM_DIFF_NORMALIZE_MANIFESTS"); err != nil {
		return err
	}
	switch {
	case s.context < 0:
		s.options.Context = diff.Whole
	case s.context == 0:
		s.options.Context = diff.NoContext
	default:
		s.options.Context = s.context
	}
	if s.secrets {
		s.options.SuppressKinds = append(s.options.SuppressKinds, "Secret")
	}
	s.options.Renames = float64(s.renames)
	for _, text := range s.lines {
		re, err := regexp.Compile(text)
		if err != nil {
			return fmt.Errorf("--suppress-output-line-regex: %w", err)
		}
		s.options.SuppressLines = append(s.options.SuppressLines, re)
	}
	if err := s.readTemplate(ctx, f); err != nil {
		return err
	}
	return s.chooseColor(v)
}

// maxTemplate is the size of the largest template, in bytes.
const maxTemplate = 1 << 20

func (s *show) readTemplate(ctx context.Context, f *cmdutil.Factory) error {
	path := f.Getenv("HELM_DIFF_TPL")
	if s.format != diff.Template || path == "" {
		return nil
	}
	text, err := file.ReadInput(ctx, path, maxTemplate)
	if err != nil {
		return fmt.Errorf("read the template in HELM_DIFF_TPL: %w", err)
	}
	s.options.Template = string(text)
	return nil
}

func (s *show) chooseColor(v variables) error {
	if v.fs.Changed("no-color") {
		return nil
	}
	on := false
	if v.value("color", "HELM_DIFF_COLOR") == "" {
		return nil
	}
	if err := v.toggle(&on, "color", "HELM_DIFF_COLOR"); err != nil {
		return err
	}
	s.color = "never"
	if on {
		s.color = "always"
	}
	return nil
}

// write prints a change, and with --detailed-exitcode returns an exit code for changes. title
// replaces the usual title of the summary, unless it is "".
func (s *show) write(ctx context.Context, f *cmdutil.Factory, change *action.Change, title string) error {
	d := diff.Of(change, s.options)
	if title != "" {
		d.Title = title
	}
	streams := f.Streams
	if s.color != "" {
		streams.Color = s.color
	}
	if err := s.print(ctx, streams, d); err != nil {
		return err
	}
	if s.exitCode && d.Changes() {
		return &cmdutil.ExitError{Code: 2}
	}
	return nil
}

// print prints d, text for people on a terminal in a pager.
func (s *show) print(ctx context.Context, streams term.Streams, d diff.Diff) error {
	switch p := (pager.Pager{Streams: streams, Off: s.noPager}); {
	case s.document != output.Table && s.stat:
		return diff.WriteStatDocument(streams, s.document, d, s.options)
	case s.document != output.Table:
		return diff.WriteDocument(streams, s.document, d, s.options)
	case !p.Usable() || !s.isForPeople():
		return s.printText(ctx, streams, d, s.options)
	default:
		var b strings.Builder
		o := s.options
		o.Columns = term.Width(streams.Out)
		streams.Color = "never"
		if p.Colored(p.Out) {
			streams.Color = "always"
		}
		streams.Out = &b
		if err := s.printText(ctx, streams, d, o); err != nil {
			return err
		}
		return p.Write(b.String())
	}
}

// isForPeople reports whether the format is read by people only.
func (s *show) isForPeople() bool {
	return s.stat || slices.Contains([]diff.Format{"", diff.Text, diff.Simple, diff.Dyff}, s.format)
}

func (s *show) printText(ctx context.Context, streams term.Streams, d diff.Diff, o diff.Options) error {
	if s.stat {
		return diff.WriteStat(streams, d, o)
	}
	return diff.Write(ctx, streams, s.format, d, o)
}

// variables reads environment variables that are defaults of flags.
type variables struct {
	factory *cmdutil.Factory
	fs      *pflag.FlagSet
}

// value returns the variable's value, or "" if the flag is set.
func (v variables) value(flag, name string) string {
	if v.fs.Changed(flag) {
		return ""
	}
	return v.factory.Getenv(name)
}

// toggle sets *to to the variable's value, unless the flag is set.
func (v variables) toggle(to *bool, flag, name string) error {
	if v.value(flag, name) == "" {
		return nil
	}
	on, err := v.factory.BoolEnv(name)
	if err == nil {
		*to = on
	}
	return err
}
