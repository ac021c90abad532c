// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report/diff"
)

// show are the flags that all members have: what is compared, and how it is shown.
type show struct {
	format   diff.Format
	document output.Format
	options  diff.Options
	context  int
	lines    []string
	secrets  bool // --suppress-secrets
	renames  float32
	exitCode bool
	color    string // "" where neither a flag nor a variable says
}

const defaultContext = 3

func (s *show) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(&s.format, "output",
		"how the text is written, as helm-diff has it: diff, simple, json, template (by the file that "+
			"HELM_DIFF_TPL names), dyff or structured; HELM_DIFF_OUTPUT is the default")
	s.document = output.Table
	fs.VarP(&s.document, "document", "o",
		"print instead one document with all that is known of each object: json or yaml; -o json is another "+
			"thing than --output json")
	fs.IntVarP(&s.context, "context", "C", defaultContext,
		"lines of context around each change, -1 for whole objects; HELM_DIFF_OUTPUT_CONTEXT is the default")
	fs.BoolVar(&s.options.ShowUnchanged, "show-unchanged", false, "name the objects too that stay as they are")
	fs.BoolVar(&s.options.ShowSecrets, "show-secrets", false, "print the contents of Secrets")
	fs.BoolVar(&s.options.DecodeSecrets, "show-secrets-decoded", false, "print the contents of Secrets decoded")
	cmdutil.StringArrayVarP(fs, &s.options.SuppressKinds, "suppress", "",
		"do not print what changes in objects of this kind (may be repeated)")
	fs.BoolVarP(&s.secrets, "suppress-secrets", "q", false,
		"do not print what changes in Secrets: the same as --suppress Secret")
	cmdutil.StringArrayVarP(fs, &s.lines, "suppress-output-line-regex", "",
		"do not print lines that match this regular expression; they count as changes all the same (may be repeated)")
	fs.BoolVar(&s.options.Normalize, "normalize-manifests", false,
		"compare what manifests say, not how they are written; live objects always are; "+
			"HELM_DIFF_NORMALIZE_MANIFESTS is the default")
	fs.BoolVar(&s.options.StripCR, "strip-trailing-cr", false, "compare lines without carriage returns at their ends")
	fs.Float32VarP(&s.renames, "find-renames", "D", 0,
		"take an object that goes and one of its kind that comes for one, where at most this part of their "+
			"lines differs: 0.2; 0 is never")
	fs.BoolVar(&s.options.IncludeTests, "include-tests", false, "compare test hooks too")
	fs.BoolVar(&s.exitCode, "detailed-exitcode", false, "end with exit code 2 where there are changes")
	fs.BoolVar(&s.exitCode, "exit-code", false, "the same as --detailed-exitcode")
	// These fail only for flags that are not there.
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	var formats []string
	for _, f := range diff.Formats() {
		formats = append(formats, string(f))
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, noFiles))
	_ = cmd.RegisterFlagCompletionFunc("document", cobra.FixedCompletions([]string{"json", "yaml"}, noFiles))
}

// bindNoHooks binds --no-hooks where nothing else does.
func (s *show) bindNoHooks(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.options.NoHooks, "no-hooks", false, "do not compare hooks")
}

// prepare makes what follows from flags and variables.
func (s *show) prepare(ctx context.Context, f *cmdutil.Factory, fs *pflag.FlagSet) error {
	v := variables{f, fs}
	if fs.Changed("output") && fs.Changed("document") {
		return errors.New("--output and -o cannot be used together: --output is a format of helm-diff, -o a document")
	}
	if text := v.of("output", "HELM_DIFF_OUTPUT"); text != "" {
		if err := s.format.Set(text); err != nil {
			return fmt.Errorf("HELM_DIFF_OUTPUT is %q: %w", text, err)
		}
	}
	if text := v.of("context", "HELM_DIFF_OUTPUT_CONTEXT"); text != "" {
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

// maxTemplate is the largest template that is read, in bytes.
const maxTemplate = 1 << 20

func (s *show) readTemplate(ctx context.Context, f *cmdutil.Factory) error {
	path := f.Getenv("HELM_DIFF_TPL")
	if s.format != diff.Template || path == "" {
		return nil
	}
	text, err := file.ReadInput(ctx, path, maxTemplate)
	if err != nil {
		return fmt.Errorf("read the template that HELM_DIFF_TPL names: %w", err)
	}
	s.options.Template = string(text)
	return nil
}

func (s *show) chooseColor(v variables) error {
	if v.fs.Changed("no-color") {
		return nil
	}
	on := false
	if v.of("color", "HELM_DIFF_COLOR") == "" {
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

// write prints a change, and reports it by the exit code where that was asked for. title
// is what the sum at its end is called, "" for the usual.
func (s *show) write(ctx context.Context, f *cmdutil.Factory, change *action.Change, title string) error {
	d := diff.Of(change, s.options)
	if title != "" {
		d.Title = title
	}
	streams := f.Streams
	if s.color != "" {
		streams.Color = s.color
	}
	var err error
	if s.document != output.Table {
		err = diff.WriteDocument(streams, s.document, d, s.options)
	} else {
		err = diff.Write(ctx, streams, s.format, d, s.options)
	}
	if err != nil {
		return err
	}
	if s.exitCode && d.Changes() {
		return &cmdutil.ExitError{Code: 2}
	}
	return nil
}

// variables are the variables that stand for flags that are not given.
type variables struct {
	e  *cmdutil.Factory
	fs *pflag.FlagSet
}

// of is the value of a variable, "" where the flag is given.
func (v variables) of(flag, name string) string {
	if v.fs.Changed(flag) {
		return ""
	}
	return v.e.Getenv(name)
}

// toggle sets a switch to what the variable says, unless the flag is given.
func (v variables) toggle(to *bool, flag, name string) error {
	text := v.of(flag, name)
	if text == "" {
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%s is %q, must be true or false", name, text)
	}
	*to = on
	return nil
}
