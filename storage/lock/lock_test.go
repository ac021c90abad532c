// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/release"
)

func TestLockAndUnlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ctx, k := New(s, &records{}, "prod", as("alice@laptop")).lock(t, "upgrade")
		l := s.lease()
		if l == nil || l.Metadata.Labels["owner"] != "moonhelm" || l.Metadata.Labels["name"] != "web" || l.Metadata.Namespace != "prod" ||
			!strings.HasPrefix(l.Spec.HolderIdentity, "alice@laptop (pid ") || l.Spec.LeaseDurationSeconds != 30 {
			t.Errorf("the lease is %+v", l)
		}
		h, ok := ParseHolder(k.Holder())
		if !ok || h.Guard != ByLease || h.Doing != "upgrade" || strings.Contains(k.Holder(), "\n") {
			t.Errorf("holder %q", k.Holder())
		}
		k.Unlock()
		k.Unlock()
		if s.lease() != nil || ctx.Err() == nil {
			t.Errorf("after Unlock: %+v, %v", s.lease(), ctx.Err())
		}
	})
}

func TestLockWaitsForHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newServer(), &told{}
		_, first := New(s, nil, "prod", as("alice@laptop")).lock(t, "rollback")
		time.AfterFunc(2*time.Minute, first.Unlock)
		began := time.Now()
		_, second := New(s, nil, "prod", Options{Who: "bob@ci", Progress: out.record}).lock(t, "upgrade")
		defer second.Unlock()
		if waited := time.Since(began); waited < 2*time.Minute || waited > 2*time.Minute+2*time.Second {
			t.Errorf("waited for %s", waited)
		}
		if got := out.String(); strings.Count(got, "\n") != 0 || !strings.HasPrefix(got, "step: waiting for alice@laptop (pid ") ||
			!strings.Contains(got, `who has been rolling back "web" since `) {
			t.Errorf("told %q", got)
		}
		if n := s.count("GET"); n > 300 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestLockDoesNotTakeOverLiveHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ctx, first := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
		defer first.Unlock()
		began := time.Now()
		_, _, err := New(s, nil, "prod", Options{Who: "bob@ci", Timeout: time.Hour}).Lock(t.Context(), "web", "upgrade")
		var locked *LockedError
		if !errors.As(err, &locked) || time.Since(began) < time.Hour || ctx.Err() != nil {
			t.Fatalf("after %s: %v, the holder: %v", time.Since(began), err, context.Cause(ctx))
		}
		if !strings.HasPrefix(locked.Error(), inProgress+`: release "web" is locked: alice@laptop (pid `) || locked.Doing != "upgrade" || locked.Since.IsZero() {
			t.Errorf("got %v", err)
		}
	})
}

func TestLockEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		_, first := New(s, nil, "prod", as("alice@laptop")).lock(t, "install")
		defer first.Unlock()
		second := New(s, nil, "prod", as("bob@ci"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var locked *LockedError
		if _, _, err := second.Lock(ctx, "web", "upgrade"); !errors.As(err, &locked) {
			t.Errorf("at the deadline: %v", err)
		}
		stop := errors.New("interrupted")
		cctx, interrupt := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { interrupt(stop) })
		if _, _, err := second.Lock(cctx, "web", "upgrade"); !errors.Is(err, stop) ||
			!strings.HasPrefix(err.Error(), `stopped waiting for the lock of release "web" (interrupted): alice@laptop`) ||
			!strings.HasSuffix(err.Error(), "\n  nothing was changed") {
			t.Errorf("interrupted: %v", err)
		}
	})
}

func TestLockTakeOverConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newServer(), &told{}
		ctx, first := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
		time.Sleep(17 * time.Second)
		s.kill(first)
		began := time.Now()
		var at, most atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				// With any timeout, an abandoned lock must be taken over.
				_, k, err := New(s, nil, "prod", Options{Who: fmt.Sprint("taker", i), Timeout: 45 * time.Second, Progress: out.record}).Lock(t.Context(), "web", "install")
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), at.Add(1)))
				time.Sleep(time.Second)
				at.Add(-1)
				k.Unlock()
			})
		}
		wg.Wait()
		if took := time.Since(began); most.Load() != 1 || took < leaseDuration || took > leaseDuration+25*time.Second {
			t.Errorf("%d at once, after %s", most.Load(), took)
		}
		if s.lease() != nil || ctx.Err() != nil {
			t.Errorf("left %+v", s.lease())
		}
		if strings.Count(out.String(), "warning: the upgrade by alice@laptop (pid ") != 1 || !strings.Contains(out.String(), "was abandoned; continuing") {
			t.Errorf("told %q", out)
		}
	})
}

func TestLostLeaseCancelsOperation(t *testing.T) {
	for name, c := range map[string]struct {
		trouble func(*server)
		within  time.Duration
		says    string
	}{
		"the API server is out of reach": {func(s *server) {
			s.set(func(string) error { return errors.New("no route") }, nil)
		}, 26 * time.Second, "could not be renewed for 25s, and others may take it: no route"},
		"someone has taken it": {func(s *server) {
			s.edit(func(all map[string]*lease) {
				all["moonhelm.v1.web"] = newLease("prod", "web", Holder{ID: "x", Who: "eve@attic"})
			})
		}, 6 * time.Second, "eve@attic has taken it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				r := &records{}
				ctx, k := New(s, r, "prod", as("alice@laptop")).lock(t, "upgrade")
				r.set(release.PendingUpgrade, k.Holder())
				k.Guard(2)
				time.Sleep(7 * time.Second)
				began := time.Now()
				c.trouble(s)
				<-ctx.Done()
				var lost *LostError
				if err := context.Cause(ctx); !errors.As(err, &lost) || !strings.Contains(err.Error(), c.says) || time.Since(began) > c.within {
					t.Errorf("after %s: %v", time.Since(began), context.Cause(ctx))
				}
				s.set(nil, nil)
				synctest.Wait()
				before := r.count()
				time.Sleep(time.Minute)
				if r.count() != before {
					t.Error("the record sends heartbeats although the lock is lost")
				}
				k.Unlock()
				if s.lease() == nil {
					t.Error("a lease that is not ours any more was deleted")
				}
			})
		})
	}
}

func TestTemporaryErrorsKeepLock(t *testing.T) {
	for name, trouble := range map[string]func(s *server){
		"no answers for 15 seconds": func(s *server) { s.set(func(string) error { return errors.New("reset") }, nil) },
		"answers that are lost":     func(s *server) { s.set(nil, func(string) error { return errors.New("reset") }) },
		"someone deletes it":        func(s *server) { s.edit(func(all map[string]*lease) { clear(all) }) },
		"someone labels it": func(s *server) {
			s.edit(func(all map[string]*lease) {
				labelled := *all["moonhelm.v1.web"]
				labelled.Metadata.ResourceVersion = "label"
				all["moonhelm.v1.web"] = &labelled
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				ctx, k := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
				for range 5 {
					time.Sleep(13 * time.Second)
					trouble(s)
					time.Sleep(15 * time.Second)
					s.set(nil, nil)
				}
				if ctx.Err() != nil || s.lease() == nil {
					t.Fatalf("lost: %v", context.Cause(ctx))
				}
				trouble(s)
				s.set(nil, nil)
				k.Unlock()
				if s.lease() != nil {
					t.Error("it is still there")
				}
			})
		})
	}
}

func TestLockLostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.set(nil, func(method string) error {
			if method == http.MethodPost { // the response to a repeated request
				return apierrors.NewAlreadyExists(leases, "web")
			}
			return nil
		})
		began := time.Now()
		_, k := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
		k.Unlock()
		if time.Since(began) > time.Second || s.lease() != nil {
			t.Errorf("after %s: %+v", time.Since(began), s.lease())
		}
	})
}

func TestLockWithoutLeasePermission(t *testing.T) {
	for _, methods := range [][]string{{"POST"}, {"PUT"}, {"PUT", "DELETE"}, {"POST", "GET", "PUT", "DELETE"}} {
		t.Run(strings.Join(methods, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				s.set(forbidding(methods...), nil)
				ctx, k := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
				if h, ok := ParseHolder(k.Holder()); !ok || h.Guard != ByRecord || k.Leased() {
					t.Errorf("holder %q", k.Holder())
				}
				time.Sleep(time.Hour)
				if ctx.Err() != nil {
					t.Error(context.Cause(ctx))
				}
				k.Unlock()
				if s.lease() != nil && len(methods) == 1 {
					t.Errorf("left %+v", s.lease())
				}
			})
		})
	}
	t.Run("GET", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			_, other := New(s, nil, "prod", as("bob@ci")).lock(t, "upgrade")
			defer other.Unlock()
			synctest.Wait()
			s.set(forbidding("GET"), nil)
			_, k := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
			defer k.Unlock()
			if k.Leased() {
				t.Error("holds what it may not read")
			}
		})
	})
	t.Run("DELETE", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.set(forbidding("DELETE"), nil)
			began := time.Now()
			for range 3 {
				_, k := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
				if !k.Leased() {
					t.Error("no lease")
				}
				k.Unlock()
			}
			if time.Since(began) > time.Second || s.lease().Spec.HolderIdentity != "" {
				t.Errorf("after %s: %+v", time.Since(began), s.lease())
			}
		})
	})
}

func TestLockMissingNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.set(func(string) error { return apierrors.NewNotFound(leases, "prod") }, nil)
		_, k := New(s, nil, "prod", Options{}).lock(t, "install")
		if k.Leased() {
			t.Error("a lease in no namespace")
		}
		k.Unlock()
	})
}

func TestLockTerminatingNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ctx, k := New(s, nil, "prod", Options{}).lock(t, "uninstall")
		synctest.Wait()
		s.edit(func(all map[string]*lease) { clear(all) })
		s.set(forbidding("POST"), nil) // the namespace is being deleted
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
		k.Unlock()
	})
}

func TestLockForeignLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		strange := newLease("prod", "web", Holder{})
		strange.Metadata.Annotations, strange.Metadata.ResourceVersion = map[string]string{annotation: "{{"}, "7"
		strange.Spec = leaseSpec{HolderIdentity: "another tool", RenewTime: "2099-01-01T00:00:00Z", LeaseDurationSeconds: 90}
		s.leases["moonhelm.v1.web"] = strange
		began, out := time.Now(), &told{}
		_, k := New(s, nil, "prod", Options{Progress: out.record}).lock(t, "upgrade")
		defer k.Unlock()
		if took := time.Since(began); took < 90*time.Second || took > 93*time.Second {
			t.Errorf("after %s", took)
		}
		if !strings.Contains(out.String(), "an operation by another tool was abandoned") {
			t.Errorf("told %q", out)
		}
	})
}

func TestLockLimitsLeaseDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		forged := newLease("prod", "web", Holder{})
		forged.Metadata.Annotations, forged.Metadata.ResourceVersion = nil, "7"
		forged.Spec = leaseSpec{HolderIdentity: "mallory", LeaseDurationSeconds: math.MaxInt32}
		s.leases["moonhelm.v1.web"] = forged
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, k, err := New(s, nil, "prod", Options{}).Lock(ctx, "web", "upgrade")
		if err != nil {
			t.Fatal(err)
		}
		k.Unlock()
	})
}

func TestLockErrors(t *testing.T) {
	broken := errors.New("no route to host")
	s := newServer()
	s.set(func(string) error { return broken }, nil)
	if _, _, err := New(s, nil, "prod", Options{}).Lock(t.Context(), "web", "upgrade"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "lock release web") {
		t.Error(err)
	}
	for _, name := range []string{"", "a/b", "%2e"} {
		if _, _, err := New(s, nil, "prod", Options{}).Lock(t.Context(), name, "upgrade"); err == nil || errors.Is(err, broken) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLockRejectsInvalidNames(t *testing.T) {
	for _, tc := range []struct{ name, namespace string }{
		{"web", ""}, {"", "prod"}, {"a/b", "prod"}, {"web", "a%2fb"},
	} {
		t.Run(tc.name+" in "+tc.namespace, func(t *testing.T) {
			_, _, err := New(newServer(), nil, tc.namespace, Options{}).Lock(t.Context(), tc.name, "install")
			var invalid *NameError
			if !errors.As(err, &invalid) || invalid.Release != tc.name || invalid.Namespace != tc.namespace {
				t.Errorf("got %v, want a NameError of %q and %q", err, tc.name, tc.namespace)
			}
		})
	}
}
