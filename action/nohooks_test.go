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

// traceSteps returns a slice that receives the core's handlers of the events of s.
func traceSteps(s *testCase) *[]string {
	var seen []string
	s.bus.Trace(func(step event.Step) { seen = append(seen, step.Event+": "+step.Owner) })
	return &seen
}

// An operation traces only core handlers that have work to do.
func TestCoreHandlers(t *testing.T) {
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
			s := installedCase(t, configMaps("a=1"))
			seen := traceSteps(s)
			var err error
			switch test.event {
			case "pre-upgrade":
				_, err = s.runUpgrade(t, configMaps("a=2"), func(r *UpgradeRequest) { r.NoHooks = test.noHooks })
			case "pre-rollback":
				_, err = s.runRollback(t, 1, func(r *RollbackRequest) { r.NoHooks = test.noHooks })
			case "pre-delete":
				_, err = s.runUninstall(t, func(r *UninstallRequest) { r.NoHooks = test.noHooks })
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

// cancelingCluster is a cluster where the operation is canceled once objects are ready.
type cancelingCluster struct {
	*fakeCluster
	interrupt func()
}

func (c cancelingCluster) Await(ctx context.Context, r wait.Request) error {
	defer c.interrupt()
	return c.fakeCluster.Await(ctx, r)
}

// An operation that is canceled when only its record is left to write succeeds.
func TestCancelAfterLastStep(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := s.config()
	config.Cluster = cancelingCluster{s.cluster, cancel}
	req := upgradeTo(t, configMaps("a=2"))
	req.NoHooks, req.Wait = true, true
	rel, err := Upgrade{config}.Run(ctx, req)
	if err != nil || rel.Info.Status != release.Deployed {
		t.Errorf("got %v, %v, want it to be deployed", rel, err)
	}
}
