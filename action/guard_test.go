// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/moonhelm/moonhelm/internal/kubetest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// An operation that has lost its lock writes no record, even if the caller has set Releases.
func TestRecordsCheckLock(t *testing.T) {
	cluster := kubetest.Start() // outside the bubble: it listens
	defer cluster.Close()
	synctest.Test(t, func(t *testing.T) {
		config := NewConfigFor(cluster.Direct(), "default")
		config.Releases = storage.New(storage.NewMemory("default"), "default")
		ctx, held, err := config.acquireLock(t.Context(), "web", "upgrade")
		if err != nil {
			t.Fatal(err)
		}
		defer held.Unlock()
		records := config.forOperation().Releases
		rel := release.New("web", "default", 1, newChart(t))
		rel.Info.Status, rel.Holder = release.PendingInstall, held.Holder()
		if err := records.Create(ctx, rel); err != nil {
			t.Fatal(err)
		}
		held.Guard(1)
		rel.Holder = "another client"
		if err := config.Releases.Update(t.Context(), rel); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		var lost *lock.LostError
		if err := records.Update(context.WithoutCancel(ctx), rel); !errors.As(err, &lost) {
			t.Errorf("Update without the lock: got %v, want a LostError", err)
		}
	})
}
