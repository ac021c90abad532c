// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
)

func rehearsedChart() *chart.Chart {
	template := func(name, text string) *chart.File { return &chart.File{Name: name, Data: []byte(text)} }
	return &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: "1.0.0"},
		Values:   map[string]any{"port": 80},
		Templates: []*chart.File{
			template("templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {port: '{{ .Values.port }}'}\n"),
			template("templates/test.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n"),
		},
	}
}

// TestRehearsalFires checks which events are emitted before one that is fired, and what they
// show.
func TestRehearsalFires(t *testing.T) {
	for _, tt := range []struct {
		fire, want, command string
		objects             int
		chart               bool
	}{
		{"chart-loaded", "chart-loaded", "template", 0, true},
		{"pre-load", "chart-loaded", "template", 0, true},
		{"post-template", "chart-loaded pre-render post-render post-template", "template", 2, true},
		{"pre-install", "chart-loaded pre-render post-render pre-install", "install", 2, true},
		{"post-upgrade", "chart-loaded pre-render post-render pre-upgrade post-upgrade", "upgrade", 2, true},
		{"pre-lint", "chart-loaded pre-render post-render pre-lint", "lint", 2, true},
		{"pre-package", "chart-loaded pre-package", "package", 0, true},
		{"post-dependency-build", "chart-loaded pre-dependency-build post-dependency-build", "dependency", 0, true},
		{"post-create", "pre-create post-create", "create", 0, true},
		{"pre-create", "pre-create", "create", 0, false},
		{"post-rollback", "pre-rollback post-rollback", "rollback", 2, true},
		{"post-delete", "pre-delete post-delete", "uninstall", 0, false},
		{"pre-test", "pre-test", "test", 1, true},
		{"failed-test", "pre-test failed-test", "test", 2, true},
		{"post-test", "pre-test post-test", "test", 2, true},
	} {
		t.Run(tt.fire, func(t *testing.T) {
			bus := &event.Bus{}
			var got []string
			for _, name := range event.Names() {
				bus.Use(recorder{name, &got})
			}
			r, err := action.NewRehearsal(t.Context(), action.RehearsalRequest{Events: bus, Chart: rehearsedChart(), Name: "web"})
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Fire(t.Context(), tt.fire)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("emitted %s, want %s", text, tt.want)
			}
			data := e.Data()
			if data.Operation.Command != tt.command || len(data.Objects) != tt.objects || (data.Chart != nil) != tt.chart {
				t.Errorf("command %q, %d objects, chart %v; want %q, %d, %v", data.Operation.Command, len(data.Objects),
					data.Chart != nil, tt.command, tt.objects, tt.chart)
			}
			if isUpgrade := tt.command == "upgrade"; data.Operation.IsUpgrade != isUpgrade {
				t.Errorf("IsUpgrade is %v", data.Operation.IsUpgrade)
			}
		})
	}
}

// recorder notes that an event was emitted.
type recorder struct {
	name string
	got  *[]string
}

func (r recorder) Handlers(name string) []event.Handler {
	if name != r.name {
		return nil
	}
	return []event.Handler{{Owner: "test", Priority: 0.5, Handle: func(context.Context, event.Event) error {
		*r.got = append(*r.got, name)
		return nil
	}}}
}

func (recorder) Load(context.Context, *event.ChartResolved) error { return nil }
func (recorder) Functions(context.Context, *event.PreRender)      {}

func TestRehearsalKeepsChanges(t *testing.T) {
	bus := &event.Bus{}
	event.On(bus, "test", 0.5, func(_ context.Context, e *event.PreRender) error {
		e.Values["port"] = 81
		return nil
	})
	r, err := action.NewRehearsal(t.Context(), action.RehearsalRequest{Events: bus, Chart: rehearsedChart()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.Fire(t.Context(), "post-render")
	if err != nil || !strings.Contains(e.Data().Objects[0].Raw, "port: '81'") {
		t.Errorf("rendered %v, %v", e.Data().Objects, err)
	}
}

func TestRehearsalErrors(t *testing.T) {
	var unknown *action.EventNameError
	r, err := action.NewRehearsal(t.Context(), action.RehearsalRequest{Chart: rehearsedChart()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Fire(t.Context(), "pre-rendr"); !errors.As(err, &unknown) || unknown.Hint() == "" {
		t.Errorf("an unknown event: %v", err)
	}
	r, err = action.NewRehearsal(t.Context(), action.RehearsalRequest{Chart: rehearsedChart(), Command: "install"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Fire(t.Context(), "pre-upgrade"); !errors.As(err, &unknown) || err.Error() != "install does not emit pre-upgrade" {
		t.Errorf("an event of another command: %v", err)
	}
	if _, err := action.NewRehearsal(t.Context(), action.RehearsalRequest{Chart: rehearsedChart(), Command: "get"}); err == nil {
		t.Error("a command without events: no error")
	}
}

// TestRehearsalEventsAreComplete checks that every event belongs to a command.
func TestRehearsalEventsAreComplete(t *testing.T) {
	var all []string
	for _, command := range action.RehearsalCommands() {
		all = append(all, action.RehearsalEvents(command)...)
	}
	for _, name := range event.Names() {
		if name != "failed-test" && !slices.Contains(all, name) {
			t.Errorf("%s belongs to no command", name)
		}
	}
}
