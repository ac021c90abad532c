// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/release"
)

func TestWaitErrorTexts(t *testing.T) {
	pending := func(cause error) *wait.PendingError {
		return &wait.PendingError{Total: 11, After: 12 * time.Second, Err: cause, Problems: []wait.Problem{
			{Kind: "PersistentVolumeClaim", Name: "data", Missing: "not bound yet", Cause: "no storage class"},
			{Kind: "Deployment", Name: "web", Missing: "0 of 1 pods ready", Cause: "waits for PersistentVolumeClaim/data"},
		}}
	}
	late := pending(context.DeadlineExceeded)
	failed := &wait.FailedError{Object: "Deployment/web in namespace shop", Reason: "no image", After: 21 * time.Second,
		Grace: 20 * time.Second, Rule: "a container that cannot start"}
	hook := &HookError{Hook: &release.Hook{Kind: "Job", Name: "migrate", Path: "big/templates/m.yaml"}, Event: release.PreUpgrade,
		Err: &wait.PendingError{Total: 1, After: 5 * time.Second, Err: context.DeadlineExceeded,
			Problems: []wait.Problem{{Kind: "Job", Name: "migrate", Missing: "0 of 1 completed", Details: []string{"| busy"}}}}}
	const list = "\n  PersistentVolumeClaim/data: not bound yet: no storage class" +
		"\n  Deployment/web: 0 of 1 pods ready: waits for PersistentVolumeClaim/data"
	const timedOut = "\n  timed out waiting for the condition (context deadline exceeded)"
	for _, test := range []struct {
		name    string
		err     WaitError
		text    string
		summary string
		hints   string
	}{
		{
			name: "an upgrade that is too slow",
			err:  WaitError{Operation: "upgrade", Release: "big", Revision: 2, Deployed: 1, Err: late},
			text: "upgrade of big to revision 2 timed out after 12s: 2 of 11 objects are not ready" + list + timedOut +
				": revision 2 is recorded as failed, and what it has written stays",
			summary: "timed out waiting for the condition after 12s: 2 of 11 objects are not ready: " +
				"PersistentVolumeClaim/data, Deployment/web",
			hints: "--timeout gives it more time; helm status big shows the current state\n" +
				"the next helm upgrade goes on from here; helm rollback big 1 goes back",
		},
		{
			name: "a batch that others depend on",
			err:  WaitError{Operation: "upgrade", Release: "big", Revision: 2, Deployed: 1, Err: late, Unwritten: 1, Readiness: true},
			text: "upgrade of big to revision 2 timed out after 12s: 2 of 11 objects are not ready" + list + timedOut +
				": revision 2 is recorded as failed, and what it has written stays; objects that depend on those above were not written",
			summary: "timed out waiting for the condition after 12s: 2 of 11 objects are not ready: " +
				"PersistentVolumeClaim/data, Deployment/web",
			hints: "--readiness-timeout, up to --timeout, gives it more time; helm status big shows the current state\n" +
				"the next helm upgrade goes on from here; helm rollback big 1 goes back",
		},
		{
			name: "an install that is interrupted",
			err:  WaitError{Operation: "install", Release: "big", Revision: 1, Err: pending(errors.New("interrupt signal received"))},
			text: "install of big was stopped after 12s (interrupt signal received): 2 of 11 objects are not ready" + list +
				"\n  revision 1 is recorded as failed, and what it has written stays",
			summary: "interrupt signal received after 12s of waiting: 2 of 11 objects are not ready: PersistentVolumeClaim/data, Deployment/web",
			hints: "interrupted: helm status big shows how far the operation got\n" +
				"helm upgrade --install big tries again; helm uninstall big removes what is left",
		},
		{
			name: "a rollback that gives up, and deletes what it has created",
			err:  WaitError{Operation: "rollback", Release: "big", Revision: 4, Target: 2, Deployed: 2, Undone: UndoneCreated, Err: failed},
			text: "rollback of big to revision 2 (as revision 4) gave up after 21s: Deployment/web in namespace shop failed: no image" +
				"\n  gave up because a container that cannot start is given 20s to recover" +
				"\n  revision 4 is recorded as failed, and the objects that it has created are deleted",
			summary: "Deployment/web in namespace shop failed: no image",
			hints: "--give-up-after=2m gives it more time to recover, and --give-up-after=never all of --timeout; helm status big shows the current state\n" +
				"the next helm upgrade goes on from here; helm rollback big 2 goes back",
		},
		{
			name:    "a second install that was undone",
			err:     WaitError{Operation: "install", Release: "big", Revision: 3, Undone: UndoneAll, Err: late},
			text:    "install of big (revision 3) timed out after 12s: 2 of 11 objects are not ready" + list + timedOut,
			summary: late.Summary(),
			hints:   "--timeout gives it more time",
		},
		{
			name: "an uninstall",
			err: WaitError{Operation: "uninstall", Release: "big", Err: &wait.PendingError{Deletion: true, After: time.Second,
				Err: context.DeadlineExceeded, Problems: []wait.Problem{{Kind: "Pod", Name: "p", Missing: "not deleted yet"}}}},
			text: "uninstall of big timed out after 1s: Pod/p is not deleted yet\n  Pod/p: not deleted yet" + timedOut +
				": the release is recorded as failed, and its history is kept",
			summary: "timed out waiting for the condition after 1s: Pod/p is not deleted yet",
			hints:   "--timeout gives it more time; helm status big shows the current state\nhelm uninstall big goes on with what is left",
		},
		{
			name: "a hook",
			err:  WaitError{Operation: "upgrade", Release: "big", Revision: 2, Deployed: 1, Err: hook},
			text: "pre-upgrade hooks failed: upgrade of big to revision 2 timed out after 5s in the pre-upgrade hook " +
				"Job/migrate (big/templates/m.yaml)\n  Job/migrate: 0 of 1 completed\n    | busy" + timedOut +
				": revision 2 is recorded as failed, and what it has written stays",
			summary: "pre-upgrade hooks failed: pre-upgrade hook Job/migrate (big/templates/m.yaml): timed out waiting for the condition " +
				"after 5s: Job/migrate is not ready",
			hints: "--timeout gives it more time; helm status big shows the current state\n" +
				"the next helm upgrade goes on from here; helm rollback big 1 goes back",
		},
		{
			name: "a test",
			err: WaitError{Operation: "test", Release: "big", Revision: 2,
				Err: &HookError{Hook: &release.Hook{Kind: "Pod", Name: "t", Path: "big/templates/t.yaml"}, Event: release.Test, Err: &wait.PendingError{
					After: 3 * time.Second, Err: errors.New("interrupt signal received"), Problems: []wait.Problem{{Kind: "Pod", Name: "t", Missing: "it is Running"}}}}},
			text: "test hooks failed: test of big was stopped after 3s (interrupt signal received) in the test hook Pod/t (big/templates/t.yaml)" +
				"\n  Pod/t: it is Running",
			summary: "test hooks failed: test hook Pod/t (big/templates/t.yaml): interrupt signal received after 3s of waiting: Pod/t is not ready",
			hints:   "interrupted: helm status big shows how far the operation got",
		},
		{
			name: "an upgrade that is interrupted while it writes",
			err: WaitError{Operation: "upgrade", Release: "big", Revision: 2, Deployed: 1,
				Err: &InterruptedError{After: 3240 * time.Millisecond, Cause: errors.New("interrupt signal received"),
					Err: errors.New("interrupt signal received: context canceled")}},
			text: "upgrade of big to revision 2 was stopped after 3.2s (interrupt signal received)" +
				"\n  revision 2 is recorded as failed, and what it has written stays",
			summary: "interrupt signal received",
			hints: "interrupted: helm status big shows how far the operation got\n" +
				"the next helm upgrade goes on from here; helm rollback big 1 goes back",
		},
		{
			name: "an install that is interrupted in a hook",
			err: WaitError{Operation: "install", Release: "big", Revision: 1,
				Err: &InterruptedError{After: time.Second, Cause: errors.New("terminated signal received"),
					Err: fmt.Errorf("delete Job/migrate: %w", context.Canceled)}},
			text: "install of big was stopped after 1s (terminated signal received)\n  delete Job/migrate: interrupted" +
				"\n  revision 1 is recorded as failed, and what it has written stays",
			summary: "delete Job/migrate: terminated signal received",
			hints: "interrupted: helm status big shows how far the operation got\n" +
				"helm upgrade --install big tries again; helm uninstall big removes what is left",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			wrapped := fmt.Errorf("release big failed: %w", &test.err)
			for _, text := range [][2]string{
				{test.err.Error(), test.text}, {summaryOf(wrapped), test.summary}, {strings.Join(hint.Of(wrapped), "\n"), test.hints},
			} {
				if text[0] != text[1] {
					t.Errorf("got\n%s\nwant\n%s", text[0], text[1])
				}
			}
		})
	}
}

// The error of a wait names the release and says what was undone; the record has a short reason.
func TestUpgradeWaitError(t *testing.T) {
	const rolledBack = "release web failed, and has been rolled back due to rollback-on-failure being set, to revision 1: "
	for _, test := range []struct {
		name   string
		change func(*UpgradeRequest)
		undone Undone
		prefix string
	}{
		{"nothing is undone", func(*UpgradeRequest) {}, "", ""},
		{"what was created is deleted", func(r *UpgradeRequest) { r.CleanupOnFail = true }, UndoneCreated, ""},
		{"it is rolled back", func(r *UpgradeRequest) { r.Atomic = true }, UndoneAll, rolledBack},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			s.fail["wait [ConfigMap/a ConfigMap/b]"] = &wait.PendingError{Total: 2, After: 3 * time.Second, Err: context.DeadlineExceeded,
				Problems: []wait.Problem{{Kind: "ConfigMap", Name: "b", Missing: "does not exist yet", Details: []string{"a detail"}}}}
			_, err := s.runUpgrade(t, configMaps("a=2", "b=1"), func(r *UpgradeRequest) { r.Wait = true }, test.change)
			var waited *WaitError
			if !errors.As(err, &waited) || waited.Undone != test.undone || waited.Deployed != 1 || waited.Revision != 2 {
				t.Fatalf("got %+v, %v", waited, err)
			}
			want := test.prefix + "upgrade of web to revision 2 timed out after 3s: 1 of 2 objects is not ready\n  ConfigMap/b: does not exist yet\n    a detail\n"
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got\n%s\nwant\n%s", err, want)
			}
			description := "failed: Upgrade \"web\" failed: timed out waiting for the condition after 3s: 1 of 2 objects is not ready: ConfigMap/b"
			if got := s.records.state("web", 2); got != description {
				t.Errorf("got %s, want %s", got, description)
			}
		})
	}
}

// An interrupt while objects are written has the form of the error of a wait.
func TestInterruptedError(t *testing.T) {
	for _, test := range []struct {
		name, step, want string
		run              func(context.Context, *testCase) error
	}{
		{"an upgrade", "apply [ConfigMap/a ConfigMap/b]", "upgrade of web to revision 2 was stopped after ",
			func(ctx context.Context, s *testCase) error {
				return errorOf(s.upgrade().Run(ctx, upgradeTo(t, configMaps("a=2", "b=1"))))
			}},
		{"an uninstall", "delete [ConfigMap/a], background", "uninstall of web was stopped after ",
			func(ctx context.Context, s *testCase) error {
				s.fail["delete [ConfigMap/a], background"] = fmt.Errorf("ConfigMap/a: %w", context.Canceled)
				return errorOf(s.uninstall().Run(ctx, UninstallRequest{Name: "web"}))
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("interrupt signal received")
			var steps []string
			s.onStep = func(step string) {
				if steps = append(steps, step); step == test.step {
					cancel(stop)
				}
			}
			err := test.run(ctx, s)
			var waited *WaitError
			var interrupted *InterruptedError
			if !errors.As(err, &waited) || !errors.As(err, &interrupted) || !errors.Is(interrupted.Cause, stop) {
				t.Fatalf("got %v after %q", err, steps)
			}
			if got := waited.Error(); !strings.HasPrefix(got, test.want) || !strings.Contains(got, "(interrupt signal received)\n  ") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestSummaryOfLines(t *testing.T) {
	for text, want := range map[string]string{
		"one line": "one line",
		"is invalid: 2 errors:\n  line 6: .a: no\n  line 7: .b: no": "is invalid: 2 errors: line 6: .a: no; line 7: .b: no",
		"first\nsecond": "first; second",
	} {
		if got := summaryOf(errors.New(text)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
