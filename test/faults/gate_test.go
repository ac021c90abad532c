// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// gate is a proxy between helm and the API server. Its rule decides the fate of each request.
type gate struct {
	server *httptest.Server
	proxy  *httputil.ReverseProxy
	active atomic.Int32 // requests in progress
	writes atomic.Int32
	reads  atomic.Int32

	mu    sync.Mutex
	rule  rule
	log   []string // the writes
	kinds []string // their kinds
	// process is the running helm.
	process chan *os.Process
}

// fate is the fault that is injected into a request.
type fate int

const (
	pass       fate = iota
	killBefore      // helm is killed before the request reaches the server
	killAfter       // helm is killed before it receives the response
	drop            // the server handles the request, but the response is lost
	cut             // the connection breaks before the request reaches the server
	busy            // 429
	mishap          // 500
	refuse          // 403
	starting        // 503
	gone            // 410
	expire          // a watch starts and ends with an error event
	stop            // helm is stopped before it receives the response
)

// request is a request at the gate.
type request struct {
	*http.Request
	write bool
	n     int    // 1-based number among the writes, or among the other requests
	kind  string // of a write, see [kindOf]
	nth   int    // 1-based number among the writes of the kind
}

// rule returns the fate of a request.
type rule func(q request) fate

func newGate(t *testing.T, c *cluster) *gate {
	base, err := url.Parse(c.Base)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{process: make(chan *os.Process, 1)}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			r.Out.Header.Set("Authorization", "Bearer "+c.Token)
		},
		Transport: c.Transport, FlushInterval: -1,
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	g.server = httptest.NewUnstartedServer(g)
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.server.Start()
	t.Cleanup(g.server.Close)
	return g
}

// quiet returns when no request has been in progress for a moment: requests of a killed helm
// may arrive after its end.
func (g *gate) quiet() {
	for still := 0; still < 3; time.Sleep(10 * time.Millisecond) {
		if still++; g.active.Load() > 0 {
			still = 0
		}
	}
}

// reset resets the counters and sets the rule. With a nil rule every request passes.
func (g *gate) reset(r rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes.Store(0)
	g.reads.Store(0)
	g.rule, g.log, g.kinds = r, nil, nil
}

func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return !strings.HasSuffix(r.URL.Path, "reviews") // access reviews change nothing
	}
	return false
}

func (g *gate) decide(r *http.Request) fate {
	q := request{Request: r, write: writes(r)}
	counter := &g.reads
	if q.write {
		counter = &g.writes
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		q.kind = kindOf(r, body)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	q.n = int(counter.Add(1))
	if q.write {
		g.log = append(g.log, fmt.Sprintf("%d: %s %s", q.n, r.Method, r.URL.Path))
		g.kinds = append(g.kinds, q.kind)
		q.nth = count(g.kinds, q.kind)
	}
	if g.rule == nil {
		return pass
	}
	return g.rule(q)
}

// made returns the kinds of the writes, in their order.
func (g *gate) made() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.kinds)
}

// reached reports whether helm has made the write of p.
func (g *gate) reached(p point) bool {
	return count(g.made(), p.kind) >= p.nth
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.active.Add(1)
	defer g.active.Add(-1)
	switch g.decide(r) {
	case killBefore:
		g.kill()
	case killAfter:
		g.forward(r)
		g.kill()
	case stop:
		g.stop()
		g.proxy.ServeHTTP(w, r)
	case drop:
		g.forward(r)
		panic(http.ErrAbortHandler)
	case cut:
		panic(http.ErrAbortHandler)
	case busy:
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, "TooManyRequests")
	case mishap:
		fail(w, http.StatusInternalServerError, "InternalError")
	case refuse:
		fail(w, http.StatusForbidden, "Forbidden")
	case starting:
		fail(w, http.StatusServiceUnavailable, "ServiceUnavailable")
	case gone:
		fail(w, http.StatusGone, "Expired")
	case expire:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"type":"ERROR","object":`+status(http.StatusGone, "Expired")+`}`)
	default:
		g.proxy.ServeHTTP(w, r)
	}
}

// forward sends the request to the server, even if the client disconnects.
func (g *gate) forward(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.proxy.ServeHTTP(httptest.NewRecorder(), r)
}

func (g *gate) kill() {
	p := <-g.process
	_ = p.Kill()
	g.process <- p
	panic(http.ErrAbortHandler)
}

// stop returns once the process is stopped. A signal takes effect only when one of the
// process's threads gets to run: on a busy machine the others would go on for long enough
// to finish.
func (g *gate) stop() {
	p := <-g.process
	_ = p.Signal(syscall.SIGSTOP)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		_, state, found := strings.Cut(string(text), ") ") // after the program's name
		if err != nil || found && strings.HasPrefix(state, "T") {
			break
		}
	}
	g.process <- p
}

func fail(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprint(w, status(code, reason))
}

func status(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected by the test","reason":%q,"code":%d}`, reason, code)
}

// kept returns the writes that passed the gate, for messages.
func (g *gate) kept() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.log, "\n    ")
}
