// SPDX-License-Identifier: Apache-2.0

// Package sdk compares Moonhelm's SDK with Helm's in programs that embed them.
package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/moonhelm/moonhelm/test/sdk/loop"
)

// longVar is the number of our loops; Helm's are a tenth. The default suffices to detect a leak
// of a kilobyte a loop.
const longVar = "MOONHELM_SDK_LOOPS"

// workers is the number of releases that change at the same time, as when a controller starts.
const workers = 20

// TestMemory compares the memory of programs that embed an SDK and keep 100 releases in a
// cluster with 100 custom kinds.
func TestMemory(t *testing.T) {
	c := connect(t)
	installKinds(t, c)
	loops, helmLoops := 200, 20
	if long := os.Getenv(longVar); long != "" {
		n, err := strconv.Atoi(long)
		if err != nil || n < 200 {
			t.Fatalf("%s=%s: want a number of loops, at least 200", longVar, long)
		}
		loops, helmLoops = n, n/10
	}

	ours := run(t, c, "ours", loops)
	helm := run(t, c, "helm", helmLoops) // its peak only grows
	first, last := ours[0], ours[len(ours)-1]

	peak := helm[len(helm)-1].Peak
	t.Logf("peak: ours %d KiB, Helm's %d KiB, ratio %.2f", last.Peak, peak, float64(last.Peak)/float64(peak))
	if last.Peak > peak/5 {
		t.Errorf("peak of ours is %d KiB, want at most a fifth of Helm's, %d KiB", last.Peak, peak/5)
	}
	for _, test := range []struct {
		name        string
		first, last int
		more        int // additional KiB that are allowed
	}{
		{"KiB of heap", first.Heap, last.Heap, first.Heap / 20},
		{"KiB of peak", first.Peak, last.Peak, first.Peak / 4}, // of what happens to be in use at once: 13% were seen
		{"KiB resident", first.Resident, last.Resident, first.Resident / 6},
		{"goroutines", first.Goroutines, last.Goroutines, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.last > test.first+test.more {
				t.Errorf("got %d after %d loops and %d after %d, want at most %d more",
					test.first, first.Loops, test.last, last.Loops, test.more)
			}
		})
	}
}

// run runs the program of an SDK for a number of loops in a new namespace and returns its
// reports.
func run(t *testing.T, c *client, sdk string, loops int) []loop.Report {
	t.Helper()
	program := filepath.Join(t.TempDir(), sdk)
	if out, err := exec.Command("go", "build", "-o", program, "./"+sdk).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", sdk, err, out)
	}
	namespace := c.Namespace(t, "sdk-"+sdk)
	cmd := exec.CommandContext(t.Context(), program, "-kubeconfig", c.kubeconfig, "-namespace", namespace,
		"-chart", "testdata/app", "-loops", strconv.Itoa(loops), "-workers", strconv.Itoa(workers))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatalf("%s: %v", sdk, err)
	}
	var reports []loop.Report
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var r loop.Report
		if err := in.Decode(&r); err == io.EOF {
			return reports
		} else if err != nil {
			t.Fatalf("%s printed %s: %v", sdk, out, err)
		}
		t.Logf("%s after %d loops: peak %d KiB, resident %d KiB, heap %d KiB, %d goroutines", sdk, r.Loops, r.Peak, r.Resident, r.Heap, r.Goroutines)
		reports = append(reports, r)
	}
}
