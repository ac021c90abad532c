// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

var errDown = errors.New("the records are down")

// failingRecords are records whose writes fail; fail is the number of failures by status or
// operation.
type failingRecords struct {
	action.Storage
	fail map[string]int
}

func (f failingRecords) check(what string) error {
	if f.fail[what] > 0 {
		f.fail[what]--
		return errDown
	}
	return nil
}

func (f failingRecords) Update(ctx context.Context, rel *release.Release) error {
	if err := f.check(string(rel.Info.Status)); err != nil {
		return err
	}
	return f.Storage.Update(ctx, rel)
}

func (f failingRecords) Delete(ctx context.Context, name string, revision int, version string) error {
	if err := f.check("delete"); err != nil {
		return err
	}
	return f.Storage.Delete(ctx, name, revision, version)
}

// The final state of a record is written with one retry. If both attempts fail, the revision
// is recorded as failed; Run always returns the state of the record.
func TestDeployFinalWriteError(t *testing.T) {
	for _, test := range []struct {
		name     string
		fail     map[string]int
		atomic   bool
		err      bool
		returned release.Status
		stored   release.Status // "" if the release was deleted
	}{
		{"fails once", map[string]int{"deployed": 1}, false, false, release.Deployed, release.Deployed},
		{"fails", map[string]int{"deployed": 2}, false, true, release.Failed, release.Failed},
		{"fails and so does the next", map[string]int{"deployed": 2, "failed": 1}, false, true, release.Failed, release.Failed},
		{"fails and is undone", map[string]int{"deployed": 2}, true, true, release.Failed, ""},
		{"nothing can be written", map[string]int{"deployed": 9, "failed": 9}, false, true, release.PendingInstall, release.PendingInstall},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := kubetest.Start() // outside the bubble: it listens
			defer cluster.Close()
			synctest.Test(t, func(t *testing.T) {
				config := action.NewConfigFor(cluster.Direct(), "default")
				config.Releases = failingRecords{config.Releases, test.fail}
				rel, err := action.Install{Config: config}.Run(t.Context(), action.InstallRequest{Chart: greeting(), Name: "web", Atomic: test.atomic})
				if test.err != errors.Is(err, errDown) || !test.err && err != nil {
					t.Errorf("got error %v, want one: %v", err, test.err)
				}
				if rel == nil || rel.Info.Status != test.returned {
					t.Fatalf("got release %+v, want it %s", rel, test.returned)
				}
				checkStored(t, config, test.stored)
			})
		})
	}
}

func checkStored(t *testing.T, config *action.Config, want release.Status) {
	t.Helper()
	switch stored, err := config.Releases.Get(t.Context(), "web", 0); {
	case want == "":
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("got record %+v, %v, want none", stored, err)
		}
	case err != nil:
		t.Error(err)
	case stored.Info.Status != want:
		t.Errorf("the record's state is %s, want %s", stored.Info.Status, want)
	}
}

// An uninstall that cannot delete or update the record records it as failed.
func TestUninstallFinalWriteError(t *testing.T) {
	for _, test := range []struct {
		name             string
		fail             map[string]int
		keep, err        bool
		returned, stored release.Status
	}{
		{"deletion fails once", map[string]int{"delete": 1}, false, false, release.Uninstalled, ""},
		{"deletion fails", map[string]int{"delete": 2}, false, true, release.Failed, release.Failed},
		{"closing fails once", map[string]int{"uninstalled": 1}, true, false, release.Uninstalled, release.Uninstalled},
		{"closing fails", map[string]int{"uninstalled": 2}, true, true, release.Failed, release.Failed},
		{"nothing can be written", map[string]int{"uninstalled": 9, "failed": 9}, true, true, release.Uninstalling, release.Uninstalling},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := kubetest.Start() // outside the bubble: it listens
			defer cluster.Close()
			synctest.Test(t, func(t *testing.T) {
				config := action.NewConfigFor(cluster.Direct(), "default")
				config.Releases = failingRecords{config.Releases, test.fail}
				if _, err := (action.Install{Config: config}).Run(t.Context(), action.InstallRequest{Chart: greeting(), Name: "web"}); err != nil {
					t.Fatal(err)
				}
				out, err := action.Uninstall{Config: config}.Run(t.Context(), action.UninstallRequest{Name: "web", KeepHistory: test.keep})
				if test.err != errors.Is(err, errDown) || !test.err && err != nil {
					t.Errorf("got error %v, want one: %v", err, test.err)
				}
				if out == nil || out.Release.Info.Status != test.returned {
					t.Fatalf("got %+v, want the release %s", out, test.returned)
				}
				checkStored(t, config, test.stored)
			})
		})
	}
}

// A handler that panics fails the operation, as one that returns an error does.
func TestHandlerPanic(t *testing.T) {
	cluster := kubetest.Start()
	defer cluster.Close()
	config := action.NewConfigFor(cluster.Config(), "default")
	event.On(config.Events, "careless", event.DefaultPriority, func(context.Context, *event.PostInstall) error { panic("mine") })
	rel, err := action.Install{Config: config}.Run(t.Context(), action.InstallRequest{Chart: greeting(), Name: "web"})
	var handler *event.HandlerError
	var panicked *event.PanicError
	if !errors.As(err, &handler) || handler.Owner != "careless" || !errors.As(err, &panicked) || panicked.Value != "mine" || len(panicked.Stack) == 0 {
		t.Errorf("got %v, want a HandlerError of careless with the panic's value", err)
	}
	if rel == nil || rel.Info.Status != release.Failed {
		t.Errorf("got release %+v, want it failed", rel)
	}
	checkStored(t, config, release.Failed)
}
