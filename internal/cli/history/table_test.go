// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/release"
)

func TestTook(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name               string
		updated, completed time.Time
		want               string
	}{
		{"a moment", at, at.Add(1234 * time.Millisecond), "1.2s"},
		{"minutes", at, at.Add(192 * time.Second), "3m12s"},
		{"a record of Helm's", at, time.Time{}, "-"},
		{"another clock", at, at.Add(-time.Second), "-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := took(release.Summary{Updated: test.updated, Completed: test.completed}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDescription(t *testing.T) {
	for _, test := range []struct {
		name, text string
		status     release.Status
		screen     bool
		want       string
	}{
		{"a failed upgrade", `Upgrade "web" failed: timed out`, release.Failed, true, "timed out"},
		{"a failed install, with lines", "Release \"web\" failed: no\nmore", release.Failed, true, "no ..."},
		{"in a pipe", `Upgrade "web" failed: timed out`, release.Failed, false, `Upgrade "web" failed: timed out`},
		{"another name", `Upgrade "api" failed: timed out`, release.Failed, true, `Upgrade "api" failed: timed out`},
		{"not failed", `Upgrade "web" failed: not really`, release.Deployed, true, `Upgrade "web" failed: not really`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := description(release.Summary{Name: "web", Status: test.status, Description: test.text}, test.screen)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestChangesInWords(t *testing.T) {
	for _, test := range []struct {
		name            string
		change          *action.RevisionChange
		brief, detailed string
	}{
		{"unknown", nil, "", ""},
		{"nothing", &action.RevisionChange{}, "nothing", "nothing changed"},
		{"all", &action.RevisionChange{
			Chart: &action.Transition{From: "a-1", To: "a-2"}, AppVersion: &action.Transition{To: "2"}, Values: []string{"a", "b.c"},
			Images: []action.Transition{{From: "x", To: "y"}}, Added: []string{"Pod/a"}, Changed: []string{"Pod/b"},
			Removed: []string{"Pod/c"}, Hooks: []string{"Job/h"},
		}, "chart, 2 values, 1 image, 3 objects, 1 hook",
			"chart: a-1 -> a-2|app version: none -> 2|values: a, b.c|images: x -> y|added: Pod/a|changed: Pod/b|removed: Pod/c|hooks: Job/h"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := brief(test.change); got != test.brief {
				t.Errorf("got %q, want %q", got, test.brief)
			}
			if got := strings.Join(details(test.change), "|"); got != test.detailed {
				t.Errorf("got %q, want %q", got, test.detailed)
			}
		})
	}
}
