// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

func TestDownloadBars(t *testing.T) {
	var loads transfers
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	loads.update(progress.Event{Kind: progress.Download, Text: "web-1.2.3.tgz", Done: 1 << 20, Total: 4 << 20}, start)
	loads.update(progress.Event{Kind: progress.Download, Text: "index of \x1b[31mevil", Done: 700}, start)
	if got := loads.table(term.Style{}, 80, 10, start.Add(barDelay/2)); len(got) != 0 {
		t.Errorf("a download younger than barDelay has a bar: %q", got)
	}
	got := loads.table(term.Style{}, 80, 10, start.Add(2*time.Second))
	for i, line := range got {
		if width(line) > 79 {
			t.Errorf("line %d is %d wide: %q", i, width(line), line)
		}
	}
	if len(got) != 2 || !strings.Contains(got[0], "25%  1.0 MiB of 4.0 MiB  512.0 KiB/s") || !strings.Contains(got[0], "█░") || got[1] != `index of \x1b[31mevil  700 B  350 B/s` {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for _, columns := range []int{1, 5, 10, 20, 40, 200} {
		for _, line := range loads.table(term.Style{}, columns, 10, start.Add(2*time.Second)) {
			if width(line) >= max(columns, 2) {
				t.Errorf("%d columns: %q is %d wide", columns, line, width(line))
			}
		}
	}
	if got := loads.table(term.Style{}, 80, 1, start.Add(2*time.Second)); len(got) != 1 || got[0] != "  and 2 more downloads" {
		t.Errorf("one row: %q", got)
	}
	loads.update(progress.Event{Kind: progress.Fetched, Text: "web-1.2.3.tgz"}, start)
	loads.update(progress.Event{Kind: progress.Fetched, Text: "never heard of"}, start)
	if len(loads.list) != 1 {
		t.Errorf("%d downloads remain", len(loads.list))
	}
}
