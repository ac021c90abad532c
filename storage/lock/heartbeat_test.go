// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// guarded returns a lock without a Lease whose operation has written its record.
func guarded(t *testing.T, s *server, r *records) (context.Context, *releaseLock) {
	t.Helper()
	s.set(forbidding("POST"), nil)
	ctx, k := New(s, r, "prod", as("alice@laptop")).lock(t, "upgrade")
	r.set(release.PendingUpgrade, k.Holder())
	k.Guard(3)
	return ctx, k
}

func bob(guard string) string {
	return Holder{Version: 1, Guard: guard, ID: "b", Who: "bob@ci", Doing: "upgrade"}.String()
}

func TestGuardRecordTaken(t *testing.T) {
	for name, c := range map[string]struct {
		trouble func(*records)
		within  time.Duration
		says    string
	}{
		"another holder":           {func(r *records) { r.set(release.PendingUpgrade, bob(ByRecord)) }, heartbeatEvery + time.Second, "bob@ci has taken it"},
		"another status":           {func(r *records) { r.set(release.Failed, "") }, heartbeatEvery + time.Second, "another client has changed revision 3, which is failed now"},
		"another client's pending": {func(r *records) { r.set(release.PendingUpgrade, "") }, heartbeatEvery + time.Second, "another client has changed revision 3"},
		"it is deleted":            {func(r *records) { r.refuse(storage.ErrNotFound) }, heartbeatEvery + time.Second, "another client has deleted the record of revision 3"},
		"heartbeats fail":          {func(r *records) { r.refuse(errors.New("no route")) }, staleAfter + 2*time.Second, "could not be renewed for 25s, and others may take it: no route"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := newServer(), &records{}
				ctx, k := guarded(t, s, r)
				time.Sleep(17 * time.Second)
				if err := Check(ctx); err != nil {
					t.Fatalf("before: %v", err)
				}
				began := time.Now()
				c.trouble(r)
				<-ctx.Done()
				var lost *LostError
				if err := context.Cause(ctx); !errors.As(err, &lost) || !strings.Contains(err.Error(), c.says) || time.Since(began) > c.within {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				if err := Check(context.WithoutCancel(ctx)); !errors.As(err, &lost) {
					t.Errorf("it may still write: %v", err)
				}
				before := r.count()
				time.Sleep(time.Minute)
				if r.count() != before {
					t.Error("heartbeats go on although the lock is lost")
				}
				k.Unlock()
			})
		})
	}
}

func TestGuardNamespaceDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newServer(), &records{}
		ctx, k := guarded(t, s, r)
		s.going = true
		r.refuse(storage.ErrNotFound)
		time.Sleep(time.Minute)
		if ctx.Err() != nil || Check(ctx) != nil {
			t.Errorf("lost: %v, %v", context.Cause(ctx), Check(ctx))
		}
		k.Unlock()
	})
}

// Check waits for a heartbeat in progress, which may find the lock lost.
func TestCheckConcurrentLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, k := New(newServer(), &records{}, "prod", as("alice@laptop")).lock(t, "upgrade")
		defer k.Unlock()
		k.Holder()
		h := k.renewal
		h.mu.Lock()
		h.last = h.last.Add(-time.Minute)
		h.mu.Unlock()
		send := h.send
		h.send = func(ctx context.Context, stale bool) error {
			_ = k.lose(&LostError{Release: "web", By: "bob@ci"})
			return send(ctx, stale)
		}
		var lost *LostError
		if err := Check(ctx); !errors.As(err, &lost) {
			t.Errorf("the operation goes on: %v", err)
		}
	})
}

// A process that was stopped may continue before its timers fire.
func TestCheckAfterSuspension(t *testing.T) {
	stop := func(k *releaseLock, clocks func(time.Time) time.Time) {
		for _, h := range []*heartbeat{k.renewal, k.record} {
			if h != nil {
				h.mu.Lock()
				h.last = clocks(h.last)
				h.mu.Unlock()
			}
		}
	}
	back := func(at time.Time) time.Time { return at.Add(-time.Minute) }
	for name, c := range map[string]struct {
		lease   bool
		clocks  func(time.Time) time.Time
		trouble func(*server, *records)
		says    string // part of the error, "" if it may continue
	}{
		"nothing has happened":  {clocks: back, trouble: func(*server, *records) {}},
		"nothing, with a lease": {lease: true, clocks: back, trouble: func(*server, *records) {}},
		"taken over":            {clocks: back, trouble: func(_ *server, r *records) { r.set(release.PendingUpgrade, bob(ByRecord)) }, says: "bob@ci has taken it"},
		"taken over and done":   {clocks: back, trouble: func(_ *server, r *records) { r.set(release.Failed, "") }, says: "which is failed now"},
		"the machine slept":     {clocks: func(at time.Time) time.Time { return at.Round(0).Add(-time.Minute) }, trouble: func(_ *server, r *records) { r.set(release.Failed, "") }, says: "which is failed now"},
		"the lease was taken": {lease: true, clocks: back, trouble: func(s *server, _ *records) {
			s.edit(func(all map[string]*lease) {
				all["moonhelm.v1.web"] = newLease("prod", "web", Holder{ID: "b", Who: "bob@ci"})
			})
		}, says: "bob@ci has taken it"},
		"it was given back as well": {lease: true, clocks: back, trouble: func(s *server, _ *records) { s.edit(func(all map[string]*lease) { clear(all) }) }, says: "its lease was deleted"},
		"its record, with a lease":  {lease: true, clocks: back, trouble: func(_ *server, r *records) { r.set(release.PendingUpgrade, bob(ByRecord)) }, says: "bob@ci has taken it"},
		"nothing is known":          {clocks: back, trouble: func(_ *server, r *records) { r.refuse(errors.New("no route")) }, says: "no route"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := newServer(), &records{}
				if !c.lease {
					s.set(forbidding("POST"), nil)
				}
				ctx, k := New(s, r, "prod", as("alice@laptop")).lock(t, "upgrade")
				defer k.Unlock()
				r.set(release.PendingUpgrade, k.Holder())
				k.Guard(3)
				time.Sleep(17*time.Second + 500*time.Millisecond) // no timer fires
				s.set(nil, nil)
				stop(k, c.clocks)
				c.trouble(s, r)
				err := Check(context.WithoutCancel(ctx))
				if c.says == "" {
					if err != nil || ctx.Err() != nil {
						t.Errorf("it may not go on: %v, %v", err, context.Cause(ctx))
					}
					return
				}
				var lost *LostError
				if !errors.As(err, &lost) || !strings.Contains(err.Error(), c.says) || !errors.As(context.Cause(ctx), &lost) {
					t.Errorf("got %v, and the context ended with %v", err, context.Cause(ctx))
				}
			})
		})
	}
}

func TestFinishBeforeLastWrite(t *testing.T) {
	for name, write := range map[string]func(*records){
		"its last state": func(r *records) { r.set(release.Deployed, "") },
		"its deletion":   func(r *records) { r.refuse(storage.ErrNotFound) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := newServer(), &records{}
				ctx, k := guarded(t, s, r)
				k.Finish()
				write(r)
				time.Sleep(heartbeatEvery + time.Second)
				if ctx.Err() != nil || Check(ctx) != nil {
					t.Errorf("lost: %v, %v", context.Cause(ctx), Check(ctx))
				}
				k.Unlock()
			})
		})
	}
}

// One of several clients that watch an abandoned record takes it over.
func TestAbandonedConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newServer(), &records{}
		ctx, first := guarded(t, s, r)
		r.set(release.PendingUpgrade, strings.ReplaceAll(first.Holder(), `"machine":"`, `"machine":"elsewhere `))
		first.end()
		first.goroutines.Wait()
		won := make(chan *releaseLock, 4)
		errs := make(chan error, 4)
		for range 4 {
			_, k := New(s, r, "prod", as("taker@ci")).lock(t, "rollback")
			go func() {
				if err := k.Abandoned(t.Context(), 3); err != nil {
					errs <- err
					k.Unlock()
				} else {
					won <- k
				}
			}()
		}
		k := <-won
		for range 3 {
			var locked *LockedError
			if err := <-errs; !errors.As(err, &locked) || !strings.HasPrefix(locked.Holder, "taker@ci") {
				t.Errorf("got %v", err)
			}
		}
		if h, _ := ParseHolder(r.heartbeat.Holder); h.ID != k.holder.ID {
			t.Errorf("the record says %q", r.heartbeat.Holder)
		}
		// The first client continues.
		if err := first.record.send(t.Context(), true); err == nil || !strings.Contains(err.Error(), "taker@ci") {
			t.Errorf("the first one got %v", err)
		}
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
		k.Unlock()
	})
}

func TestCheckWithoutLock(t *testing.T) {
	if err := Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A response without a name, or with another object, is not used.
func TestPathsIgnoreResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		ctx, k := New(s, nil, "prod", as("alice@laptop")).lock(t, "upgrade")
		synctest.Wait()
		forge := func(all map[string]*lease) {
			forged := *all["moonhelm.v1.web"]
			forged.Metadata.Name, forged.Metadata.Namespace, forged.Metadata.Labels = "", "", nil
			forged.Metadata.ResourceVersion = "forged"
			all["moonhelm.v1.web"] = &forged
		}
		s.edit(forge)
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
		s.edit(forge)
		k.Unlock()
		if s.lease() != nil {
			t.Error("it was not given back")
		}
		const collection = "/apis/coordination.k8s.io/v1/namespaces/prod/leases"
		for _, requests := range s.paths {
			if requests != "POST "+collection && !strings.HasSuffix(requests, " "+collection+"/moonhelm.v1.web") {
				t.Errorf("asked to %s", requests)
			}
		}
	})
}

func TestUnlockConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newServer(), &told{}
		_, k := New(s, nil, "prod", Options{Who: "alice@laptop", Progress: out.record}).lock(t, "upgrade")
		synctest.Wait()
		n := 0
		s.set(func(method string) error {
			if method == "DELETE" {
				n++
				changed := *s.leases["moonhelm.v1.web"]
				changed.Metadata.ResourceVersion = "changed " + strings.Repeat("x", n)
				s.leases["moonhelm.v1.web"] = &changed
			}
			return nil
		}, nil)
		k.Unlock()
		if n != maxReleaseAttempts || !strings.Contains(out.String(), "could not be released") {
			t.Errorf("asked to delete %d times, told %q", n, out)
		}
	})
}

// A lock that is left says so, also if it cannot be read after a conflict.
func TestUnlockReadError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := newServer(), &told{}
		_, k := New(s, nil, "prod", Options{Who: "alice@laptop", Progress: out.record}).lock(t, "upgrade")
		synctest.Wait()
		s.set(func(method string) error {
			switch method {
			case "DELETE":
				changed := *s.leases["moonhelm.v1.web"]
				changed.Metadata.ResourceVersion = "changed"
				s.leases["moonhelm.v1.web"] = &changed
			case "GET":
				return context.DeadlineExceeded
			}
			return nil
		}, nil)
		k.Unlock()
		if !strings.Contains(out.String(), "could not be released") {
			t.Errorf("told %q", out)
		}
	})
}
