// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"

	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// WarnUnusable tells of entries of an index that are passed over.
func (e *Env) WarnUnusable(r repo.Result) {
	const most = 3
	for i, bad := range r.Unusable {
		text := fmt.Sprintf("repository %s: %v", r.Entry.Name, bad)
		if left := len(r.Unusable) - i; i == most-1 && left > 1 {
			text += fmt.Sprintf(" (and %d more)", left-1)
		}
		if i < most {
			e.Report().Send(progress.Event{Kind: progress.Warning, Text: text})
		}
	}
}
