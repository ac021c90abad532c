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

// hookLogTimeout limits the time for the logs of a hook that has ended.
const hookLogTimeout = 30 * time.Second

// reportFinished calls [hookRunner.onFinished] for a hook that has run, before its objects are
// deleted, and reports its logs if its annotation asks for them.
//
// Helm shows the logs of successful hooks after all hooks of the event have succeeded, the
// last first, and so shows none if one fails. Here the logs are shown as soon as a hook has
// finished.
func (r *hookRunner) reportFinished(ctx context.Context, rel *release.Release, h *release.Hook, all []*hookItem) {
	policy := release.LogOnSucceeded
	if h.LastRun.Phase == release.PhaseFailed {
		policy = release.LogOnFailed
	}
	ctx, done := hookCleanupContext(ctx, hookLogTimeout)
	defer done()
	for _, item := range all {
		if h.Logs(policy) && runsToCompletion(item.Kind) && !r.watch.showsLogs() {
			r.showLogs(ctx, rel, item.Object)
		}
		if r.onFinished != nil {
			r.onFinished(ctx, h, item.Object)
		}
	}
}

// showsLogs reports whether waits report logs, so that those of hooks were seen.
func (s *watching) showsLogs() bool {
	return s != nil && s.options.Watch != nil && s.options.Watch.Logs
}

// showLogs reports the logs of o's pods, line by line.
func (r *hookRunner) showLogs(ctx context.Context, rel *release.Release, o *manifest.Object) {
	name := o.String()
	logs, err := r.Cluster.Logs(ctx, o, rel.Namespace)
	if err != nil {
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
