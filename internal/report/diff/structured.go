// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
)

// structuredEntry is an object with its changed fields. Fields are never removed.
type structuredEntry struct {
	API        string `json:"api"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	ChangeType string `json:"changeType"` // ADD, MODIFY, REMOVE or MODIFY_SUPPRESSED
	Status     struct {
		OldExists bool `json:"oldExists"`
		NewExists bool `json:"newExists"`
	} `json:"resourceStatus"`
	Changes []structuredChange `json:"changes,omitempty"` // if the object exists before and after
	Hidden  bool               `json:"changesSuppressed,omitempty"`
}

type structuredChange struct {
	Path   string `json:"path,omitempty"` // path of the parent: spec.template.spec.containers[0]
	Field  string `json:"field"`
	Change string `json:"change"` // add, remove or replace
	Old    any    `json:"oldValue,omitempty"`
	New    any    `json:"newValue,omitempty"`
}

// structured prints a JSON array.
func (d Diff) structured(w io.Writer, o Options) error {
	list := []structuredEntry{}
	for _, e := range d.entries(o) {
		list = append(list, o.structuredEntry(d, e))
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = io.WriteString(w, term.Escape(string(text))+"\n")
	return err
}

func (o Options) structuredEntry(d Diff, e entry) structuredEntry {
	out := structuredEntry{
		API: apiGroup(e.Ref), Kind: e.Kind, Namespace: d.namespace(e.Ref), Name: e.Name,
		ChangeType: e.change, Hidden: e.sealed != "" || e.change == suppressed,
	}
	out.Status.OldExists, out.Status.NewExists = e.Before != nil, e.After != nil
	if out.Hidden || e.Before == nil || e.After == nil {
		return out
	}
	before, after := o.printable(e.Object)
	before = d.names.replaceObject(before, after)
	for _, c := range fieldChanges(withoutServerFields(before), withoutServerFields(after), true) {
		change := structuredChange{
			Path: c.place.parent, Field: strings.Trim(c.place.field, "[]"),
			Change: "replace", Old: c.Before, New: c.After,
		}
		switch {
		case c.Before == nil:
			change.Change = "add"
		case c.After == nil:
			change.Change = "remove"
		}
		out.Changes = append(out.Changes, change)
	}
	return out
}
