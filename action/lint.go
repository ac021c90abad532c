// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"path"
	"strconv"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
)

// Lint checks a chart, however broken.
type Lint struct {
	Events  *event.Bus    // nil runs no handlers
	Scripts ScriptChecker // nil does not look into scripts
}

// ScriptChecker reads the scripts of a tree of charts and runs none.
type ScriptChecker interface {
	// CheckScripts fills in.Problems, in.Events and in.Requires.
	CheckScripts(ctx context.Context, in *lint.ScriptInput) error
}

// LintRequest says what to check, and what the chart is checked with.
type LintRequest struct {
	// Files are the chart's files, named from its top directory, subcharts'
	// included; nil where not even they can be read.
	Files []*chart.File
	// Directories are top directories of which Files has nothing.
	Directories []string
	// Chart is what Files load to, nil where they do not load.
	Chart *chart.Chart
	// LoadErr says why Chart, or Files, is nil. LoadPath is the part of the
	// chart that it is about ("charts/db"), "" for the chart itself.
	LoadErr error
	// ChartV3 accepts the experimental apiVersion v3.
	ChartV3  bool
	LoadPath string
	// Warnings are those of loading.
	Warnings []string

	Values      map[string]any
	Namespace   string
	KubeVersion string
	SkipSchema  bool
}

// lintRelease is the name of the release that lint renders, as Helm's.
const lintRelease = "test-release"

// Run returns what is to say about the chart, sorted. What is wrong with the
// chart is a finding and no error.
func (l Lint) Run(ctx context.Context, req LintRequest) ([]lint.Finding, error) {
	caps, err := capabilities(ctx, nil, req.KubeVersion, nil)
	if err != nil {
		return nil, err
	}
	w := &linting{events: l.Events, checker: l.Scripts, req: req, caps: caps, kube: kubeOf(caps)}
	if req.Files != nil || req.LoadErr == nil {
		w.findings = lint.Chart(lint.Input{Files: req.Files, Directories: req.Directories, Chart: req.Chart, Kube: w.kube,
			ChartV3: req.ChartV3})
	}
	for _, text := range req.Warnings {
		w.add(lint.Info, "", 0, text)
	}
	if req.LoadErr != nil {
		w.loadError()
	}
	if req.Chart != nil {
		if err := w.checkChart(ctx); err != nil {
			return nil, err
		}
	}
	return lint.Sort(w.findings), nil
}

func kubeOf(caps *engine.Capabilities) lint.KubeVersion {
	// Both are numbers: the version was parsed.
	major, _ := strconv.Atoi(caps.KubeVersion.Major)
	minor, _ := strconv.Atoi(caps.KubeVersion.Minor)
	return lint.KubeVersion{Major: major, Minor: minor}
}

// linting is the work on one chart.
type linting struct {
	events   *event.Bus
	checker  ScriptChecker
	req      LintRequest
	caps     *engine.Capabilities
	kube     lint.KubeVersion
	findings []lint.Finding
}

func (w *linting) add(s lint.Severity, path string, line int, message string) {
	w.findings = append(w.findings, lint.Finding{Severity: s, Path: path, Line: line, Message: message})
}

// failed reports whether an error about a file has been found.
func (w *linting) failed(path string) bool {
	for _, f := range w.findings {
		if f.Path == path && f.Severity == lint.Error {
			return true
		}
	}
	return false
}

// loadError adds why the chart does not load, unless the checks of the same
// file have told so already.
func (w *linting) loadError() {
	known := len(w.findings)
	for _, err := range leaves(w.req.LoadErr) {
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
		told := lint.Worst(w.findings[:known]) == lint.Error && (&linting{findings: w.findings[:known]}).failed(at)
		if !told {
			w.add(lint.Error, at, line, text)
		}
	}
}

// leaves are the errors that err joins.
func leaves(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, leaves(e)...)
	}
	return out
}

// checkChart checks a chart that loads: its values, and what it renders.
func (w *linting) checkChart(ctx context.Context) error {
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
	if right, err := w.scripts(ctx, res.Chart); err != nil || !right {
		return err
	}
	rel := engine.Release{Name: lintRelease, Namespace: w.req.Namespace, Revision: 1, IsInstall: true}
	payload, err := load(ctx, w.events, operation("lint", true, rel, w.caps, nil), res.Chart, res.Values)
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
	if !w.req.SkipSchema {
		w.checkSchema(pre)
		w.findings = append(w.findings, lint.Types(pre.Chart, w.req.Values, pre.Values)...)
	}
	return w.render(ctx, pre)
}

// scripts checks scripts without running them, and reports whether they can be run.
// Where one is wrong, none is, and nothing is rendered: templates that lack a
// script's functions and values have errors that no one made.
func (w *linting) scripts(ctx context.Context, c *chart.Chart) (right bool, err error) {
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
	if lint.Worst(found) == lint.Error {
		w.add(lint.Info, chart.DirScripts, 0, "the templates are checked once the scripts are right")
		return false, nil
	}
	return true, nil
}

// handlerError is a finding, unless the whole operation was stopped.
func (w *linting) handlerError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.add(lint.Error, "", 0, err.Error())
	return nil
}
