// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/script/wire"
)

// A program that does not call Main is not started a second time.
func TestStartWantsMain(t *testing.T) {
	was := called.Swap(false)
	defer called.Store(was)
	p, err := Start(t.Context(), wire.DefaultLimits())
	if p != nil || err == nil || !strings.Contains(err.Error(), "worker.Main") {
		t.Errorf("Start without Main: %v, %v; want an error that names worker.Main", p, err)
	}
}
