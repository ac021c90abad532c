// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, "a", "b", func(*testing.T) storetest.Open {
		m := storage.NewMemory("")
		return func(namespace string) storage.Driver { return m.In(namespace) }
	})
}

// A record in another namespace would be neither found nor locked.
func TestCreateRejectsOtherNamespace(t *testing.T) {
	ctx, records := t.Context(), storage.New(storage.NewMemory(""), "shop")
	other := storetest.Release("elsewhere", "web", 1, release.Deployed)
	if err := records.Create(ctx, other); err == nil {
		t.Error("a release of another namespace was recorded")
	}
	own := storetest.Release("", "web", 1, release.Deployed)
	if err := records.Create(ctx, own); err != nil {
		t.Error(err)
	}
	if _, err := records.Get(ctx, "web", 1); err != nil {
		t.Error(err)
	}
}
