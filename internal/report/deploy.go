// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// Verb is an action.Install or action.Upgrade with requests of type R.
type Verb[R any] interface {
	Plan(ctx context.Context, req R) (*action.Change, *action.Rendered, error)
	Run(ctx context.Context, req R) (*release.Release, error)
}

// DeployView configures the output of an install or an upgrade.
type DeployView struct {
	Format output.Format
	// DryRun, if not nil, only plans the request and configures the output of the plan.
	DryRun *DryRunView
	// HideNotes omits the notes.
	HideNotes bool
	// First, if not nil, prints text before the release.
	First func()
}

// Deploy runs req, or plans it if v.DryRun is set, and prints the resulting release to s.
func Deploy[R any](ctx context.Context, s term.Streams, verb Verb[R], req R, v DeployView) error {
	var (
		change *action.Change
		rel    *release.Release
		err    error
	)
	if v.DryRun != nil {
		change, _, err = verb.Plan(ctx, req)
	} else {
		rel, err = verb.Run(ctx, req)
	}
	if err != nil {
		return err
	}
	if v.First != nil {
		v.First()
	}
	if v.DryRun != nil {
		return DryRun(ctx, s, v.Format, change, *v.DryRun)
	}
	return View{HideNotes: v.HideNotes}.Write(s, v.Format, rel)
}
