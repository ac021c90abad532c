// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, "a", "b", func(*testing.T) storetest.Open {
		m := storage.NewMemory("")
		return func(namespace string) storage.Driver { return m.In(namespace) }
	})
}
