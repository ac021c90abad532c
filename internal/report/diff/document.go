// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"github.com/moonhelm/moonhelm/plan"
)

// document is a diff in JSON or YAML. Fields are never removed.
type document struct {
	Release   string          `json:"release"`
	Namespace string          `json:"namespace"`
	From      int             `json:"from"` // revision, 0 for none
	To        int             `json:"to"`
	Summary   counts          `json:"summary"`
	Objects   []documentEntry `json:"objects"` // without unchanged objects, unless requested
	Hooks     []documentEntry `json:"hooks"`
}

type documentEntry struct {
	plan.Ref
	Source  string      `json:"source,omitempty"`
	Action  plan.Action `json:"action"` // create, update, replace, delete, keep or unchanged
	Reason  string      `json:"reason,omitempty"`
	Drifted bool        `json:"drifted"`
	// Drift lists the fields that another client has changed, from the release's value to the live
	// one.
	Drift []fieldChange `json:"drift,omitempty"`
	// Conflicts are the fields that other managers have set to other values.
	Conflicts []conflict `json:"conflicts,omitempty"`
	// Patches are what patches have changed in the rendered object.
	Patches []documentPatch `json:"patches,omitempty"`
	// Moved says what the object was called, by "moved" in Chart.yaml.
	Moved *plan.MovedObject `json:"moved,omitempty"`
	// Renamed is the object's new name, absent if it keeps its name.
	Renamed *plan.Ref `json:"renamedTo,omitempty"`
	// Before and After are the object without fields that only the server sets, or null if it does
	// not exist. Values of Secrets are replaced with their length.
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
	// Changes lists the fields that differ, if the object exists before and after.
	Changes []fieldChange `json:"changes"`
	// Suppressed reports that the object's kind is suppressed. Its fields are omitted then.
	Suppressed bool `json:"suppressed,omitempty"`
}

// documentPatch is what a patch has changed in an object.
type documentPatch struct {
	Patch   string   `json:"patch"` // "fix.yaml:3"
	Fields  []string `json:"fields,omitempty"`
	Deleted bool     `json:"deleted,omitempty"`
}

func (d Diff) document(o Options) document {
	return document{
		Release: d.Release, Namespace: d.Namespace, From: d.From, To: d.To, Summary: d.count(),
		Objects: o.document(d, d.Objects), Hooks: o.document(d, d.Hooks),
	}
}

func (o Options) document(d Diff, objects []Object) []documentEntry {
	out := []documentEntry{}
	for _, object := range objects {
		if object.Action == plan.Unchanged && !o.ShowUnchanged && len(object.Conflicts) == 0 && !object.isOnlyMoved() {
			continue
		}
		e := documentEntry{
			Ref: object.Ref, Source: object.Source, Action: object.Action, Reason: object.Reason,
			Drifted: object.Drifted, Renamed: object.Renamed, Moved: object.Moved, Changes: []fieldChange{},
		}
		for _, p := range object.Patched {
			e.Patches = append(e.Patches, documentPatch{p.Patch, p.Fields, p.Deleted})
		}
		if e.Suppressed = o.suppresses(object); e.Suppressed {
			out = append(out, e)
			continue
		}
		before, after := o.printable(object)
		e.Conflicts, e.Before, e.After = o.conflicts(object), withoutServerFields(before), withoutServerFields(after)
		if before != nil && after != nil {
			e.Changes = fieldChanges(d.names.replaceObject(e.Before, e.After), e.After, false)
		}
		for _, f := range object.Drift {
			c := fieldChange{Path: f.Path, Before: f.Want, After: f.Have}
			if o.hidesValues(object) {
				c.Before, c.After = nil, nil
			}
			e.Drift = append(e.Drift, c)
		}
		out = append(out, e)
	}
	return out
}
