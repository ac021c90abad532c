// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Approvals remembers permissions that were granted: unchanged scripts get them again
// without a question, as when a failed upgrade is rolled back. It is safe for concurrent
// use, and must not be copied. Questions are asked one at a time.
type Approvals struct {
	// Ask is called with what was not granted before. It must be set.
	Ask func(ctx context.Context, asks []Ask) error

	mu      sync.Mutex
	granted map[string]bool
}

// Approve is a [Host.Approve]. Its error is that of a.Ask.
func (a *Approvals) Approve(ctx context.Context, asks []Ask) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	asks = slices.DeleteFunc(slices.Clone(asks), func(ask Ask) bool { return a.granted[ask.key()] })
	if len(asks) == 0 {
		return nil
	}
	if err := a.Ask(ctx, asks); err != nil {
		return err
	}
	if a.granted == nil {
		a.granted = map[string]bool{}
	}
	for _, ask := range asks {
		a.granted[ask.key()] = true
	}
	return nil
}

// key identifies the scripts and their permissions.
func (a Ask) key() string {
	return string(a.scripts[:]) + strings.Join(a.Permissions, " ") + "\n" + a.Chart
}
