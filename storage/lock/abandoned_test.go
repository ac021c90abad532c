// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moonhelm/moonhelm/release"
)

// A record of another client, and the client that waits for it.
func TestAbandoned(t *testing.T) {
	otherHolder := func(guard string) string {
		return Holder{Version: 1, Guard: guard, ID: "x", Who: "bob@ci", Doing: "upgrade", Since: time.Unix(1e9, 0)}.String()
	}
	for name, c := range map[string]struct {
		status   release.Status
		holder   string
		doing    string // the default is "upgrade"
		token    string // of the heartbeat
		noLease  bool
		age      time.Duration
		after    func(*records) // 12 s later
		says     string         // part of the error, "" for abandoned
		within   time.Duration
		watching bool
	}{
		"it has ended":                           {status: release.Failed, holder: otherHolder(ByRecord)},
		"its lease would be in our way":          {status: release.PendingUpgrade, holder: otherHolder(ByLease)},
		"one without a lease is watched":         {status: release.PendingUpgrade, holder: otherHolder(ByRecord), within: abandonedAfter + 2*time.Second, watching: true},
		"we, without a lease, watch all":         {status: release.PendingUpgrade, holder: otherHolder(ByLease), noLease: true, within: abandonedAfter + 2*time.Second, watching: true},
		"an uninstall is work too":               {status: release.Uninstalling, holder: otherHolder(ByRecord), within: abandonedAfter + 2*time.Second, watching: true},
		"words that no one understands":          {status: release.PendingUpgrade, holder: "v9", within: abandonedAfter + 2*time.Second, watching: true},
		"one who is alive stays":                 {status: release.PendingUpgrade, holder: otherHolder(ByRecord), after: (*records).renew, says: "locked: bob@ci has been upgrading it since 2001-09-09", within: 14 * time.Second, watching: true},
		"one who ends while watched":             {status: release.PendingUpgrade, holder: otherHolder(ByRecord), after: func(r *records) { r.set(release.Deployed, "") }, within: 14 * time.Second, watching: true},
		"Helm's of just now may be alive":        {status: release.PendingUpgrade, says: "another operation (install/upgrade/rollback) is in progress: release \"web\" is locked: revision 3 has been pending-upgrade since ", within: time.Second},
		"Helm's of 14 minutes ago may be alive":  {status: release.PendingUpgrade, age: 14 * time.Minute, says: "by an unknown client; it counts as abandoned from ", within: time.Second},
		"an install takes Helm's for alive, too": {status: release.PendingInstall, doing: "install", says: "revision 3 has been pending-install since ", within: time.Second},
		"Helm's of a quarter of an hour ago not": {status: release.PendingUpgrade, age: 15 * time.Minute},
		"a rollback repairs Helm's":              {status: release.PendingUpgrade, doing: "rollback"},
		"an uninstall repairs Helm's":            {status: release.PendingRollback, doing: "uninstall"},
		"a rollback of Helm's first install":     {status: release.PendingInstall, doing: "rollback"},
		"a rollback repairs another client's":    {status: release.PendingUpgrade, holder: "{\"name\": \"deployer\"}", doing: "rollback"},
		"an uninstall, too":                      {status: release.PendingUpgrade, holder: "deployer", doing: "uninstall"},
		"another client's with a heartbeat": {status: release.PendingUpgrade, holder: "v9", token: "0", doing: "rollback",
			after: (*records).renew, says: "release \"web\" is locked", within: 14 * time.Second, watching: true},
		"a rollback leaves ours alone": {status: release.PendingUpgrade, holder: otherHolder(ByRecord), doing: "rollback",
			after: (*records).renew, says: "locked: bob@ci has been upgrading it", within: 14 * time.Second, watching: true},
		"an uninstall leaves ours alone": {status: release.PendingUpgrade, holder: otherHolder(ByRecord), doing: "uninstall",
			after: (*records).renew, says: "locked: bob@ci has been upgrading it", within: 14 * time.Second, watching: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r, out := newServer(), &records{}, &told{}
				if c.noLease {
					s.set(forbidding("POST"), nil)
				}
				_, k := New(s, r, "prod", Options{Progress: out.record}).lock(t, cmp.Or(c.doing, "upgrade"))
				defer k.Unlock()
				r.set(c.status, c.holder)
				r.heartbeat.Token = c.token
				time.Sleep(c.age)
				if c.after != nil {
					time.AfterFunc(12*time.Second, func() { c.after(r) })
				}
				began := time.Now()
				err := k.Abandoned(t.Context(), 3)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || time.Since(began) > c.within {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				var locked *LockedError
				if err != nil && (!errors.As(err, &locked) || locked.Revision != 3) {
					t.Errorf("%#v", err)
				}
				if strings.Contains(out.String(), "watching for up to 30s whether") != c.watching {
					t.Errorf("told %q", out)
				}
			})
		})
	}
}

func TestAbandonedOwnRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newServer(), &records{}
		s.set(forbidding("POST"), nil)
		_, k := New(s, r, "prod", Options{}).lock(t, "upgrade")
		defer k.Unlock()
		r.set(release.PendingUpgrade, k.Holder())
		began := time.Now()
		if err := k.Abandoned(t.Context(), 3); err != nil || time.Since(began) > 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		r.err = errors.New("no such table")
		if err := k.Abandoned(t.Context(), 3); !errors.Is(err, r.err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestGuardSendsHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, first := newServer(), &records{}
		s.set(forbidding("POST"), nil)
		_, k := New(s, first, "prod", Options{}).lock(t, "upgrade")
		first.set(release.PendingUpgrade, k.Holder())
		k.Guard(3)
		time.Sleep(9 * time.Second)
		if first.count() != 0 {
			t.Error("an operation that is quick has to pay")
		}
		_, other := New(s, first, "prod", Options{}).lock(t, "upgrade")
		var locked *LockedError
		if err := other.Abandoned(t.Context(), 3); err != nil {
			if !errors.As(err, &locked) {
				t.Error(err)
			}
		} else {
			t.Error("pushed aside one who is alive")
		}
		other.Unlock()
		k.Guard(4) // instead of 3
		before := first.count()
		time.Sleep(time.Minute)
		if got := first.count() - before; got < 5 || got > 6 {
			t.Errorf("%d heartbeats in a minute", got)
		}
		k.Unlock()
		before = first.count()
		k.Guard(5)
		time.Sleep(time.Minute)
		if first.count() != before {
			t.Error("it goes on after Unlock")
		}
	})
}
