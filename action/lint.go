// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/progress"
)

// Lint checks a chart.
type Lint struct {
	Events  *event.Bus    // nil runs no handlers
	Scripts ScriptChecker // nil does not check scripts
	// Policies evaluates ValidatingAdmissionPolicies; nil does not.
	Policies PolicyEvaluator
	// Progress gets the warning of values that nothing reads, which is not a finding about
	// the chart.
	Progress progress.Func
}

// A ScriptChecker checks the scripts of a tree of charts without running them.
type ScriptChecker interface {
	// CheckScripts sets in.Problems, in.Events and in.Requires.
	CheckScripts(ctx context.Context, in *lint.ScriptInput) error
}

// ErrNoPolicyEvaluator is returned by a PolicyEvaluator that cannot evaluate. Lint then adds a
// recommendation.
var ErrNoPolicyEvaluator = errors.New("the plugin policy is not installed")

// A PolicyEvaluator evaluates ValidatingAdmissionPolicies without a cluster.
type PolicyEvaluator interface {
	EvaluatePolicies(ctx context.Context, r lint.PolicyRequest) (*lint.PolicyResponse, error)
}

// A LintRequest is the request to check a chart, which may be invalid.
type LintRequest struct {
	// Files are the files of the chart and its subcharts, with paths relative to the
	// chart's directory; nil if they cannot be read.
	Files []*chart.File
	// Directories are the directories at the top level of the chart, including those
	// without Files.
	Directories []string
	// Chart is the loaded chart, or nil if Files cannot be loaded.
	Chart *chart.Chart
	// LoadErr is the error if Chart, or Files, is nil. LoadPath is the path in the chart
	// ("charts/db") that it is about, or "" for the chart itself.
	LoadErr error
	// ChartV3 accepts the experimental apiVersion v3.
	ChartV3  bool
	LoadPath string
	// Repaired is the chart with the valid parts of Chart.yaml and values.yaml if Chart is nil
	// because of them, else nil. Its values, scripts and templates are checked.
	Repaired *chart.Chart
	// Lost are the keys of values.yaml that Repaired does not have.
	Lost []string
	// Warnings are the warnings of the loader.
	Warnings []string

	Values    map[string]any
	Namespace string
	// KubeVersion is the Kubernetes version to render for. If it is not "", the objects must
	// match the schemas of the kinds that this version serves, and those of the charts'
	// CustomResourceDefinitions.
	KubeVersion string
	// SkipSchema skips the validation of values.
	SkipSchema bool
	// NoSchemaValidation skips the validation of objects.
	NoSchemaValidation bool
	// Policies are evaluated in addition to those in the chart's policies/.
	Policies []lint.PolicyFile
	ValueCheck
	PatchOptions
}

// lintRelease is the name of the rendered release, the same as Helm's.
const lintRelease = "test-release"

// Run returns the findings about the chart, sorted. An invalid chart is a finding and not an
// error.
func (l Lint) Run(ctx context.Context, req LintRequest) ([]lint.Finding, error) {
	caps, err := capabilities(ctx, nil, req.KubeVersion, nil)
	if err != nil {
		return nil, err
	}
	w := &linter{
		events: l.Events, report: l.Progress, checker: l.Scripts, policies: l.Policies,
		req: req, caps: caps, kube: kubeOf(caps),
	}
	if err := w.loadSchemas(); err != nil {
		return nil, err
	}
	if req.Files != nil || req.LoadErr == nil {
		w.findings = append(w.findings, lint.Chart(lint.Input{Files: req.Files, Directories: req.Directories,
			Chart: req.Chart, Kube: w.kube, Schemas: w.schemas, ChartV3: req.ChartV3})...)
	}
	for _, text := range req.Warnings {
		w.add(lint.Info, "", 0, text)
	}
	if req.LoadErr != nil {
		w.loadError()
	}
	if req.Repaired != nil {
		w.req.Chart = req.Repaired
	}
	known := len(w.findings)
	if w.req.Chart != nil {
		if err := w.checkChart(ctx); err != nil {
			return nil, err
		}
	}
	if req.Repaired != nil && len(w.findings) > known {
		w.repairedInfo()
	}
	return lint.Sort(w.findings), nil
}

// repairedInfo adds what the templates of a repaired chart are checked with.
func (w *linter) repairedInfo() {
	var parse *values.ParseError
	switch {
	case len(w.req.Lost) > 0:
		w.add(lint.Info, chart.FileValues, 0, "the templates are checked without "+strings.Join(w.req.Lost, ", "))
	case errors.As(w.req.LoadErr, &parse):
		w.add(lint.Info, chart.FileValues, 0, "the templates are checked with its valid keys only")
	default:
		w.add(lint.Info, chart.FileMetadata, 0, "the templates are checked with its valid fields only")
	}
}

func kubeOf(caps *engine.Capabilities) lint.KubeVersion {
	// ParseKubeVersion has checked that both are numbers.
	major, _ := strconv.Atoi(caps.KubeVersion.Major)
	minor, _ := strconv.Atoi(caps.KubeVersion.Minor)
	return lint.KubeVersion{Major: major, Minor: minor}
}

// linter checks one chart.
type linter struct {
	events   *event.Bus
	checker  ScriptChecker
	policies PolicyEvaluator
	report   progress.Func
	req      LintRequest
	caps     *engine.Capabilities
	kube     lint.KubeVersion
	schemas  *lint.Schemas // nil does not validate objects
	findings []lint.Finding
}

func (w *linter) add(s lint.Severity, path string, line int, message string) {
	w.findings = append(w.findings, lint.Finding{Severity: s, Path: path, Line: line, Message: message})
}

// hasError reports whether there is a finding of severity Error for path.
func (w *linter) hasError(path string) bool {
	for _, f := range w.findings {
		if f.Path == path && f.Severity == lint.Error {
			return true
		}
	}
	return false
}

// loadError adds the error of loading the chart, unless there is already an error about the
// same file.
func (w *linter) loadError() {
	known := len(w.findings)
	for _, err := range flattenErrors(w.req.LoadErr) {
		at, line, text := w.req.LoadPath, 0, err.Error()
		var invalid *chart.InvalidError
		var parse *values.ParseError
		switch {
		case errors.As(err, &invalid):
			at, line, text = path.Join(at, invalid.File), invalid.Line, invalid.Problem
			if invalid.Field != "" {
				text = invalid.Field + " " + text
			}
		case errors.As(err, &parse):
			at, line, text = path.Join(at, parse.Name), parse.Line, parse.Problem
		}
		reported := lint.Worst(w.findings[:known]) == lint.Error && (&linter{findings: w.findings[:known]}).hasError(at)
		if !reported {
			w.add(lint.Error, at, line, text)
		}
	}
}

// flattenErrors returns the errors that err joins.
func flattenErrors(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flattenErrors(e)...)
	}
	return out
}

// checkChart checks the values of a loaded chart, its scripts, and the rendered objects.
func (w *linter) checkChart(ctx context.Context) error {
	res, err := values.Resolve(w.req.Chart, w.req.Values)
	if err != nil {
		w.add(lint.Error, chart.FileValues, 0, err.Error())
		return nil
	}
	for _, text := range res.Warnings {
		w.add(lint.Info, chart.FileValues, 0, text)
	}
	if _, err := dependency.Libraries(res.Chart); err != nil {
		w.findings = append(w.findings, lint.Libraries(w.req.Chart, err)...)
		return nil
	}
	if ok, err := w.checkScripts(ctx, res.Chart); err != nil || !ok {
		return err
	}
	rel := engine.Release{Name: lintRelease, Namespace: w.req.Namespace, Revision: 1, IsInstall: true}
	payload, err := emitLoaded(ctx, w.events, newOperation("lint", true, rel, w.caps, nil), res.Chart, res.Values)
	if err != nil {
		return w.handlerError(ctx, err)
	}
	pre := &event.PreRender{Payload: payload}
	if err := w.events.Emit(ctx, pre); err != nil {
		return w.handlerError(ctx, err)
	}
	if err := w.events.Functions(ctx, pre); err != nil {
		return w.handlerError(ctx, err)
	}
	if !w.req.SkipSchema && len(w.req.Lost) == 0 {
		w.checkSchema(pre)
		w.findings = append(w.findings, lint.Types(pre.Chart, w.req.Values, pre.Values)...)
	}
	if err := w.checkUnread(ctx, pre); err != nil {
		return err
	}
	return w.render(ctx, pre)
}

// maxUnread limits the findings about values that nothing reads.
const maxUnread = 100

// checkUnread adds the keys of the user's values that nothing reads. It takes the time that it needs: the exit
// code must not depend on the machine.
func (w *linter) checkUnread(ctx context.Context, pre *event.PreRender) error {
	severity := lint.Warning
	if w.req.StrictValues {
		severity = lint.Error
	}
	keys, err := valueCheck{ValueCheck: w.req.ValueCheck, chart: w.req.Chart, user: w.req.Values}.keys(ctx, pre, true)
	if errors.Is(err, engine.ErrUsageLimit) {
		w.add(lint.Info, "", 0, unchecked(err))
		return nil
	}
	for _, k := range keys[:min(len(keys), maxUnread)] {
		w.add(severity, "", 0, k.String())
	}
	if more := len(keys) - maxUnread; more > 0 {
		w.add(severity, "", 0, fmt.Sprintf("%d more keys of the given values are never read", more))
	}
	return err
}

// checkScripts checks scripts without running them, and reports whether there are no errors.
// With an error in a script, no script runs and the chart is not rendered: templates would
// fail without the functions and values of scripts.
func (w *linter) checkScripts(ctx context.Context, c *chart.Chart) (ok bool, err error) {
	in := lint.ScriptInput{Chart: c, Named: dependency.Named, Known: event.Names()}
	for name := range event.Aliases() {
		in.Known = append(in.Known, name)
	}
	if w.checker != nil && c.HasScripts() {
		if err := w.checker.CheckScripts(ctx, &in); err != nil {
			return false, w.handlerError(ctx, err)
		}
	}
	found := lint.Scripts(in)
	w.findings = append(w.findings, found...)
	if lint.Worst(ofScripts(found)) == lint.Error {
		w.add(lint.Info, chart.DirScripts, 0, "the templates are checked once the scripts have no errors")
		return false, nil
	}
	return true, nil
}

// ofScripts returns the findings without those of tests, which no command runs.
func ofScripts(found []lint.Finding) []lint.Finding {
	return slices.DeleteFunc(slices.Clone(found), func(f lint.Finding) bool { return strings.HasPrefix(f.Path, "tests/") })
}

// handlerError adds err as a finding, unless ctx has ended.
func (w *linter) handlerError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := err.Error()
	for _, h := range hint.Of(err) {
		text += "\nhint: " + h
	}
	w.add(lint.Error, "", 0, text)
	return nil
}
