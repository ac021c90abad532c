// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/release"
)

// Verb is an action.Install or action.Upgrade, whose request is R.
type Verb[R any] interface {
	Plan(ctx context.Context, req R) (*action.Change, *action.Rendered, error)
	Run(ctx context.Context, req R) (*release.Release, error)
}

// DeployView says what of an install or an upgrade is shown.
type DeployView struct {
	Format output.Format
	// DryRun has the request planned only, and says what of the plan is shown.
	DryRun *DryRunView
	// HideNotes leaves the notes out.
	HideNotes bool
	// First, where not nil, prints what comes before the release.
	First func()
}

// Deploy carries out req, or plans it where v says so, and prints to s what has come of it.
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
