// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
)

func TestLimitsOfObjects(t *testing.T) {
	parse := func(source, annotations string) *manifest.Object {
		objects, err := manifest.Parse(source, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: {"+annotations+"}\n")
		if err != nil {
			t.Fatal(err)
		}
		return objects[0]
	}
	const own, group = "moonhelm.github.io/timeout: 7m", "helm.sh/resource-group: database"
	const root, sub, deep = "web/templates/a.yaml", "web/charts/app/templates/a.yaml", "web/charts/app/charts/cache/templates/a.yaml"
	for _, test := range []struct {
		name     string
		object   *manifest.Object
		timeouts map[string]time.Duration
		want     wait.Limit
	}{
		{"none", parse(root, ""), nil, wait.Limit{}},
		{"the annotation", parse(root, own), nil, wait.Limit{Timeout: 7 * time.Minute, Origin: "its annotation moonhelm.github.io/timeout"}},
		{"the caller's wins over the annotation", parse(root, own), map[string]time.Duration{"ConfigMap/c": time.Hour},
			wait.Limit{Timeout: time.Hour, Origin: "the timeout for ConfigMap/c"}},
		{"that of a group too", parse(root, own+", "+group), map[string]time.Duration{"database": time.Hour},
			wait.Limit{Timeout: time.Hour, Origin: `the timeout for resource group "database"`}},
		{"an object is narrower than a group", parse(root, group), map[string]time.Duration{"database": time.Hour, "ConfigMap/c": time.Second},
			wait.Limit{Timeout: time.Second, Origin: "the timeout for ConfigMap/c"}},
		{"a group is narrower than a subchart", parse(sub, group), map[string]time.Duration{"database": time.Hour, "app": time.Second},
			wait.Limit{Timeout: time.Hour, Origin: `the timeout for resource group "database"`}},
		{"a subchart of a subchart", parse(deep, ""), map[string]time.Duration{"app": time.Hour},
			wait.Limit{Timeout: time.Hour, Origin: `the timeout for subchart "app"`}},
		{"and its own", parse(deep, ""), map[string]time.Duration{"app": time.Hour, "app/cache": time.Minute},
			wait.Limit{Timeout: time.Minute, Origin: `the timeout for subchart "app/cache"`}},
		{"of others", parse(root, ""), map[string]time.Duration{"app": time.Hour}, wait.Limit{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Config{}
			w := c.newWatching(WaitOptions{Timeouts: test.timeouts})
			if got := w.limits([]*manifest.Object{test.object})[test.object]; got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			_, whole := w.request(wait.Request{Objects: []*manifest.Object{test.object}}, 5*time.Minute, false)
			if whole < max(5*time.Minute, test.want.Timeout) {
				t.Errorf("the wait ends after %s", whole)
			}
		})
	}
	objects := []*manifest.Object{parse(deep, group)}
	err := checkTimeouts(map[string]time.Duration{"database": 1, "app": 1, "app/cache": 1, "ConfigMap/c": 1, "databse": 1}, objects)
	var unknown *TimeoutNameError
	if !errors.As(err, &unknown) || unknown.Name != "databse" || unknown.Hint() != `did you mean "database"?` {
		t.Errorf("got %v, want a *TimeoutNameError for databse", err)
	}
}

func TestTimelineLines(t *testing.T) {
	entry := func(kind, name, state string, after time.Duration) TimelineEntry {
		return TimelineEntry{Outcome: wait.Outcome{Kind: kind, Name: name, State: state, After: after}, At: after}
	}
	slow := entry("Deployment", "api", "ready", 70*time.Second)
	slow.Pod, slow.Phases = "api-1", []wait.Phase{{Name: "scheduling"}, {Name: "images and start", Took: 45 * time.Second}}
	missing := entry("Deployment", "worker", "", 0)
	missing.Missing = "0 of 1 pods available:\n  crashed"
	job := entry("Job", "migrate", "complete", 8*time.Second)
	job.Hook = true
	for _, test := range []struct {
		name    string
		entries []TimelineEntry
		want    string
	}{
		{"all", []TimelineEntry{entry("ConfigMap", "c", "ready", 0), job, slow}, `upgrade: 3 objects ready in 1m12s
  hook Job/migrate      8s
  Deployment/api     1m10s  pod api-1: images and start 45s
  1 object sooner`},
		{"not all", []TimelineEntry{missing, entry("Service", "s", "ready", 0)}, `upgrade: 1 of 2 objects ready after 1m12s
  not ready: Deployment/worker: 0 of 1 pods available: crashed`},
		{"one", []TimelineEntry{missing}, `upgrade: not ready after 1m12s
  not ready: Deployment/worker: 0 of 1 pods available: crashed`},
		{"ready in a later wait", []TimelineEntry{entry("Deployment", "worker", "", 0), entry("Deployment", "worker", "ready", 3*time.Second),
			entry("Deployment", "worker", "ready", 9*time.Second)}, `upgrade: 1 object ready in 1m12s
  Deployment/worker      3s`},
	} {
		t.Run(test.name, func(t *testing.T) {
			timeline := Timeline{Took: 72 * time.Second}
			for _, e := range test.entries {
				timeline.add(e)
			}
			if got := strings.Join(timeline.Lines("upgrade"), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	many := Timeline{}
	for i := range 200 {
		state := ""
		if i%2 == 0 {
			state = "ready"
		}
		many.add(entry("Pod", strings.Repeat("x", i+1), state, time.Minute))
	}
	if lines := many.Lines("install"); len(lines) != 2*maxEntries+3 {
		t.Errorf("got %d lines of 200 objects, want %d", len(lines), 2*maxEntries+3)
	}
}

func TestBatchName(t *testing.T) {
	objects, err := manifest.Parse("web/charts/db/templates/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := batchName(1, 3, objects), "batch 1 of 3 (subchart db)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
