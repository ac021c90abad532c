// SPDX-License-Identifier: Apache-2.0

package scripttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/unittest/coverage"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script"
)

// runner runs the commands of the tests of a suite.
type runner struct {
	suite  *Suite
	lines  *coverage.ScriptLines
	loaded bool
}

// run carries out run(name, options) of a test.
func (r *runner) run(ctx context.Context, name string, options map[string]any) (map[string]any, error) {
	if !r.loaded {
		return nil, errors.New("run is for tests: call it in the function that test is given")
	}
	o, err := parseOptions(options)
	if err != nil {
		return nil, fmt.Errorf("run(%q, ...): %w", name, err)
	}
	events := action.RehearsalEvents(name)
	if events != nil {
		o.request.Command = name
	} else {
		of := name
		if alias, ok := event.Aliases()[name]; ok {
			of = alias
		}
		if event.New(of) == nil {
			return nil, unknownCommand(name)
		}
		events = []string{of}
	}
	return r.operation(ctx, o, events)
}

func unknownCommand(name string) error {
	known := slices.Concat(action.RehearsalCommands(), event.Names())
	text := fmt.Sprintf("run(%q, ...): neither a command nor an event", name)
	if near := suggest.Nearest(known, name); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return errors.New(text)
}

// operation fires events, and returns what came of them. An error of a handler, or of what a
// command does in between, is a part of it.
func (r *runner) operation(ctx context.Context, o *options, events []string) (map[string]any, error) {
	out := &outcome{printed: []any{}}
	host := r.host(o, out)
	defer host.Close() //nolint:errcheck // it returns nil
	bus := &event.Bus{}
	bus.Use(host)
	o.request.Events, o.request.Chart, o.request.Coverage = bus, r.suite.chart, r.suite.o.Templates
	o.request.Values = values.Merge(o.request.Values, r.suite.o.Values)
	reh, err := action.NewRehearsal(ctx, o.request)
	if err != nil {
		out.err = err
		return out.data()
	}
	out.rehearsal = reh
	for _, name := range events {
		if name == "post-test" && failedTest(o.request.Results) {
			if _, out.err = reh.Fire(ctx, "failed-test"); out.err != nil {
				break
			}
		}
		if _, out.err = reh.Fire(ctx, name); out.err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out.data()
}

// failedTest reports whether a test of the release has failed.
func failedTest(results []event.TestResult) bool {
	return slices.ContainsFunc(results, func(r event.TestResult) bool { return r.Phase == "Failed" })
}

// host returns a host of the chart's scripts for one command.
func (r *runner) host(o *options, out *outcome) *script.Host {
	h := r.suite.o.host(&transport{answers: o.http, out: out}, r.lines)
	h.Print = func(chart, line string) { out.printed = append(out.printed, "["+chart+"] "+line) }
	return h
}

// Host returns a host of scripts for a rendering of a suite in YAML. Scripts have the permissions that
// they have in tests, and no server answers. lines counts the lines that are run; it may be nil.
func (o Options) Host(lines *coverage.ScriptLines) *script.Host {
	h := o.host(silent{}, lines)
	h.Print = o.Print
	return h
}

func (o Options) host(t http.RoundTripper, lines *coverage.ScriptLines) *script.Host {
	h := &script.Host{
		Start: o.Start, Limits: o.Limits, Seed: 1, Transport: t, Approve: o.approve,
		Resolve: func(_ context.Context, name string) ([]string, error) {
			return nil, fmt.Errorf("look up %s: tests have no network", name)
		},
	}
	if o.Profile != nil && lines != nil {
		h.Coverage = lines.Count
	}
	return h
}

// approve grants network, which the test answers, and has others approved.
func (o Options) approve(ctx context.Context, asks []script.Ask) error {
	var more []script.Ask
	for _, a := range asks {
		a.Permissions = slices.DeleteFunc(slices.Clone(a.Permissions),
			func(name string) bool { return name == script.Network })
		if len(a.Permissions) > 0 {
			more = append(more, a)
		}
	}
	switch {
	case len(more) == 0:
		return nil
	case o.Approve == nil:
		return &script.PermissionError{Asks: more, Problem: "tests do not grant them; --accept-perms does"}
	}
	return o.Approve(ctx, more)
}

// silent is the network of suites in YAML.
type silent struct{}

// RoundTrip implements [http.RoundTripper].
func (silent) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("suites have no network; tests in Lua, tests/*_test.lua, answer requests")
}

// outcome is what came of a command.
type outcome struct {
	rehearsal *action.Rehearsal
	err       error
	printed   []any
	requests  []any
}

// data returns the outcome as tests see it.
func (o *outcome) data() (map[string]any, error) {
	out := map[string]any{"printed": o.printed, "requests": slices.Clone(o.requests)}
	if o.requests == nil {
		out["requests"] = []any{}
	}
	if o.err != nil {
		out["error"] = o.err.Error()
	}
	if o.rehearsal == nil {
		return out, nil
	}
	payload := o.rehearsal.Payload()
	out["values"] = map[string]any{}
	maps.Copy(out["values"].(map[string]any), payload.Values)
	objects, err := objectData(payload.Objects)
	if err != nil {
		return nil, err
	}
	out["objects"] = objects
	findings := []any{}
	for _, f := range o.rehearsal.Findings() {
		severity := "warning"
		if f.Error {
			severity = "error"
		}
		findings = append(findings, map[string]any{"severity": severity, "path": f.Path, "text": f.Text})
	}
	out["findings"] = findings
	if c := payload.Chart; c != nil && c.Metadata != nil {
		out["chart"] = map[string]any{"name": c.Name(), "version": c.Version(), "appVersion": c.AppVersion()}
		templates, files := map[string]any{}, map[string]any{}
		for _, f := range c.Templates {
			templates[f.Name] = string(f.Data)
		}
		for _, f := range c.Files {
			if !strings.HasPrefix(f.Name, "ext/") {
				files[f.Name] = string(f.Data)
			}
		}
		dependencies := []any{}
		for _, d := range c.Metadata.Dependencies {
			dependencies = append(dependencies, map[string]any{"name": d.Name, "version": d.Version, "repository": d.Repository,
				"alias": d.Alias, "condition": d.Condition})
		}
		out["templates"], out["files"], out["dependencies"] = templates, files, dependencies
	}
	return out, nil
}

func objectData(objects []*manifest.Object) ([]any, error) {
	out := []any{}
	for _, o := range objects {
		m, err := o.Map()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// transport answers requests of scripts with what a test says.
type transport struct {
	answers map[string]any
	out     *outcome
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		data := new(strings.Builder)
		if _, err := copyBody(data, req.Body); err != nil {
			return nil, err
		}
		body = data.String()
	}
	url := req.URL.String()
	t.out.requests = append(t.out.requests, map[string]any{"method": req.Method, "url": url, "body": body})
	for _, key := range []string{req.Method + " " + url, url} {
		if answer, ok := t.answers[key]; ok {
			return response(req, answer)
		}
	}
	return nil, fmt.Errorf("the test has no answer to %s %s in http", req.Method, url)
}
