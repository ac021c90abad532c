// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// server is an API server for Leases with permissions by method.
type server struct {
	mu      sync.Mutex
	leases  map[string]*lease
	version int
	asked   map[string]int // requests by method
	paths   []string
	// going is set while the namespace is being deleted.
	going bool
	// refuse returns the error of a request that is not executed; lose returns that of one
	// that is.
	refuse func(method string) error
	lose   func(method string) error
}

func newServer() *server { return &server{leases: map[string]*lease{}, asked: map[string]int{}} }

func (s *server) Call(ctx context.Context, method, path string, _ url.Values, _ http.Header, body []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[method]++
	s.paths = append(s.paths, method+" "+path)
	if s.refuse != nil {
		if err := s.refuse(method); err != nil {
			return nil, err
		}
	}
	if path == "/api/v1/namespaces/prod" {
		if s.going {
			return []byte(`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`), nil
		}
		return []byte(`{"metadata":{}}`), nil
	}
	l, err := s.serve(method, path, body)
	if err == nil && s.lose != nil {
		err = s.lose(method)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(l)
}

func (s *server) serve(method, path string, body []byte) (*lease, error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	old := s.leases[name]
	if method != http.MethodPost && old == nil {
		return nil, apierrors.NewNotFound(leases, name)
	}
	var next lease
	switch method {
	case http.MethodGet:
		return old, nil
	case http.MethodDelete:
		var options struct{ Preconditions leaseMeta }
		if err := json.Unmarshal(body, &options); err != nil {
			return nil, err
		}
		if options.Preconditions.ResourceVersion != old.Metadata.ResourceVersion || options.Preconditions.UID != old.Metadata.UID {
			return nil, apierrors.NewConflict(leases, name, errors.New("precondition"))
		}
		delete(s.leases, name)
		return old, nil
	}
	if err := json.Unmarshal(body, &next); err != nil {
		return nil, err
	}
	s.version++
	if method == http.MethodPost {
		if name = next.Metadata.Name; s.leases[name] != nil {
			return nil, apierrors.NewAlreadyExists(leases, name)
		}
		next.Metadata.UID = "uid" + strconv.Itoa(s.version)
	} else if next.Metadata.ResourceVersion != old.Metadata.ResourceVersion {
		return nil, apierrors.NewConflict(leases, name, errors.New("changed"))
	}
	next.Metadata.ResourceVersion = strconv.Itoa(s.version)
	s.leases[name] = &next
	return &next, nil
}

// lease returns a copy of the Lease of release web, or nil.
func (s *server) lease() *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases["moonhelm.v1.web"]
	if l == nil {
		return nil
	}
	c := *l
	return &c
}

func (s *server) set(refuse, lose func(string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.lose = refuse, lose
}

// edit changes the Leases like another client.
func (s *server) edit(fn func(map[string]*lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.leases)
}

func (s *server) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// forbidding rejects requests with the given methods.
func forbidding(methods ...string) func(string) error {
	return func(method string) error {
		for _, m := range methods {
			if m == method {
				return apierrors.NewForbidden(leases, "", errors.New("cannot"))
			}
		}
		return nil
	}
}

// records is one pending record.
type records struct {
	mu        sync.Mutex
	heartbeat storage.Heartbeat
	renewals  int
	err       error
	// fail is the error of heartbeats, or nil.
	fail error
}

func (r *records) RenewHeartbeat(_ context.Context, _ string, _ int, seen storage.Heartbeat, holder string) (storage.Heartbeat, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.fail != nil:
		return storage.Heartbeat{}, r.fail
	case seen != r.heartbeat || !r.heartbeat.Status.InProgress():
		return storage.Heartbeat{}, storage.ErrChanged
	}
	r.renewals++
	r.heartbeat.Token, r.heartbeat.Holder = strconv.Itoa(r.renewals), holder
	return r.heartbeat, nil
}

func (r *records) Heartbeat(context.Context, string, int) (storage.Heartbeat, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heartbeat, r.err
}

// refuse makes heartbeats fail, and with gone the read of the record too.
func (r *records) refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
	if errors.Is(err, storage.ErrNotFound) {
		r.err = err
	}
}

func (r *records) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewals
}

func (r *records) set(status release.Status, holder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heartbeat = storage.Heartbeat{Status: status, Holder: holder, Token: "since " + time.Now().Format(time.RFC3339Nano), Changed: time.Now()}
}

// told records the progress of a Locker.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (r *told) record(e progress.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(e.Kind)+": "+e.Text)
}

func (r *told) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// as changes the identity of locks to another machine.
func as(who string) Options { return Options{Who: who} }

func (l *Locker) lock(t *testing.T, doing string) (context.Context, *releaseLock) {
	t.Helper()
	ctx, k, err := l.Lock(t.Context(), "web", doing)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, k.(*releaseLock)
}

// kill ends a holder like SIGKILL, without releasing the lock. Its process seems to be on an
// unknown machine.
func (s *server) kill(k *releaseLock) {
	k.end()
	k.goroutines.Wait()
	s.disguise()
}

// disguise changes the holder of the Lease to one on another machine.
func (s *server) disguise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases["moonhelm.v1.web"]
	h, _ := l.holder()
	h.Machine = "elsewhere"
	l.Metadata.Annotations = map[string]string{annotation: h.String()}
}

// renew sends another client's heartbeat.
func (r *records) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewals++
	r.heartbeat.Token = strconv.Itoa(r.renewals)
}
