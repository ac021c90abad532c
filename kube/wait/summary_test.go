// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

func TestPhasesOfAPod(t *testing.T) {
	const begin = `{"metadata":{"name":"web-0","creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"conditions":[`
	condition := func(kind, at string) string {
		return `{"type":"` + kind + `","status":"True","lastTransitionTime":"2026-01-01T00:00:` + at + `Z"}`
	}
	for _, test := range []struct{ name, pod, want string }{
		{"all of them", begin + condition("PodScheduled", "02") + "," + condition("PodReadyToStartContainers", "05") + "," +
			condition("Initialized", "06") + "," + condition("Ready", "50") + `],"initContainerStatuses":[{"name":"i"}],` +
			`"containerStatuses":[{"name":"a","restartCount":2,"state":{"running":{"startedAt":"2026-01-01T00:00:40Z"}}},` +
			`{"name":"b","state":{"running":{"startedAt":"2026-01-01T00:00:20Z"}}}]}}`,
			"pod web-0: scheduling 2s, volumes and network 3s, init containers 1s, images and start 34s, readiness 10s, 2 restarts"},
		{"a short one says nothing", begin + condition("PodScheduled", "00") + "," + condition("Ready", "00") + `]}}`, ""},
		{"one that is not scheduled", begin + `{"type":"PodScheduled","status":"False","lastTransitionTime":"2026-01-01T00:00:09Z"}]}}`, ""},
		{"a container that began again after the pod was ready", begin + condition("PodScheduled", "01") + "," + condition("Ready", "03") +
			`],"containerStatuses":[{"name":"a","restartCount":1,"state":{"running":{"startedAt":"2026-01-01T00:00:40Z"}}}]}}`,
			"pod web-0: scheduling 1s, images and start 39s, 1 restart"},
		{"times that are none", `{"metadata":{"name":"web-0","creationTimestamp":"soon"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p api.Pod
			if err := json.Unmarshal([]byte(test.pod), &p); err != nil {
				t.Fatal(err)
			}
			a := &awaited{known: map[string]*knownPod{"web-0": {Pod: &p, isNew: true}}}
			var o Outcome
			a.describeStart(&o)
			if got := o.Start(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNewPods(t *testing.T) {
	begun := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	for _, test := range []struct {
		name, created, status string
		want                  bool
	}{
		{"ready since before the wait", "2026-01-01T00:00:00Z", "True", false},
		{"not ready yet", "2026-01-01T00:00:00Z", "False", true},
		{"made for the wait, and ready at once", "2026-01-01T00:00:59Z", "True", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p api.Pod
			text := `{"metadata":{"creationTimestamp":"` + test.created + `"},"status":{"conditions":[{"type":"Ready","status":"` + test.status + `"}]}}`
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			if got := newKnownPod(&p, "", begun).isNew; got != test.want {
				t.Errorf("%s: new is %v, want %v", test.name, got, test.want)
			}
		})
	}
}
