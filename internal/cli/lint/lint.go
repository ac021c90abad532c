// SPDX-License-Identifier: Apache-2.0

// Package lint provides the command that checks charts.
package lint

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/policyfiles"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/internal/ui"
)

// Options are the flags of `helm lint`.
type Options struct {
	cmdutil.ValueFlags
	cmdutil.ScriptFlags
	cmdutil.PatchFlags

	Paths         []string
	Strict        bool
	WithSubcharts bool
	Quiet         bool
	KubeVersion   string
	SkipSchema    bool
	NoValidation  bool
	Policies      []string
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check charts for mistakes",
		Long: `Check charts, directories or archives: their metadata, values, templates,
dependencies and CRDs, and the objects that they render. Nothing is installed.

An [ERROR] prevents an install; a [WARNING] violates a convention,
and fails with --strict; an [INFO] is a recommendation.

With --kube-version the objects must also match the schemas of the kinds
that this version of Kubernetes serves, and those of the CRDs in the chart:
unknown fields, wrong types, missing fields and removed APIs are errors.
No cluster is asked.

ValidatingAdmissionPolicies in a chart's policies/, and in --policy, are
evaluated for each object if the plugin policy is installed: Deny is an
error, Warn a warning, Audit a recommendation.`,
		Example: `  helm lint ./mychart
  helm lint ./mychart --strict --with-subcharts -f production.yaml
  helm lint ./mychart --kube-version 1.35`,
		Args: cmdutil.Args(1, -1, "a chart: the path of a directory or an archive"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Paths = args
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ValueFlags.Bind(fs)
	o.BindStrict(fs)
	o.ScriptFlags.Bind(fs)
	o.PatchFlags.Bind(fs)
	fs.BoolVar(&o.Strict, "strict", false, "fail on warnings too")
	fs.BoolVar(&o.WithSubcharts, "with-subcharts", false, "check the charts in charts/ too, each separately")
	fs.BoolVar(&o.Quiet, "quiet", false, "print only warnings and errors")
	fs.StringVar(&o.KubeVersion, "kube-version", "",
		"Kubernetes version to render for, to check for deprecated APIs, and to validate objects for")
	fs.BoolVar(&o.NoValidation, "disable-openapi-validation", false,
		"do not validate objects against the schemas of the Kubernetes version")
	fs.BoolVar(&o.SkipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	cmdutil.StringArrayVarP(fs, &o.Policies, "policy", "",
		"evaluate the ValidatingAdmissionPolicies in this file or directory too (may be repeated)")
	cmdutil.CompleteChoices(cmd)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if o.KubeVersion != "" {
		if _, err := engine.ParseKubeVersion(o.KubeVersion); err != nil {
			return fmt.Errorf("--kube-version: %w", err)
		}
	}
	paths, err := o.paths()
	if err != nil {
		return err
	}
	p := printer{streams: f.Streams, out: f.Out, style: f.Style(f.Out), quiet: o.Quiet}
	verb := action.Lint{Progress: f.Report()}
	if verb.Events, err = f.Events(o.ScriptFlags); err != nil {
		return err
	}
	if verb.Scripts, err = f.ScriptChecker(o.ScriptFlags); err != nil {
		return err
	}
	if err := o.PatchFlags.Load(ctx, f); err != nil {
		return err
	}
	policies, err := policyfiles.Read(o.Policies)
	if err != nil {
		return err
	}
	verb.Policies = f.PolicyEvaluator(len(policies) > 0)
	fails := lint.Error
	if o.Strict {
		fails = lint.Warning
	}
	failed := 0
	for _, path := range paths {
		req, err := action.LoadForLint(f.Loader(), path)
		if err != nil {
			failed++
			p.unreadable(path, err)
			continue
		}
		if req.Values, err = o.ValueFlags.Build(ctx, f, req.Chart); err != nil {
			return err
		}
		req.Namespace = f.Namespace()
		req.ValueCheck = o.Check(ctx, f)
		req.IgnoreUnused = len(o.Paths) > 1 || path != o.Paths[0] // the values are those of another chart
		req.KubeVersion, req.SkipSchema, req.NoSchemaValidation = o.KubeVersion, o.SkipSchema, o.NoValidation
		req.Policies, req.PatchOptions = policies, o.PatchFlags.Options()
		findings, err := verb.Run(ctx, req)
		if err != nil {
			return err
		}
		if lint.Worst(findings) >= fails {
			failed++
		}
		p.chart(path, findings)
	}
	p.totals()
	summary := fmt.Sprintf("%d chart(s) linted, %d chart(s) failed", len(paths), failed)
	if failed > 0 {
		return &failedError{summary}
	}
	if !o.Quiet || p.shown {
		fmt.Fprintln(f.Out, summary)
	}
	return p.err
}

// paths returns the charts to check: the arguments, then with --with-subcharts their subcharts.
func (o Options) paths() ([]string, error) {
	if !o.WithSubcharts {
		return o.Paths, nil
	}
	paths := o.Paths[:len(o.Paths):len(o.Paths)]
	for _, p := range o.Paths {
		subs, err := action.SubchartPaths(p)
		if err != nil {
			return nil, fmt.Errorf("find the subcharts of %s: %w", p, err)
		}
		paths = append(paths, subs...)
	}
	return paths, nil
}

// printer writes findings in Helm's format.
type printer struct {
	streams term.Streams
	out     io.Writer
	style   term.Style
	quiet   bool
	shown   bool  // something has been printed
	err     error // first error of writing

	errors, warnings, infos int // findings that were printed
}

func (p *printer) chart(path string, findings []lint.Finding) {
	if p.quiet {
		kept := findings[:0:0]
		for _, f := range findings {
			if f.Severity >= lint.Warning {
				kept = append(kept, f)
			}
		}
		if findings = kept; len(findings) == 0 {
			return
		}
	}
	p.line("==> Linting " + term.SafeLine(path))
	for _, f := range findings {
		p.count(f.Severity)
		p.line(p.severity(f.Severity) + " " + term.Safe(f.Text()))
	}
	p.line("")
}

func (p *printer) unreadable(path string, err error) {
	p.line("==> Linting " + term.SafeLine(path))
	p.errors++
	p.line(p.style.Red("Error") + " unable to check the chart: " + term.Safe(err.Error()))
	p.line("")
}

func (p *printer) count(s lint.Severity) {
	switch s {
	case lint.Error:
		p.errors++
	case lint.Warning:
		p.warnings++
	case lint.Info:
		p.infos++
	}
}

// totals prints the number of findings, unless all are recommendations.
func (p *printer) totals() {
	if p.errors+p.warnings == 0 {
		return
	}
	var parts []string
	for _, n := range []struct {
		count int
		word  string
	}{{p.errors, "error"}, {p.warnings, "warning"}, {p.infos, "recommendation"}} {
		if n.count > 0 {
			parts = append(parts, plural.Count(n.count, n.word))
		}
	}
	p.line(strings.Join(parts, ", "))
}

func (p *printer) severity(s lint.Severity) string {
	text := "[" + s.String() + "]"
	switch s {
	case lint.Error:
		return p.style.Red(text)
	case lint.Warning:
		return p.style.Yellow(text)
	}
	return p.style.Cyan(text)
}

func (p *printer) line(text string) {
	p.shown = true
	if _, err := fmt.Fprintln(p.out, ui.Screen(p.streams, p.out, text)); err != nil && p.err == nil {
		p.err = err
	}
}

// failedError is returned if a chart fails the checks.
type failedError struct{ summary string }

func (e *failedError) Error() string { return e.summary }
