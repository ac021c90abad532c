// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/plan"
)

// diffDocument is a diff for machines. Fields are only ever added.
type diffDocument struct {
	Release   string      `json:"release"`
	Namespace string      `json:"namespace"`
	From      int         `json:"from"` // a revision, 0 for none
	To        int         `json:"to"`
	Summary   counts      `json:"summary"`
	Objects   []diffEntry `json:"objects"` // without those that stay as they are, unless asked for
	Hooks     []diffEntry `json:"hooks"`
	Notes     []string    `json:"notes,omitempty"`
}

type diffEntry struct {
	plan.Ref
	Source  string      `json:"source,omitempty"`
	Action  plan.Action `json:"action"` // create, update, replace, delete, keep or unchanged
	Reason  string      `json:"reason,omitempty"`
	Drifted bool        `json:"drifted"`
	// Drift are the fields that somebody else has changed: from what the
	// release says to what is there.
	Drift []fieldChange `json:"drift,omitempty"`
	// Before and After are the object without what only the server writes, null
	// where it is not there. Values of Secrets are replaced by their length.
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
	// Changes are the fields that differ, where the object is there before and
	// after.
	Changes []fieldChange `json:"changes"`
}

// fieldChange is a field with its value before and after, absent where it is not
// there.
type fieldChange struct {
	Path   string `json:"path"` // spec.template.spec.containers[web].image
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

func (d Diff) document(o DiffOptions) diffDocument {
	return diffDocument{
		Release: d.Release, Namespace: d.Namespace, From: d.From, To: d.To, Summary: d.count(), Notes: d.Notes,
		Objects: entries(d.Objects, o), Hooks: entries(d.Hooks, o),
	}
}

func entries(objects []DiffObject, o DiffOptions) []diffEntry {
	out := []diffEntry{}
	for _, object := range objects {
		if object.Action == plan.Unchanged && !o.ShowUnchanged {
			continue
		}
		before, after := o.seen(object)
		e := diffEntry{
			Ref: object.Ref, Source: object.Source, Action: object.Action, Reason: object.Reason,
			Drifted: object.Drifted, Before: bare(before), After: bare(after), Changes: []fieldChange{},
		}
		if before != nil && after != nil {
			fieldChanges(&e.Changes, "", e.Before, e.After)
		}
		for _, f := range object.Drift {
			c := fieldChange{Path: f.Path, Before: f.Want, After: f.Have}
			if (f.Secret || o.hides(object)) && !o.ShowSecrets {
				c.Before, c.After = nil, nil
			}
			e.Drift = append(e.Drift, c)
		}
		out = append(out, e)
	}
	return out
}

// hides tells whether the object's values are not for showing.
func (o DiffOptions) hides(object DiffObject) bool {
	return object.Kind == "Secret" && !o.ShowSecrets
}

// seen is the object before and after, as it may be shown.
func (o DiffOptions) seen(object DiffObject) (before, after map[string]any) {
	before, after = named(object.Before, object.Ref), named(object.After, object.Ref)
	if o.hides(object) {
		return plan.Redact(before, after)
	}
	return before, after
}

// named is an object with its kind: a cluster leaves it out of what it lists,
// and a Secret must be known for one.
func named(object map[string]any, r plan.Ref) map[string]any {
	if object == nil || object["kind"] == r.Kind && object["apiVersion"] != nil {
		return object
	}
	object = maps.Clone(object)
	object["kind"] = r.Kind
	if object["apiVersion"] == nil {
		object["apiVersion"] = r.APIVersion
	}
	return object
}

// bare is an object without what only the server writes.
func bare(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	out := maps.Clone(object)
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, key := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"} {
			delete(meta, key)
		}
		out["metadata"] = meta
	}
	return out
}

// fieldChanges lists what differs, fields in the order of their names, items of
// lists by their names where they have some, else by their numbers.
func fieldChanges(out *[]fieldChange, path string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			for _, key := range keys(b, a) {
				fieldChanges(out, joinPath(path, key), b[key], a[key])
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok && (len(a) > 0 || len(b) > 0) {
			itemChanges(out, path, b, a)
			return
		}
	}
	if !reflect.DeepEqual(before, after) && !sameNumber(before, after) {
		*out = append(*out, fieldChange{path, before, after})
	}
}

func itemChanges(out *[]fieldChange, path string, before, after []any) {
	b, named := names(before)
	a, alsoNamed := names(after)
	if named && alsoNamed {
		index := func(list []any, names []string, name string) any {
			if i := slices.Index(names, name); i >= 0 {
				return list[i]
			}
			return nil
		}
		had := len(*out)
		for _, name := range b {
			fieldChanges(out, path+"["+name+"]", index(before, b, name), index(after, a, name))
		}
		for _, name := range a {
			if !slices.Contains(b, name) {
				fieldChanges(out, path+"["+name+"]", nil, index(after, a, name))
			}
		}
		if len(*out) == had && !slices.Equal(b, a) { // only their order
			*out = append(*out, fieldChange{path, before, after})
		}
		return
	}
	at := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	for i := range max(len(before), len(after)) {
		fieldChanges(out, fmt.Sprintf("%s[%d]", path, i), at(before, i), at(after, i))
	}
}

// names are the names of a list's items, where each has one of its own.
func names(list []any) ([]string, bool) {
	const many = 1000 // items by names are looked for in the whole list
	out := make([]string, 0, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		if !ok || len(list) > many {
			return nil, false
		}
		out = append(out, name)
	}
	return out, unique(out)
}

func keys(a, b map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// joinPath adds a key to a path as [plan.Drift] does.
func joinPath(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// sameNumber tells whether two values are one number, whatever its Go type.
func sameNumber(a, b any) bool {
	x, ok := number(a)
	y, also := number(b)
	return ok && also && x == y
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
