// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"

	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// TemplateHistory says what the templates of an upgrade see in .Release.History (HIP-0029). The zero
// value gives them an empty list.
type TemplateHistory struct {
	// ReleaseHistoryMax is the maximum number of revisions, the newest first.
	ReleaseHistoryMax int
	// IncludeHistoryValues includes the user's values of each, which may have secrets.
	IncludeHistoryValues bool
}

// past returns the revisions for .Release.History. It reads only those, and none if no template names
// them.
func (h *history) past(ctx context.Context, records Storage, o TemplateHistory, resolved *values.Resolved,
) ([]engine.PastRelease, error) {
	if o.ReleaseHistoryMax <= 0 || len(h.revisions) == 0 || !engine.NamesHistory(resolved.Chart, resolved.Values) {
		return nil, nil
	}
	revisions := h.revisions[max(0, len(h.revisions)-o.ReleaseHistoryMax):]
	known := map[int]*release.Release{}
	for _, rel := range append(slices.Clone(h.applied), h.last) {
		known[rel.Revision] = rel
	}
	unread := slices.DeleteFunc(slices.Clone(revisions), func(r storage.Record) bool { return known[r.Revision] != nil })
	read, err := readAll(ctx, records, h.name, unread)
	if err != nil {
		return nil, fmt.Errorf("read the history of release %s for its templates: %w", h.name, err)
	}
	for _, rel := range read {
		known[rel.Revision] = rel
	}
	var out []engine.PastRelease
	for _, r := range slices.Backward(revisions) {
		rel := known[r.Revision]
		meta, err := rel.Metadata()
		if err != nil {
			return nil, err
		}
		past := engine.PastRelease{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision,
			Status: string(rel.Info.Status), Chart: meta, FirstDeployed: rel.Info.FirstDeployed,
			LastDeployed: rel.Info.LastDeployed}
		if rel.Info.Status.InProgress() { // it was interrupted: it is about to be recorded as failed
			past.Status = string(release.Failed)
		}
		if o.IncludeHistoryValues {
			past.Values = map[string]any{}
			if rel.Config != nil {
				past.Values = rel.Config
			}
		}
		out = append(out, past)
	}
	return out, nil
}
