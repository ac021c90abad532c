// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
)

// pods is a server with the pod "web", which has run since before the wait began and completes when the server
// says so.
type pods struct {
	*apitest.Recorder
	waiter *Waiter
	done   chan struct{} // closed: the pod has completed

	mu     sync.Mutex
	asked  []string // "GET path", with the parameters that matter
	log    []http.HandlerFunc
	events []http.HandlerFunc
}

const podPath = "/api/v1/namespaces/shop/pods"

// newPods returns a server whose requests for the log, and for events, are answered by log and events, one after
// the other; the last one answers again and again.
func newPods(t *testing.T, log, events []http.HandlerFunc) *pods {
	t.Helper()
	p := &pods{Recorder: &apitest.Recorder{}, done: make(chan struct{}), log: log, events: events}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	p.waiter = New(kube.New(kube.Options{Progress: p.Record,
		REST: func() (*rest.Config, error) { return &rest.Config{Host: s.URL}, nil }}), Grace{})
	return p
}

func (p *pods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	what := r.URL.Path
	for _, key := range []string{"watch", "sinceTime", "tailLines", "fieldSelector"} {
		if q.Has(key) {
			what += " " + key + "=" + q.Get(key)
		}
	}
	p.mu.Lock()
	p.asked = append(p.asked, what)
	answer := p.next(r.URL.Path)
	p.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case r.URL.Path == "/api":
		apitest.Text(apitest.PodsOnly)(w, r)
	case r.URL.Path == "/apis":
		apitest.Text(`{"kind":"APIGroupDiscoveryList","items":[]}`)(w, r)
	case r.URL.Path == podPath && q.Get("watch") == "":
		apitest.Text(`{"metadata":{"resourceVersion":"1"},"items":[`+podJSON("Running", 0)+`]}`)(w, r)
	case r.URL.Path == podPath:
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-p.done:
			_, _ = fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`, podJSON("Succeeded", 0))
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
		}
		<-r.Context().Done()
	default:
		apitest.Refuse(w, http.StatusNotFound, "NotFound", "not found")
	}
}

// next returns the next answer for a path, or nil.
func (p *pods) next(path string) http.HandlerFunc {
	list := map[string]*[]http.HandlerFunc{podPath + "/web/log": &p.log, "/api/v1/namespaces/shop/events": &p.events}[path]
	if list == nil || len(*list) == 0 {
		return nil
	}
	answer := (*list)[0]
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return answer
}

// requests returns the requests, and only those for paths with the given suffix.
func (p *pods) requests(suffix string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.asked), func(s string) bool {
		path, _, _ := strings.Cut(s, " ")
		return !strings.HasSuffix(path, suffix)
	})
}

func podJSON(phase string, restarts int) string {
	state := `"running":{"startedAt":"2026-01-01T00:00:05Z"}`
	if phase == "Succeeded" {
		state = `"terminated":{"exitCode":0}`
	}
	return fmt.Sprintf(`{"metadata":{"name":"web","uid":"u1","resourceVersion":"2","creationTimestamp":"2026-01-01T00:00:00Z"},`+
		`"status":{"phase":%q,"containerStatuses":[{"name":"main","restartCount":%d,"state":{%s}}]}}`, phase, restarts, state)
}

// run waits for the pod, which completes when until returns true.
func (p *pods) run(t *testing.T, watch *Watch, until func() bool) error {
	t.Helper()
	go func() {
		for i := 0; i < 500 && !until(); i++ {
			time.Sleep(10 * time.Millisecond)
		}
		close(p.done)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return p.waiter.Finish(ctx, Request{Objects: podManifest(t, ""), Namespace: "shop", Watch: watch})
}

func podManifest(t *testing.T, annotations string) []*manifest.Object {
	return apitest.Parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {"+annotations+"}}\nspec: {containers: [{name: main, image: a}]}")
}

// lines returns the texts of the events of a kind, with their objects.
func (p *pods) lines(kind progress.Kind) []string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	var out []string
	for _, e := range p.Events {
		if e.Kind == kind {
			out = append(out, strings.TrimPrefix(e.Object+": "+e.Text, ": "))
		}
	}
	return out
}

// logLine returns a line with a time n seconds after the pod's start.
func logLine(n int, text string) string {
	return fmt.Sprintf("2026-01-01T00:00:%02d.5Z %s\n", n, text)
}

func TestLogsOfAWait(t *testing.T) {
	long := strings.Repeat("x", 100000)
	var flood strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&flood, "2026-01-01T00:%02d:%02d.5Z line %d\n", i/60, i%60, i)
	}
	whole := answer
	forbidden := func(w http.ResponseWriter, _ *http.Request) {
		apitest.Refuse(w, http.StatusForbidden, "Forbidden", "pods web is forbidden: cannot get resource pods/log")
	}
	for _, test := range []struct {
		name    string
		log     []http.HandlerFunc
		watch   Watch
		want    []string
		warned  int
		request string // one for the log
	}{
		{
			name: "a line each", log: []http.HandlerFunc{whole(logLine(1, "one") + logLine(2, "two"))},
			want: []string{"web: one", "web: two"}, request: podPath + "/web/log",
		}, {
			name: "a log without times", log: []http.HandlerFunc{whole("one\ntwo")}, want: []string{"web: one", "web: two"},
		}, {
			name: "a connection that is lost goes on after the last line",
			log:  []http.HandlerFunc{torn(logLine(1, "one") + logLine(2, "two")), whole(logLine(2, "two") + logLine(3, "three"))},
			want: []string{"web: one", "web: two", "web: three"}, request: podPath + "/web/log sinceTime=2026-01-01T00:00:02Z",
		}, {
			name: "a server that is busy is asked again",
			log:  []http.HandlerFunc{answerStatus(503, "ServiceUnavailable"), whole(logLine(1, "one"))}, want: []string{"web: one"},
		}, {
			name: "keep and drop", log: []http.HandlerFunc{whole(logLine(1, "error: a") + logLine(2, "info") + logLine(3, "error: known"))},
			watch: Watch{Keep: []*regexp.Regexp{regexp.MustCompile("^error"), regexp.MustCompile("^fatal")},
				Drop: []*regexp.Regexp{regexp.MustCompile("known$")}},
			want: []string{"web: error: a"},
		}, {
			name: "colours and what was overwritten are left out",
			log:  []http.HandlerFunc{whole(logLine(1, "\x1b[1;31mred\x1b[0m\r") + logLine(2, "10%\r20%\r30%") + logLine(3, "a\xffb"))},
			want: []string{"web: red", "web: 30%", "web: a\uFFFDb"},
		}, {
			name: "a long line is cut", log: []http.HandlerFunc{whole(logLine(1, long) + logLine(2, "next"))},
			want: []string{"web: " + long[:maxLineBytes] + "…", "web: next"},
		}, {
			name: "what is over the rate is counted", log: []http.HandlerFunc{whole(flood.String())},
			want: nil, // see below
		}, {
			name: "without permission", log: []http.HandlerFunc{forbidden}, warned: 1,
		}, {
			name: "a pod that is gone",
			log: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
				apitest.Refuse(w, http.StatusNotFound, "NotFound", "gone")
			}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPods(t, test.log, []http.HandlerFunc{forbidden})
			test.watch.Logs = true
			left := len(test.log)
			if err := p.run(t, &test.watch, func() bool { return len(p.requests("/log")) >= left && len(p.lines(progress.Warning)) > test.warned }); err != nil {
				t.Fatal(err)
			}
			got := p.lines(progress.Log)
			if test.name == "what is over the rate is counted" {
				if n := len(got); n < burstLines+1 || n > burstLines+100 || !strings.HasSuffix(got[n-1], "left out: more than 50 a second)") {
					t.Errorf("got %d lines, the last %q", n, got[max(n-1, 0):])
				}
			} else if !slices.Equal(got, test.want) {
				t.Errorf("got %.200q, want %.200q", got, test.want)
			}
			if warned := p.lines(progress.Warning); len(warned) != test.warned+1 || !strings.Contains(strings.Join(warned, "\n"), "events are not shown: ") {
				t.Errorf("warned %q, want %d times and of the events, which are forbidden", warned, test.warned)
			}
			if asked := p.requests("/log"); test.request != "" && !slices.Contains(asked, test.request) {
				t.Errorf("asked %q, not %q", asked, test.request)
			}
		})
	}
}

func TestLogBytesAreLimited(t *testing.T) {
	sent := 0
	p := newPods(t, []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			n, err := w.Write([]byte(logLine(1, strings.Repeat("x", 1000))))
			if sent += n; err != nil {
				return
			}
		}
	}}, []http.HandlerFunc{answer(`{"metadata":{"resourceVersion":"1"},"items":[]}`)})
	full := func() bool {
		return strings.Contains(p.Said(progress.Log), "4 MiB were read: kubectl logs -n shop web)")
	}
	if err := p.run(t, &Watch{Logs: true}, full); err != nil {
		t.Fatal(err)
	}
	if !full() {
		t.Errorf("got %.300q, want a line that says that the log is left out", p.Said(progress.Log))
	}
}

// eventJSON is an event of the pod "web" that has occurred now.
func eventJSON(uid, reason, message string, count int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q,"resourceVersion":"9"},"involvedObject":{"kind":"Pod","name":"web","namespace":"shop"},`+
		`"type":"Warning","reason":%q,"message":%q,"count":%d,"lastTimestamp":%q}`, uid, uid, reason, message, count,
		time.Now().UTC().Format(time.RFC3339))
}

func TestEventsOfAWait(t *testing.T) {
	list := func(items ...string) http.HandlerFunc {
		return answer(`{"metadata":{"resourceVersion":"5"},"items":[` + strings.Join(items, ",") + `]}`)
	}
	added := func(event string) string { return `{"type":"ADDED","object":` + event + "}\n" }
	old := strings.Replace(eventJSON("e0", "Failed", "an hour ago", 1), time.Now().UTC().Format("2006"), "2020", 1)
	other := strings.Replace(eventJSON("e1", "Failed", "of another pod", 1), `"name":"web"`, `"name":"other"`, 1)
	for _, test := range []struct {
		name   string
		events []http.HandlerFunc
		want   []string
		asked  int
	}{
		{"those that were there before are old", []http.HandlerFunc{list(old, other), torn(added(eventJSON("e2", "BackOff", "restarting", 1)))},
			[]string{"Pod/web: BackOff: restarting"}, 2},
		{"the same again is said once", []http.HandlerFunc{list(), torn(added(eventJSON("e2", "BackOff", "back-off 10s restarting", 1)) +
			added(eventJSON("e2", "BackOff", "back-off 20s restarting", 2)) + added(eventJSON("e3", "BackOff", "back-off 10s restarting", 7)))},
			[]string{"Pod/web: BackOff: back-off 10s restarting"}, 2},
		{"the count of one that was there", []http.HandlerFunc{list(eventJSON("e2", "Unhealthy", "probe failed", 4))},
			[]string{"Pod/web: Unhealthy: probe failed (4 times)"}, 1},
		{"a watch that has expired is begun again", []http.HandlerFunc{list(), answer(`{"type":"ERROR","object":{"kind":"Status","code":410}}`),
			list(eventJSON("e2", "Failed", "late", 1))}, []string{"Pod/web: Failed: late"}, 3},
		{"410 as the answer", []http.HandlerFunc{list(), answerStatus(http.StatusGone, "Expired"), list(eventJSON("e2", "Failed", "late", 1))},
			[]string{"Pod/web: Failed: late"}, 3},
		{"lines and what is too long are cut", []http.HandlerFunc{list(eventJSON("e2", "Failed", "first\nsecond "+strings.Repeat("x", 900), 1))},
			[]string{"Pod/web: Failed: first"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPods(t, []http.HandlerFunc{answer("")}, append(test.events, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			if err := p.run(t, &Watch{}, func() bool {
				return len(p.requests("/events")) > test.asked && len(p.lines(progress.Occurred)) >= len(test.want)
			}); err != nil {
				t.Fatal(err)
			}
			if got := p.lines(progress.Occurred); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if got := p.requests("/log"); len(got) > 0 {
				t.Errorf("asked for logs, which are not wanted: %q", got)
			}
		})
	}
}

func TestEventsAreLimited(t *testing.T) {
	var rec apitest.Recorder
	h, a := newHappenings(), &awaited{Target: api.NewTarget("", map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "web"}})}
	for i := range 10 * maxHappenings {
		e := eventItem{Reason: strings.Repeat("r", i+1), Message: "m"}
		h.add(a, e, rec.Record)
	}
	h.finish(rec.Record)
	if n := len(rec.Events); n != maxHappenings+1 || len(h.byKey) != maxHappenings {
		t.Errorf("reported %d events and knows %d, want %d and a line that says how many were left out", n, len(h.byKey), maxHappenings)
	}
	if got := rec.Last().Text; got != fmt.Sprintf("%d events left out: more than %d different ones", 9*maxHappenings, maxHappenings) {
		t.Errorf("the last is %q", got)
	}
}

// A wait without a Watch makes the requests that it made before there was one, and so does its pod watch.
func TestNoWatchNoRequests(t *testing.T) {
	p := newPods(t, nil, nil)
	if err := p.run(t, nil, func() bool { return len(p.requests("/pods")) == 2 }); err != nil {
		t.Fatal(err)
	}
	want := []string{"/api", podPath + " fieldSelector=metadata.name=web", podPath + " watch=1 fieldSelector=metadata.name=web", "/apis"}
	got := p.requests("")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestSessionDoesNotRepeat(t *testing.T) {
	p := newPods(t, []http.HandlerFunc{answer(logLine(1, "one")), answer(logLine(1, "one") + logLine(2, "two"))},
		[]http.HandlerFunc{answer(`{"metadata":{"resourceVersion":"5"},"items":[` + eventJSON("e2", "Failed", "same", 1) + `]}`)})
	watch := (&Watch{Logs: true}).Session()
	asked := func(n int) func() bool { return func() bool { return len(p.requests("/log")) >= n } }
	if err := p.run(t, watch, func() bool { return asked(1)() && len(p.lines(progress.Occurred)) > 0 }); err != nil {
		t.Fatal(err)
	}
	p.done = make(chan struct{})
	if err := p.run(t, watch, asked(2)); err != nil {
		t.Fatal(err)
	}
	if got := p.lines(progress.Log); !slices.Equal(got, []string{"web: one", "web: two"}) {
		t.Errorf("got %q, want each line once", got)
	}
	if got := p.lines(progress.Occurred); len(got) != 1 {
		t.Errorf("got %q, want the event once", got)
	}
}

func TestOwnTimeout(t *testing.T) {
	for _, test := range []struct {
		name, annotation string
		timeout          time.Duration
		limit            Limit
		atLeast, atMost  time.Duration
		expired          string
	}{
		{"shorter than that of the operation", "moonhelm.github.io/timeout: 1s", time.Minute, Limit{}, time.Second, 3 * time.Second, "Pod/web"},
		{"longer", "moonhelm.github.io/timeout: 1s", 100 * time.Millisecond, Limit{}, time.Second, 3 * time.Second, "Pod/web"},
		{"the caller's", "", time.Minute, Limit{500 * time.Millisecond, "the timeout for Pod/web"}, 500 * time.Millisecond, 3 * time.Second, "Pod/web"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPods(t, nil, nil)
			objects := podManifest(t, test.annotation)
			limit, err := LimitOf(objects[0])
			if err != nil {
				t.Fatal(err)
			}
			if limit.Timeout == 0 {
				limit = test.limit
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			begun := time.Now()
			err = p.waiter.Finish(ctx, Request{Objects: objects, Namespace: "shop", Timeout: test.timeout,
				Limits: map[*manifest.Object]Limit{objects[0]: limit}})
			var pending *PendingError
			if !errors.As(err, &pending) || !pending.TimedOut() || pending.Expired != test.expired {
				t.Fatalf("got %v, want a *PendingError that names %s", err, test.expired)
			}
			if took := time.Since(begun); took < test.atLeast || took > test.atMost {
				t.Errorf("took %s", took)
			}
			if text := pending.Error(); !strings.Contains(text, "not ready within "+elapsed(limit.Timeout)+", as "+limit.Origin+" says") {
				t.Errorf("the error does not name the timeout: %s", text)
			}
			if want := "--timeout Pod/web=" + elapsed(2*limit.Timeout) + " gives it more time than " + limit.Origin; pending.MoreTime() != want {
				t.Errorf("MoreTime() = %q, want %q", pending.MoreTime(), want)
			}
		})
	}
}

func TestLimitOf(t *testing.T) {
	for value, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "24h": 24 * time.Hour,
		"1s": time.Second, "10": 0, "-5m": 0, "500ms": 0, "25h": 0, "": 0, "1e9h": 0, "soon": 0} {
		o := podManifest(t, fmt.Sprintf("moonhelm.github.io/timeout: %q", value))[0]
		got, err := LimitOf(o)
		var invalid *TimeoutError
		if got.Timeout != want || (want == 0) != errors.As(err, &invalid) {
			t.Errorf("%q: got %v, %v, want %s", value, got, err, want)
		}
		if err := CheckTimeouts([]*manifest.Object{o}); (err != nil) != (want == 0) {
			t.Errorf("%q: CheckTimeouts: %v", value, err)
		}
	}
	if got, err := LimitOf(podManifest(t, "")[0]); err != nil || got != (Limit{}) {
		t.Errorf("without the annotation: %v, %v", got, err)
	}
}
