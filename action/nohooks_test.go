// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/release"
)

// traced notes which of the core's responders have answered the events of s.
func traced(s *story) *[]string {
	var seen []string
	s.bus.Trace(func(step event.Step) { seen = append(seen, step.Event+": "+step.Owner) })
	return &seen
}

// An operation shows the responders that have something to do, and no others: without
// hooks there is nothing to ask.
func TestResponders(t *testing.T) {
	pre := func(event string, owners ...string) []string {
		for i, o := range owners {
			owners[i] = event + ": " + o
		}
		return owners
	}
	const validation, permissions, record, objects = "object validation", "permissions", "release record", "object changes"
	for _, test := range []struct {
		event   string
		noHooks bool
		want    []string
	}{
		{"pre-upgrade", false, pre("pre-upgrade", validation, permissions, record, objects)},
		{"pre-upgrade", true, pre("pre-upgrade", validation, record, objects)},
		{"pre-rollback", false, pre("pre-rollback", validation, permissions, record, objects)},
		{"pre-rollback", true, pre("pre-rollback", validation, record, objects)},
		{"pre-delete", false, pre("pre-delete", validation, permissions, record, objects)},
		{"pre-delete", true, pre("pre-delete", validation, record, objects)},
	} {
		t.Run(fmt.Sprintf("%s, no hooks %t", test.event, test.noHooks), func(t *testing.T) {
			s := installed(t, conf("a=1"))
			seen := traced(s)
			var err error
			switch test.event {
			case "pre-upgrade":
				_, err = s.up(t, conf("a=2"), func(r *UpgradeRequest) { r.NoHooks = test.noHooks })
			case "pre-rollback":
				_, err = s.back(t, 1, func(r *RollbackRequest) { r.NoHooks = test.noHooks })
			case "pre-delete":
				_, err = s.away(t, func(r *UninstallRequest) { r.NoHooks = test.noHooks })
			}
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(*seen, func(line string) bool { return line[:min(len(line), len(test.event))] != test.event })
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// interrupting is a cluster where the user interrupts as soon as objects are ready.
type interrupting struct {
	*cluster
	interrupt func()
}

func (c interrupting) Await(ctx context.Context, r wait.Request) error {
	defer c.interrupt()
	return c.cluster.Await(ctx, r)
}

// An interrupt does not turn what has succeeded into a failure, where nothing is left to
// do but to record it.
func TestAnInterruptBehindTheLastStep(t *testing.T) {
	s := installed(t, conf("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := s.config()
	config.Cluster = interrupting{s.cluster, cancel}
	req := to(t, conf("a=2"))
	req.NoHooks, req.Wait = true, true
	rel, err := Upgrade{config}.Run(ctx, req)
	if err != nil || rel.Info.Status != release.Deployed {
		t.Errorf("got %v, %v, want it to be deployed", rel, err)
	}
}
