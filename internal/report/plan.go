// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/report/diff"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Plan prints the changes to a release's objects as text, and on a terminal what they do.
func Plan(ctx context.Context, s term.Streams, c *action.Change) error {
	o := diff.Options{IncludeTests: true}
	d := diff.Of(c, o)
	if !d.Changes() {
		_, err := fmt.Fprintln(s.Out, "No changes.")
		return err
	}
	if err := diff.Write(ctx, s, diff.Text, d, o); err != nil || !term.IsTerminal(s.Out) {
		return err
	}
	return diff.WriteEffects(s, d, o)
}

// DryRunView configures the output of a dry run.
type DryRunView struct {
	HideSecret, HideNotes bool
	// Values prints the values too, in the format Table.
	Values bool
	// Plan prints the changes of objects too, on a terminal. Programs that parse the manifest in a
	// dry run (helm-diff) would take them for a part of it.
	Plan bool
}

// DryRun prints the planned release with its hooks and manifest.
func DryRun(ctx context.Context, s term.Streams, f output.Format, c *action.Change, v DryRunView) error {
	if v.HideSecret {
		if err := HideSecrets(c.To); err != nil {
			return err
		}
	}
	view := View{Manifest: true, HideNotes: v.HideNotes}
	if v.Values {
		var err error
		if view.Values, err = action.ComputedValues(c.To); err != nil {
			return err
		}
	}
	if err := view.Write(s, f, c.To); err != nil {
		return err
	}
	if !v.Plan || f != output.Table || c.Plan == nil || !term.IsTerminal(s.Out) {
		return nil
	}
	if _, err := fmt.Fprintln(s.Out, "PLAN:"); err != nil {
		return err
	}
	return Plan(ctx, s, c)
}
