// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/moonhelm/moonhelm/store"
	"github.com/moonhelm/moonhelm/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, "a", "b", func(*testing.T) storetest.Open {
		m := store.NewMemory("")
		return func(namespace string) store.Driver { return m.In(namespace) }
	})
}
