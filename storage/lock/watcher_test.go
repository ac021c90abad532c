// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/release"
)

// A client works on a release, and another one watches its record every second.
func TestWatcher(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		noLease   bool
		takenOver bool
		before    func(*server, *releaseLock, *records) // what happens before the watch
		says      string                                // part of the error, "" for none in two minutes
		from      time.Duration                         // after the begin of the watch
		to        time.Duration
	}{
		"one at work":                 {},
		"one at work without a lease": {noLease: true},
		"killed on another machine": {
			before: func(s *server, k *releaseLock, _ *records) { s.kill(k) },
			says:   "it has not renewed its lock for 30s", from: 29 * time.Second, to: 31 * time.Second},
		"killed without a lease": {noLease: true,
			before: func(_ *server, k *releaseLock, _ *records) { k.end(); k.goroutines.Wait() },
			says:   "it has sent no heartbeat for 30s", from: 29 * time.Second, to: 32 * time.Second},
		"its lease is deleted": {
			before: func(s *server, k *releaseLock, _ *records) {
				s.kill(k)
				s.edit(func(all map[string]*lease) { clear(all) })
			}, says: "its lock is gone", to: time.Second},
		"ended": {before: func(_ *server, k *releaseLock, r *records) { k.Unlock(); r.set(release.Deployed, "") }},
		"Helm's of just now": {before: func(_ *server, k *releaseLock, r *records) {
			k.Unlock()
			r.set(release.PendingUpgrade, "")
		}},
		"Helm's of a quarter of an hour ago": {before: func(_ *server, k *releaseLock, r *records) {
			k.Unlock()
			r.set(release.PendingUpgrade, "")
			time.Sleep(abandonedAge)
		}, says: "its record has not changed since", to: time.Second},
		"the lease cannot be read": {before: func(s *server, k *releaseLock, _ *records) {
			s.kill(k)
			s.set(forbidding("GET"), nil)
		}, says: "it has sent no heartbeat for 30s", from: 29 * time.Second, to: 31 * time.Second},
		"another one has taken over": {takenOver: true, before: func(s *server, k *releaseLock, _ *records) {
			s.kill(k)
			s.edit(func(all map[string]*lease) { clear(all) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.to == 0 {
				c.to = never
			}
			synctest.Test(t, func(t *testing.T) {
				s, r := newServer(), &records{}
				if c.noLease {
					s.set(forbidding("POST"), nil)
				}
				_, k := New(s, r, "prod", as("bob@ci")).lock(t, "upgrade")
				defer k.Unlock()
				h := k.holder
				if h.Machine = "elsewhere"; c.noLease {
					h.Guard = ByRecord
				}
				r.set(release.PendingUpgrade, h.String())
				k.Guard(3)
				if c.before != nil {
					c.before(s, k, r)
				}
				if c.takenOver {
					_, other := New(s, &records{}, "prod", as("carol@ci")).lock(t, "rollback")
					defer other.Unlock()
				}
				w := New(s, r, "prod", Options{}).Watch("web", 3)
				var err error
				began := time.Now()
				for err == nil && time.Since(began) < 2*time.Minute {
					if err = w.Check(t.Context()); err == nil {
						time.Sleep(time.Second)
					}
				}
				took := time.Since(began)
				var abandoned *AbandonedError
				switch {
				case c.says == "" && err != nil:
					t.Errorf("after %s: %v", took, err)
				case c.says != "" && (!errors.As(err, &abandoned) || !strings.Contains(err.Error(), c.says)):
					t.Errorf("got %v, want an AbandonedError with %q", err, c.says)
				case c.says != "" && (took < c.from || took > c.to):
					t.Errorf("found after %s, want %s to %s", took, c.from, c.to)
				}
			})
		})
	}
}

func TestAbandonedErrorHint(t *testing.T) {
	for status, want := range map[release.Status]string{
		release.PendingInstall:  "helm upgrade --install web goes on",
		release.PendingUpgrade:  "helm rollback web returns to the revision before",
		release.PendingRollback: "the next helm upgrade of web",
		release.Uninstalling:    "helm uninstall web goes on",
	} {
		if got := (&AbandonedError{Release: "web", Status: status}).Hint(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", status, got, want)
		}
	}
}
