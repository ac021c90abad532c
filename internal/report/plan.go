// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/op"
	"github.com/moonhelm/moonhelm/plan"
)

// Plan prints what a change does to a release's objects.
func Plan(s term.Streams, f output.Format, c *op.Change, o DiffOptions) error {
	return WriteDiff(s, f, diffOf(c), o)
}

// Changes tells whether a change does anything to objects or hooks.
func Changes(c *op.Change) bool { return diffOf(c).Changes() }

func diffOf(c *op.Change) Diff {
	d := Diff{Release: c.To.Name, Namespace: c.To.Namespace, To: c.To.Revision, Stored: c.Stored}
	if c.From != nil {
		d.From = c.From.Revision
	}
	switch {
	case c.Stored && c.From != nil && c.From.Name == c.To.Name && c.From.Namespace == c.To.Namespace:
		d.Title = fmt.Sprintf("Difference from revision %d to %d", d.From, d.To)
	case !c.Stored && c.To.Info.RollbackRevision > 0:
		d.Title = fmt.Sprintf("Plan of the rollback to revision %d", c.To.Info.RollbackRevision)
	}
	if c.CRDs != nil {
		d.Objects = DiffOf(c.CRDs)
	}
	if c.Plan != nil {
		d.Objects = append(d.Objects, DiffOf(c.Plan)...)
	}
	d.Hooks = DiffOf(&plan.Plan{Steps: c.Hooks})
	return d
}

// DryRunView says what is shown of a dry run.
type DryRunView struct {
	HideSecret, HideNotes bool
	// Plan shows, to people, what would become of the objects.
	Plan bool
}

// DryRun prints the release that a change would come to, its hooks and its
// manifest.
func DryRun(s term.Streams, f output.Format, c *op.Change, v DryRunView) error {
	if v.HideSecret {
		if err := HideSecrets(c.To); err != nil {
			return err
		}
	}
	if err := (View{Manifest: true, HideNotes: v.HideNotes}).Write(s, f, c.To); err != nil {
		return err
	}
	if !v.Plan || f != output.Table || c.Plan == nil {
		return nil
	}
	if _, err := fmt.Fprintln(s.Out, "PLAN:"); err != nil {
		return err
	}
	return Plan(s, f, c, DiffOptions{})
}
