// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/plan"
)

// unknownField is why a field may be missing that the API server has dropped.
const unknownField = "the API server does not know the field"

// allowUnknown allows missing fields that the API server has dropped because the kind does not have
// them, such as those of charts for other versions. It reads schemas only where fields are missing; where
// it cannot, the fields have drifted.
func (c *Applier) allowUnknown(ctx context.Context, checks []*driftCheck) {
	missing := map[string][]*driftCheck{} // keys are apiVersions
	for _, d := range checks {
		for _, f := range d.drift.Drift() {
			if f.Kind == plan.DriftMissing {
				missing[d.item.APIVersion] = append(missing[d.item.APIVersion], d)
				break
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	apiVersions := make([]string, 0, len(missing))
	for v := range missing {
		apiVersions = append(apiVersions, v)
	}
	documents := c.documents(ctx, apiVersions)
	for v, of := range missing {
		document := documents[v]
		if document == nil {
			continue
		}
		for _, d := range of {
			for _, p := range document.Check(d.item.Old[len(d.item.Old)-1]) {
				if p.Unknown() {
					d.allow(p.Field)
				}
			}
		}
	}
}

// brackets matches what a path has in brackets: an index, or the key of an item.
var brackets = lazy.Regexp(`\[[^\]]*\]`)

// allow allows that the unknown field at a path is missing. Items have one schema, whichever of them it
// is.
func (d *driftCheck) allow(path string) {
	unknown := brackets().ReplaceAllString(path, "[]")
	for i, f := range d.drift.Fields {
		here := brackets().ReplaceAllString(f.Path, "[]")
		below := strings.HasPrefix(here, unknown+".") || strings.HasPrefix(here, unknown+"[")
		if f.Kind == plan.DriftMissing && f.Allowed == "" && (here == unknown || below) {
			d.drift.Fields[i].Allowed = unknownField
		}
	}
}
