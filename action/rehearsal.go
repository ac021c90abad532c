// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// A Rehearsal emits the events of an operation one by one, without a cluster and without
// writing anything, so that handlers can be tried and tested.
//
//	r, err := action.NewRehearsal(ctx, action.RehearsalRequest{Events: bus, Chart: c, Name: "web"})
//	...
//	e, err := r.Fire(ctx, "pre-install") // with what comes before it: chart-loaded, pre-render, post-render
//
// Events have the payload that they have in the operation; what handlers change is in the
// payload of the next. Not for concurrent use.
type Rehearsal struct {
	req       RehearsalRequest
	rendering rendering
	op        *event.Operation
	// payload is that of the next event.
	payload  event.Payload
	fired    []string
	loaded   bool
	rendered bool
	findings []RehearsalFinding
}

// A RehearsalRequest describes the operation. Chart is required.
type RehearsalRequest struct {
	// Events has the handlers. nil runs none.
	Events *event.Bus
	Chart  *chart.Chart
	// Values are those of the user.
	Values map[string]any
	// Name and Namespace are those of the release, Revision its number: 0 is 1, or 2 for an
	// upgrade.
	Name, Namespace string
	Revision        int
	// Command is the operation: "install". "" is that of the first event that is fired.
	Command     string
	KubeVersion string
	APIVersions []string
	// Lookup is asked in place of a cluster; nil finds nothing.
	Lookup func(apiVersion, kind, namespace, name string) (map[string]any, error)
	// Objects, if not nil, are the objects in place of what the templates render.
	Objects []*manifest.Object
	// Coverage records which lines of templates run; it may be nil.
	Coverage *engine.Coverage
	// Results are the results of tests, for post-test and failed-test.
	Results []event.TestResult
}

// A RehearsalFinding is a finding that a handler of pre-lint has added.
type RehearsalFinding struct {
	Error      bool
	Path, Text string
}

// rehearsed are the events of each command, in their order.
var rehearsed = []struct {
	command string
	events  []string
}{
	{"template", []string{"chart-loaded", "pre-render", "post-render", "post-template"}},
	{"install", []string{"chart-loaded", "pre-render", "post-render", "pre-install", "post-install"}},
	{"upgrade", []string{"chart-loaded", "pre-render", "post-render", "pre-upgrade", "post-upgrade"}},
	{"lint", []string{"chart-loaded", "pre-render", "post-render", "pre-lint"}},
	{"package", []string{"chart-loaded", "pre-package"}},
	{"dependency", []string{"chart-loaded", "pre-dependency-build", "post-dependency-build"}},
	{"create", []string{"pre-create", "post-create"}},
	{"rollback", []string{"pre-rollback", "post-rollback"}},
	{"uninstall", []string{"pre-delete", "post-delete"}},
	{"test", []string{"pre-test", "failed-test", "post-test"}},
}

// RehearsalCommands returns the commands whose events can be rehearsed.
func RehearsalCommands() []string {
	out := make([]string, len(rehearsed))
	for i, r := range rehearsed {
		out[i] = r.command
	}
	return out
}

// RehearsalEvents returns the events of a command in their order, nil for another name.
// failed-test is not among those of test: it is emitted where a test has failed.
func RehearsalEvents(command string) []string {
	for _, r := range rehearsed {
		if r.command == command {
			return slices.DeleteFunc(slices.Clone(r.events), func(name string) bool { return name == "failed-test" })
		}
	}
	return nil
}

// commandOf returns the first command that emits an event.
func commandOf(event string) string {
	for _, r := range rehearsed {
		if slices.Contains(r.events, event) {
			return r.command
		}
	}
	return ""
}

// NewRehearsal resolves the values of req.Chart. No handler runs yet, and no script is loaded.
func NewRehearsal(ctx context.Context, req RehearsalRequest) (*Rehearsal, error) {
	if err := requireChart(req.Chart, "rehearse"); err != nil {
		return nil, err
	}
	caps, err := capabilities(ctx, nil, req.KubeVersion, req.APIVersions)
	if err != nil {
		return nil, err
	}
	resolved, err := resolveValues(req.Chart, req.Values, nil)
	if err != nil {
		return nil, err
	}
	bus := req.Events
	if bus == nil {
		bus = &event.Bus{}
	}
	r := &Rehearsal{req: req, rendering: rendering{
		Config: &Config{}, events: lifecycle{Bus: bus}, resolved: resolved, capabilities: caps, lookup: req.Lookup,
		coverage: req.Coverage,
	}}
	r.payload = event.Payload{Chart: resolved.Chart, Values: resolved.Values}
	return r, r.begin(req.Command)
}

// begin makes the rehearsal that of a command.
func (r *Rehearsal) begin(command string) error {
	if command != "" && RehearsalEvents(command) == nil {
		return fmt.Errorf("%q has no events to rehearse: want one of %v", command, RehearsalCommands())
	}
	upgrade := command == "upgrade"
	rel := engine.Release{Name: r.req.Name, Namespace: r.req.Namespace, Service: releaseService, Revision: r.req.Revision,
		IsInstall: !upgrade, IsUpgrade: upgrade}
	if rel.Revision == 0 {
		rel.Revision = 1
		if upgrade {
			rel.Revision = 2
		}
	}
	r.rendering.command, r.rendering.release = command, rel
	dry := command == "template" || command == "lint"
	r.op = newOperation(command, dry, rel, r.rendering.capabilities, r.req.Lookup)
	r.payload.Operation = r.op
	return nil
}

// Load loads the scripts of the chart. Fire does so too.
func (r *Rehearsal) Load(ctx context.Context) error {
	if r.loaded {
		return nil
	}
	r.loaded = true
	return emitResolved(ctx, r.rendering.events.Bus, &event.ChartResolved{Payload: r.payload})
}

// Moment returns an event that is not emitted, with the payload of the next one.
func (r *Rehearsal) Moment(name string) event.Event { return r.event(name) }

// Keep takes over what was changed in the payload of an event that [Rehearsal.Moment] returned.
func (r *Rehearsal) Keep(e event.Event) {
	data, may := e.Data(), e.Mutable()
	if data.Chart == nil { // there is none at this event, but there will be
		return
	}
	r.payload.Chart = data.Chart
	if may.Has(event.Values) {
		r.payload.Values = data.Values
	}
	if _, test := e.(*event.PreTest); may.Has(event.Objects) && !test {
		r.payload.Objects = data.Objects
	}
}

// Payload returns what the next event will show.
func (r *Rehearsal) Payload() *event.Payload { return &r.payload }

// Findings returns what handlers of pre-lint have found.
func (r *Rehearsal) Findings() []RehearsalFinding { return r.findings }

// Fire emits an event, after those events of its operation that come before it and were not
// emitted yet. Before post-render the templates are rendered, and the values validated. It
// returns the event with the payload that the handlers have left. The error is that of a
// handler, or an [*EventNameError].
func (r *Rehearsal) Fire(ctx context.Context, name string) (event.Event, error) {
	if of, ok := event.Aliases()[name]; ok {
		name = of
	}
	command := r.op.Command
	if !slices.Contains(eventsOf(command), name) {
		if r.req.Command != "" || commandOf(name) == "" {
			return nil, &EventNameError{Name: name, Command: r.req.Command}
		}
		command = commandOf(name)
		if err := r.begin(command); err != nil {
			return nil, err
		}
	}
	if err := r.Load(ctx); err != nil {
		return nil, err
	}
	for _, before := range eventsOf(command) {
		if before == name {
			break
		}
		if slices.Contains(r.fired, before) || before == "failed-test" {
			continue
		}
		if _, err := r.emit(ctx, before); err != nil {
			return nil, err
		}
	}
	return r.emit(ctx, name)
}

// eventsOf returns all events of a command.
func eventsOf(command string) []string {
	for _, r := range rehearsed {
		if r.command == command {
			return r.events
		}
	}
	return nil
}

// An EventNameError is returned for an event that does not exist, or that a command does not
// emit.
type EventNameError struct {
	Name    string
	Command string // "" where any event can be fired
}

func (e *EventNameError) Error() string {
	if e.Command != "" && commandOf(e.Name) != "" {
		return fmt.Sprintf("%s does not emit %s", e.Command, e.Name)
	}
	return fmt.Sprintf("unknown event %q", e.Name)
}

// Hint names the events that there are.
func (e *EventNameError) Hint() string {
	names := event.Names()
	if e.Command != "" {
		names = eventsOf(e.Command)
	}
	return "the events are " + strings.Join(names, ", ")
}

func (r *Rehearsal) emit(ctx context.Context, name string) (event.Event, error) {
	if err := r.render(ctx, name); err != nil {
		return nil, err
	}
	e := r.event(name)
	err := r.rendering.events.Emit(ctx, e)
	if err == nil {
		r.fired = append(r.fired, name)
		r.Keep(e)
	}
	return e, err
}

// render makes the objects that an event shows.
func (r *Rehearsal) render(ctx context.Context, name string) error {
	switch name {
	case "chart-loaded", "pre-create", "post-create", "pre-dependency-build", "post-dependency-build", "pre-render",
		"pre-delete", "post-delete", "pre-package":
		return nil
	}
	if r.rendered {
		return nil
	}
	r.rendered = true
	if r.req.Objects != nil {
		r.payload.Objects = append(slices.Clone(r.req.Objects), r.payload.Objects...)
		return nil
	}
	pre := &event.PreRender{Payload: r.payload}
	var out *engine.Output
	err := runSteps(ctx,
		func(ctx context.Context) error { return r.rendering.events.Functions(ctx, pre) },
		func(ctx context.Context) error { return r.rendering.checkKubeVersion(ctx, pre) },
		func(ctx context.Context) error { return r.rendering.validateSchema(ctx, pre) },
		func(ctx context.Context) (err error) {
			out, err = r.rendering.renderTemplates(ctx, pre, nil)
			return err
		},
	)
	if err != nil {
		return err
	}
	objects, err := parseRendered(pre.Chart, out.Files)
	if err != nil {
		return err
	}
	r.payload.Objects = append(objects, pre.Objects...)
	manifest.SortInstall(r.payload.Objects)
	return nil
}

// event returns an event with what it shows.
func (r *Rehearsal) event(name string) event.Event {
	e := event.New(name)
	data := e.Data()
	*data = r.payload
	switch e := e.(type) {
	case *event.PreCreate, *event.PreDelete, *event.PostDelete:
		*data = event.Payload{Operation: r.op}
	case *event.PreRollback, *event.PostRollback:
		data.Values = nil
	case *event.PreTest:
		data.Objects = testsOf(data.Objects)
	case *event.PostTest:
		e.Results = r.req.Results
	case *event.FailedTest:
		e.Results = r.req.Results
	case *event.PreLint:
		e.Warn = func(path, text string) { r.findings = append(r.findings, RehearsalFinding{false, path, text}) }
		e.Fail = func(path, text string) { r.findings = append(r.findings, RehearsalFinding{true, path, text}) }
	}
	return e
}

// testsOf returns the objects that are test hooks.
func testsOf(objects []*manifest.Object) []*manifest.Object {
	var out []*manifest.Object
	for _, o := range objects {
		hooks, _ := release.SplitHooks([]*manifest.Object{o})
		if len(hooks) == 1 && slices.Contains(hooks[0].Events, release.Test) {
			out = append(out, o)
		}
	}
	return out
}
