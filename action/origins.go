// SPDX-License-Identifier: Apache-2.0

package action

import (
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/release"
)

// OriginsFunc returns where the values of a request come from. A nil OriginsFunc knows of none:
// the record of the revision then does not have them.
type OriginsFunc func() (*values.Origins, error)

// RecordedValues returns values of a release and where each of them came from when its revision was
// installed: the user's values, or, if computed is set, those of [ComputedValues]. Origins are nil
// if the record does not have them, as a record that Helm wrote.
func RecordedValues(rel *release.Release, computed bool) (map[string]any, *values.Origins, error) {
	c, vals, err := computedFrom(rel)
	if err != nil {
		return nil, nil, err
	}
	if !computed {
		vals = rel.Config
	}
	if rel.ValueOrigins == nil {
		return vals, nil, nil
	}
	user, defaults, err := recordedOrigins(rel)
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		return vals, user, nil
	}
	final, _, err := user.Resolve(c, defaults)
	return vals, final, err
}

// recordedOrigins returns the origins of the user's values and of the defaults in a record.
func recordedOrigins(rel *release.Release) (user, defaults *values.Origins, err error) {
	c, err := rel.Chart()
	if err != nil {
		return nil, nil, err
	}
	var vals map[string]any
	if c != nil {
		vals = c.Values
	}
	return values.UnpackOrigins(rel.ValueOrigins, rel.Config, vals, values.ReadLists(rel.Lists))
}

// reusedOrigins returns the origins that an upgrade takes from the record of the revision that it
// reuses values of.
func reusedOrigins(rel *release.Release) (user, defaults *values.Origins, err error) {
	if user, defaults, err = recordedOrigins(rel); err != nil {
		return nil, nil, err
	}
	return user.FromRevision(rel.Revision), defaults.FromRevision(rel.Revision), nil
}

// recordOrigins sets the origins of values in the record of a revision of c. user are those of the
// user's values; defaults are those of the chart's values, or nil if they are from its values.yaml.
func (d *deployment) recordOrigins(c *chart.Chart, user, defaults *values.Origins) error {
	_, ofDefaults, err := user.Resolve(c, defaults)
	if err != nil {
		return err
	}
	recorded, err := d.release.Chart()
	if err != nil {
		return err
	}
	d.release.ValueOrigins, err = values.PackOrigins(d.release.Config, user, recorded.Values, ofDefaults)
	return err
}

// recordOrigins sets the origins of values in the record of an install.
func (w *installOperation) recordOrigins() error {
	if w.req.ValueOrigins == nil || w.dryRun && !w.keep {
		return nil
	}
	user, err := w.req.ValueOrigins()
	if err != nil {
		return err
	}
	return w.deployment.recordOrigins(w.req.Chart, user, nil)
}

// recordOrigins sets the origins of values in the record of an upgrade to c, which takes values
// from last as [upgradeOperation.reuseValues] does.
func (w *upgradeOperation) recordOrigins(c *chart.Chart, last *release.Release) error {
	if w.req.ValueOrigins == nil || w.dryRun && !w.keep {
		return nil
	}
	user, err := w.req.ValueOrigins()
	if err != nil {
		return err
	}
	old, defaults, err := reusedOrigins(last)
	if err != nil {
		return err
	}
	switch w.req.Reuse {
	case ResetValues:
		defaults = nil
	case ReuseValues:
		user = old.Override(user)
		if recorded, err := last.Chart(); err != nil || recorded == nil {
			defaults = nil
		}
	case ResetThenReuse:
		user, defaults = old.Override(user), nil
	default:
		defaults = nil
		if len(w.req.Values) == 0 && len(last.Config) > 0 {
			user = old
		}
	}
	return w.deployment.recordOrigins(c, user, defaults)
}

// restoredOrigins sets the origins of values in rel, a copy of the record of an older revision.
func restoredOrigins(rel *release.Release, revision int) error {
	if rel.ValueOrigins == nil {
		return nil
	}
	c, err := rel.Chart()
	if err != nil || c == nil {
		return err
	}
	user, defaults, err := recordedOrigins(rel)
	if err != nil {
		return err
	}
	rel.ValueOrigins, err = values.PackOrigins(rel.Config, user.FromRevision(revision), c.Values,
		defaults.FromRevision(revision))
	return err
}
