// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A DriftKind is the way in which a field differs from what was installed.
type DriftKind string

// The kinds of drift.
const (
	DriftChanged DriftKind = "changed" // the release sets the field to another value
	DriftMissing DriftKind = "missing" // the release sets the field, and it does not exist
	DriftAdded   DriftKind = "added"   // another client has set a field that the release does not set
)

// A DriftedField is a field of a live object that differs from what was installed.
type DriftedField struct {
	Difference
	Kind DriftKind
	// Manager has set the live value. It is the zero value if managedFields does not say, as
	// for fields that were removed.
	Manager Manager
	// Allowed is the reason why the difference is not drift ("scaled by
	// HorizontalPodAutoscaler/web"), or "" if it is drift.
	Allowed string
}

// An ObjectDrift has the differences of an object from what was installed.
type ObjectDrift struct {
	Ref
	Source string // the template, or "" if it is not known
	// Missing is set if the object does not exist, and Deleted is the time since which it is
	// being deleted, or "".
	Missing bool
	Deleted string
	// Allowed is the reason why an object may be missing, or "".
	Allowed string
	// Fields are sorted by path.
	Fields []DriftedField
}

// Drifted reports whether d has drift: a difference that is not allowed.
func (d ObjectDrift) Drifted() bool {
	return (d.Missing || d.Deleted != "") && d.Allowed == "" || len(d.Drift()) > 0
}

// Drift returns the fields of d whose difference is not allowed.
func (d ObjectDrift) Drift() []DriftedField {
	var out []DriftedField
	for _, f := range d.Fields {
		if f.Allowed == "" {
			out = append(out, f)
		}
	}
	return out
}

// DriftOptions control which differences are drift. With the zero value, all are that the owner
// of a field may not make.
type DriftOptions struct {
	// Autoscaled has the autoscalers of the cluster.
	Autoscaled Autoscaled
	// Ignore has the differences that the user does not want to see as drift.
	Ignore []IgnoreRule
}

// FindDrift returns the differences of item.Live from the last of item.Old, which is the installed
// manifest, with its ownership labels; a field that has the value of another of item.Old has not
// drifted. Live must have its managedFields: they say who has changed a field, and which fields
// another client has added. A field that no manager has set was set by the server or on
// admission, and is not a difference. FindDrift ignores item.New.
func FindDrift(item Item, o DriftOptions) ObjectDrift {
	d := ObjectDrift{Ref: item.Ref, Source: item.Source}
	if len(item.Old) == 0 {
		return d
	}
	rules := allowance{options: o, item: item, installed: item.Old[len(item.Old)-1]}
	if item.Live == nil {
		d.Missing, d.Allowed = true, rules.missingObject()
		return d
	}
	if d.Deleted = stringAt(metadata(item.Live), "deletionTimestamp"); d.Deleted != "" {
		d.Allowed = rules.ignored(nil, Manager{})
	}
	managers := fieldManagers(item.Live)
	rules.managers = managers
	for _, diff := range Drift(item) {
		f := DriftedField{Difference: diff, Kind: DriftChanged, Manager: managers.of(diff.steps)}
		switch {
		case diff.isOrder():
			f.Manager = Manager{} // managedFields has no order
		case diff.Want == nil:
			f.Kind = DriftAdded
		case diff.Have == nil: // no manager has what is not there
			f.Kind, f.Manager = DriftMissing, Manager{}
		}
		d.Fields = append(d.Fields, f)
	}
	for _, f := range addedFields(item, managers) {
		known := func(have DriftedField) bool { return isAbove(have.steps, f.steps) || isAbove(f.steps, have.steps) }
		if !slices.ContainsFunc(d.Fields, known) {
			d.Fields = append(d.Fields, f)
		}
	}
	for i := range d.Fields {
		d.Fields[i].Secret = secretField(item.Ref, d.Fields[i].steps)
		d.Fields[i].Allowed = rules.of(d.Fields[i])
	}
	slices.SortFunc(d.Fields, func(a, b DriftedField) int { return cmp.Compare(a.Path, b.Path) })
	return d
}

// isAbove reports whether the field at path is the one at other, or above it.
func isAbove(path, other []pathStep) bool {
	if len(path) > len(other) {
		return false
	}
	for i, s := range path {
		if s.name != other[i].name || s.item != other[i].item {
			return false
		}
	}
	return true
}

// managedEntries are the entries of an object's managedFields that say who has set its fields.
type managedEntries []entry

// fieldManagers returns the entries of an object, without those of its status.
func fieldManagers(live map[string]any) managedEntries {
	return slices.DeleteFunc(entries(live), func(e entry) bool {
		return len(e.fields) == 0 || e.Subresource == "status" || e.Subresource == "ephemeralcontainers"
	})
}

// owners returns the managers with the fields that they have set.
func (m managedEntries) owners() []owner {
	out := make([]owner, 0, len(m))
	for _, e := range m {
		out = append(out, owner(e))
	}
	return out
}

// of returns the manager of a field: of several the one that is not Helm, and then the latest; or
// the zero value.
func (m managedEntries) of(path []pathStep) Manager {
	owners := m.owners()
	for _, s := range path {
		owners = ownersIn(owners, s)
	}
	var found Manager
	for _, o := range owners {
		better := found.Name == "" || IsHelm(found.Name) && !IsHelm(o.Name) ||
			IsHelm(found.Name) == IsHelm(o.Name) && o.Time > found.Time
		if better {
			found = o.Manager
		}
	}
	return found
}

// hasHelms reports whether Helm has set the field itself, and not only what it is in: an entry whose
// other fields have other managers now looks as if it had set the whole.
func (m managedEntries) hasHelms(path []pathStep) bool {
	return slices.ContainsFunc(m, func(e entry) bool {
		fields := e.fields
		for _, s := range path {
			within, ok := s.in(fields)
			if !ok {
				return false
			}
			fields = within
		}
		return IsHelm(e.Name)
	})
}

// in returns what managedFields has below the step.
func (s pathStep) in(fields map[string]any) (below map[string]any, ok bool) {
	if !s.item {
		below, ok = fields["f:"+s.name].(map[string]any)
		return below, ok
	}
	items, _ := ownedItems(fields)
	for _, item := range items {
		if s.keys == nil && item.keys == nil && stringOf(item.value) == s.name ||
			s.keys != nil && item.keys != nil && item.hasKeys(s.keys) {
			return item.fields, true
		}
	}
	return nil, false
}

// hasKeys reports whether the item has the values of keys. The merge may know fewer keys than the
// server.
func (o ownedItem) hasKeys(keys map[string]any) bool {
	for name, v := range o.keys {
		if have, known := keys[name]; known && !equal(have, v) {
			return false
		}
	}
	return true
}

// managedElement returns the element of managedFields for the step.
func (s pathStep) managedElement() (string, error) {
	prefix, key := "k:", any(s.keys)
	switch {
	case !s.item:
		return "f:" + s.name, nil
	case s.keys == nil:
		prefix, key = "v:", s.name
	}
	text, err := json.Marshal(key)
	return prefix + string(text), err
}
