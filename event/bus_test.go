// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
)

// list is a Source whose handlers record their owner.
type list struct {
	of  string
	hs  []event.Handler
	got *[]string
}

func (l *list) add(owner string, priority float64) {
	l.hs = append(l.hs, event.Handler{Owner: owner, Priority: priority, Handle: func(context.Context, event.Event) error {
		*l.got = append(*l.got, owner)
		return nil
	}})
}

func (l *list) Handlers(name string) []event.Handler {
	if name != l.of {
		return nil
	}
	return l.hs
}

func (l *list) Load(context.Context, *event.ChartResolved) error {
	*l.got = append(*l.got, "load")
	return nil
}

func (l *list) Functions(context.Context, *event.PreRender) { *l.got = append(*l.got, "functions") }

func TestEmitPriority(t *testing.T) {
	var got []string
	note := func(name string) func(context.Context, *event.PreRender) error {
		return func(context.Context, *event.PreRender) error { got = append(got, name); return nil }
	}
	bus := &event.Bus{}
	event.On(bus, "sdk", 0.5, note("sdk"))
	event.On(bus, "sdk early", 0.1, note("sdk early"))
	scripts := &list{of: "pre-render", got: &got}
	scripts.add("mysql", 0.5)
	scripts.add("web", 0.5)
	scripts.add("web late", 1)
	fork := bus.Fork()
	fork.Use(scripts)
	if err := fork.Emit(t.Context(), &event.PreRender{}); err != nil {
		t.Fatal(err)
	}
	if want := "sdk early; mysql; web; sdk; web late"; strings.Join(got, "; ") != want {
		t.Errorf("ran %s\nwant %s", strings.Join(got, "; "), want)
	}
	got = nil
	if err := bus.Emit(t.Context(), &event.PreRender{}); err != nil || slices.Contains(got, "web") {
		t.Errorf("%v: a fork's source answered on its parent: %q", err, got)
	}
}

func TestSourceLoadAndFunctions(t *testing.T) {
	var got []string
	bus := &event.Bus{}
	bus.Use(&list{got: &got})
	fork := bus.Fork()
	if err := errors.Join(fork.Load(t.Context(), &event.ChartResolved{}), fork.Functions(t.Context(), &event.PreRender{})); err != nil {
		t.Fatal(err)
	}
	if want := []string{"load", "functions"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHandleCore(t *testing.T) {
	for name, bus := range map[string]*event.Bus{"no bus": nil, "a fork of no bus": (*event.Bus)(nil).Fork(), "a bus": {}} {
		t.Run(name, func(t *testing.T) {
			err := bus.HandleCore(t.Context(), &event.PreInstall{}, event.CRDs, func(context.Context) error { return errors.New("port must be a number") })
			var handler *event.HandlerError
			if !errors.As(err, &handler) || !handler.Core || handler.Owner != "custom resource definitions" {
				t.Errorf("got %#v", err)
			}
			if err == nil || err.Error() != "port must be a number" { // the message needs no context
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHandleCoreCanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := (&event.Bus{}).HandleCore(ctx, &event.PreInstall{}, event.Record, func(context.Context) error { t.Error("it ran"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestTraceHandleCore(t *testing.T) {
	var steps []event.Step
	bus := &event.Bus{}
	bus.Trace(func(s event.Step) { steps = append(steps, s) })
	e := &event.PreInstall{}
	err := bus.Fork().HandleCore(t.Context(), e, event.ObjectValidation, func(context.Context) error {
		e.Objects = parse(t, "kind: ConfigMap\nmetadata: {name: a}\n")
		return nil
	})
	if err != nil || len(steps) != 1 || !steps[0].Core || steps[0].Owner != "object validation" || steps[0].Event != "pre-install" {
		t.Fatalf("%v, %+v", err, steps)
	}
	wantChanges(t, steps[0], "objects: + ConfigMap/a")
}

// Go handlers may modify values at any depth.
func TestOnCopiesValues(t *testing.T) {
	defaults := map[string]any{"image": map[string]any{"tag": "1"}}
	bus := &event.Bus{}
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreRender) error {
		e.Values["image"].(map[string]any)["tag"] = "2"
		return nil
	})
	e := &event.PreRender{Payload: event.Payload{Values: defaults}}
	if err := bus.Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if tag := defaults["image"].(map[string]any)["tag"]; tag != "1" {
		t.Errorf("the chart's own default became %v", tag)
	}
	if tag := e.Values["image"].(map[string]any)["tag"]; tag != "2" {
		t.Errorf("the change is lost: %v", tag)
	}
}

func parse(t *testing.T, text string) []*manifest.Object {
	t.Helper()
	objs, err := manifest.Parse("web/templates/a.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

func TestTraceChanges(t *testing.T) {
	var steps []event.Step
	bus := &event.Bus{}
	bus.Trace(func(s event.Step) { steps = append(steps, s) })
	event.On(bus, "port", 0.1, func(_ context.Context, e *event.PreRender) error {
		e.Values["mysql"].(map[string]any)["port"] = int64(3307)
		e.Values["same"] = int64(1)
		e.Values["new"] = map[string]any{"a": "b"}
		delete(e.Values, "old")
		e.Values["list"] = []any{"a", "c", "d"}
		e.Chart.Templates = append(e.Chart.Templates[:0:0], &chart.File{Name: "templates/new.yaml", Data: []byte("xyz")})
		return nil
	})
	event.On(bus, "nobody", 0.2, func(context.Context, *event.PreRender) error { return nil })
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("a")}}}
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{
		"mysql": map[string]any{"port": 3306.0}, "same": 1.0, "old": true, "list": []any{"a", "b"},
	}}}
	if err := bus.Fork().Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, steps[0],
		`values.list[1]: "b" → "c"`, `values.list[2]: + "d"`, `values.mysql.port: 3306 → 3307`, `values.new: + {"a":"b"}`, `values.old: - true`,
		`files: + web/templates/new.yaml`, `files: - web/templates/a.yaml`)
	if s := steps[0]; s.Event != "pre-render" || s.Owner != "port" || s.Priority != 0.1 || s.Took <= 0 || s.Core {
		t.Errorf("%+v", s)
	}
	if len(steps) != 2 || len(steps[1].Changes) != 0 {
		t.Errorf("%+v", steps[1:])
	}
}

func TestTraceHidesSecrets(t *testing.T) {
	var steps []event.Step
	bus := &event.Bus{}
	bus.Trace(func(s event.Step) { steps = append(steps, s) })
	objs := parse(t, "kind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1}\n---\nkind: Secret\nmetadata: {name: s}\ndata: {p: old}\n---\nkind: Job\nmetadata: {name: gone}\n")
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PostRender) error {
		e.Objects = parse(t, "kind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n---\nkind: Secret\nmetadata: {name: s}\ndata: {p: very-secret}\n---\nkind: ConfigMap\nmetadata: {name: web-extra}\n")
		return errors.New("enough")
	})
	err := bus.Emit(t.Context(), &event.PostRender{Payload: event.Payload{Objects: objs}})
	if err == nil || steps[0].Err == nil {
		t.Errorf("%v, %+v", err, steps)
	}
	wantChanges(t, steps[0],
		`objects.Deployment/web.spec.replicas: 1 → 2`, `objects.Secret/s.data.p: (hidden) → (hidden)`,
		`objects: + ConfigMap/web-extra`, `objects: - Job/gone`)
}

func TestTraceLimit(t *testing.T) {
	var steps []event.Step
	bus := &event.Bus{}
	bus.Trace(func(s event.Step) { steps = append(steps, s) })
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreRender) error {
		for i := range 3000 {
			e.Values[strconv.Itoa(i)] = "x"
		}
		return nil
	})
	if err := bus.Emit(t.Context(), &event.PreRender{Payload: event.Payload{Values: map[string]any{}}}); err != nil {
		t.Fatal(err)
	}
	got := steps[0].Changes
	if len(got) != 501 || got[500].String() != "… and 2500 more" {
		t.Errorf("%d changes, the last %q", len(got), got[len(got)-1])
	}
}

func wantChanges(t *testing.T, s event.Step, want ...string) {
	t.Helper()
	var got []string
	for _, c := range s.Changes {
		got = append(got, c.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestNamesHaveTypes(t *testing.T) {
	types := []event.Event{
		&event.ChartLoaded{}, &event.PreCreate{}, &event.PostCreate{}, &event.PreDependencyBuild{}, &event.PostDependencyBuild{},
		&event.PreRender{}, &event.PostRender{}, &event.PreInstall{}, &event.PostInstall{}, &event.PreUpgrade{}, &event.PostUpgrade{},
		&event.PreRollback{}, &event.PostRollback{}, &event.PreDelete{}, &event.PostDelete{}, &event.PreLint{}, &event.PostTemplate{},
		&event.PreTest{}, &event.PostTest{}, &event.FailedTest{}, &event.PrePackage{},
	}
	var names []string
	for _, e := range types {
		names = append(names, e.Name())
		if e.Data() == nil {
			t.Errorf("%s shows nothing", e.Name())
		}
	}
	if got := event.Names(); !slices.Equal(got, names) {
		t.Errorf("got %q\nwant %q", got, names)
	}
	// The mutable fields, as documented for scripts.
	for part, want := range map[event.Fields]string{
		event.Values:       "chart-loaded post-create pre-render pre-package",
		event.Templates:    "chart-loaded post-create pre-render pre-package",
		event.Files:        "chart-loaded post-create pre-render pre-package",
		event.Objects:      "pre-render post-render pre-install pre-upgrade pre-rollback post-template pre-test",
		event.Dependencies: "pre-dependency-build",
		event.Versions:     "pre-package",
	} {
		var got []string
		for _, e := range types {
			if e.Mutable().Has(part) {
				got = append(got, e.Name())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("part %b may change at %q, want %s", part, got, want)
		}
	}
}
