// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProcessGone(t *testing.T) {
	me := thisProcess()
	if me.Machine == "" || me.Start == "" || me.PID != os.Getpid() || me.gone() {
		t.Fatalf("I am %+v", me)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	start, _ := lookAt(child.Process.Pid)
	item := process{Machine: me.Machine, PID: child.Process.Pid, Start: start}
	if item.gone() {
		t.Error("it runs")
	}
	for name, other := range map[string]process{
		"of another machine":   {Machine: "x", PID: item.PID, Start: "1"},
		"of no known machine":  {PID: item.PID, Start: "1"},
		"of no known start":    {Machine: me.Machine, PID: item.PID},
		"of no process number": {Machine: me.Machine, PID: -1, Start: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			if other.gone() {
				t.Errorf("one %s counts as gone", name)
			}
		})
	}
	if again := (process{Machine: me.Machine, PID: item.PID, Start: "1"}); !again.gone() {
		t.Error("its number is another's now")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 100 { // a zombie
		if item.gone() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !item.gone() {
		t.Error("the dead is not gone")
	}
	_ = child.Wait()
	if !item.gone() {
		t.Error("it is not gone")
	}
}

func TestLockKilledHolderOnSameMachine(t *testing.T) {
	me := thisProcess()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, r, out := newServer(), &records{}, &told{}
		h := Holder{Version: 1, Guard: ByRecord, ID: "x", Who: "me@here", Doing: "install",
			process: process{Machine: me.Machine, PID: dead.Process.Pid, Start: "1"}}
		s.leases["moonhelm.v1.web"] = newLease("prod", "web", h)
		began := time.Now()
		_, k := New(s, r, "prod", Options{Progress: out.record}).lock(t, "upgrade")
		defer k.Unlock()
		r.heartbeat.Status, r.heartbeat.Holder = "pending-install", h.String()
		if err := k.Abandoned(t.Context(), 1); err != nil || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if !strings.HasPrefix(out.String(), "warning: the install by me@here (pid ") {
			t.Errorf("told %q", out)
		}
	})
}

func TestParseStat(t *testing.T) {
	tail := " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for text, want := range map[string]string{
		"12 (helm) S" + tail:        "4711 S",
		"12 (a) b) (c) Z" + tail:    "4711 Z",
		"12 (helm) S 1 2":           " \x00",
		"12 helm S" + tail:          " \x00",
		"":                          " \x00",
		"12 (helm) sleeping" + tail: " \x00",
	} {
		t.Run(text, func(t *testing.T) {
			start, state := parseStat([]byte(text))
			if got := start + " " + string(rune(state)); got != want {
				t.Errorf("%q: got %q", text, got)
			}
		})
	}
}
