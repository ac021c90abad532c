// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// hookLogTimeout bounds what is done with the logs of a hook that has ended.
const hookLogTimeout = 30 * time.Second

// finished reports a hook that has run, while its object is still there, to [hookRunner.ended],
// and its log where its annotation asks for that.
//
// Helm shows the logs of hooks that succeeded when all hooks of the event have,
// the last first, and so not at all when one fails. Here each log is shown as
// soon as its hook is done.
func (r *hookRunner) finished(ctx context.Context, rel *release.Release, h *release.Hook, all []*hookItem) {
	policy := release.LogOnSucceeded
	if h.LastRun.Phase == release.PhaseFailed {
		policy = release.LogOnFailed
	}
	ctx, done := cleanupOfHook(ctx, hookLogTimeout)
	defer done()
	for _, it := range all {
		if h.Logs(policy) && runsToEnd(it.Kind) {
			r.showLogs(ctx, rel, it.Object)
		}
		if r.ended != nil {
			r.ended(ctx, h, it.Object)
		}
	}
}

// showLogs reports what the pods of o have written, line by line.
func (r *hookRunner) showLogs(ctx context.Context, rel *release.Release, o *manifest.Object) {
	name := o.String()
	logs, err := r.Cluster.Logs(ctx, o, rel.Namespace)
	if err != nil {
		// The hook's own end is what counts.
		r.Progress.Send(progress.Event{Kind: progress.Warning, Object: name,
			Text: fmt.Sprintf("its log cannot be read: %s", err)})
	}
	for _, l := range logs {
		from := name
		if len(logs) > 1 {
			from += " (" + l.Container + ")"
		}
		if l.Truncated {
			r.Progress.Send(progress.Event{Kind: progress.Log, Object: from, Text: "(only the end of its log)"})
		}
		for line := range strings.Lines(l.Text) {
			r.Progress.Send(progress.Event{Kind: progress.Log, Object: from, Text: strings.TrimRight(line, "\r\n")})
		}
	}
}
