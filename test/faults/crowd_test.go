// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestEightAtOnce upgrades one release eight times concurrently. Each upgrade succeeds or fails
// with an error that names the holder of the lock.
func TestEightAtOnce(t *testing.T) {
	c := connect(t)
	for name, timeout := range map[string]string{"patient": "5m", "hurried": "1s"} {
		t.Run(name, func(t *testing.T) {
			h := newHelm(t, c)
			h.must(t, "install", "web", h.chart)
			results := make([]result, 8)
			var wg sync.WaitGroup
			for i := range results {
				wg.Go(func() {
					results[i] = h.run("upgrade", "web", h.chart, "--set", fmt.Sprintf("colour=c%d", i), "--timeout", timeout)
				})
			}
			wg.Wait()
			done := map[string]bool{}
			for i, r := range results {
				switch {
				case r.err == nil:
					done[fmt.Sprintf("c%d", i)] = true
				case !strings.Contains(r.stderr, "is locked: ") || name == "patient":
					t.Errorf("upgrade %d: %s", i, r)
				}
			}
			colour := h.objects(t, h.namespace)["ConfigMap/a"]
			if !done[colour] {
				t.Errorf("the colour is %q, of %v", colour, done)
			}
			h.sound(t, "afterwards", wanted(colour, "ConfigMap/b"))
			if got := len(h.records(t, h.namespace)); got != 1+len(done) {
				t.Errorf("%d revisions, %d upgrades went well", got, len(done))
			}
			h.end(t)
		})
	}
}

// TestInstallsAtOnce installs one release four times concurrently: exactly one succeeds.
func TestInstallsAtOnce(t *testing.T) {
	h := newHelm(t, connect(t))
	results := make([]result, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = h.run("install", "web", h.chart, "--set", fmt.Sprintf("colour=c%d", i)) })
	}
	wg.Wait()
	winner := ""
	for i, r := range results {
		switch {
		case r.err == nil && winner == "":
			winner = fmt.Sprintf("c%d", i)
		case r.err == nil || !strings.Contains(r.stderr, "still in use"):
			t.Errorf("install %d: %s", i, r)
		}
	}
	h.sound(t, "afterwards", wanted(winner, "ConfigMap/b"))
	h.end(t)
}
