// SPDX-License-Identifier: Apache-2.0

package planfile

import (
	"encoding/json"
	"maps"

	"github.com/moonhelm/moonhelm/plan"
)

// NewObject returns the entry of a step, as computed before a dry run of the API server. An update
// that a dry run has shown to need a replacement is one. digest is that of [Digester.Secret].
func NewObject(s plan.Step, digest func([]byte) string) Object {
	computed := s
	if s.Computed != nil {
		computed = *s.Computed
	}
	o := Object{
		Ref: computed.Ref, Source: computed.Source, Action: computed.Action, Reason: computed.Reason,
		UID: metadata(computed.Live, "uid"), ResourceVersion: metadata(computed.Live, "resourceVersion"),
	}
	if s.Moved != nil && !(s.Action == plan.Unchanged && s.Moved.Known) {
		o.Moved = s.Moved
	}
	secret := o.Kind == "Secret"
	var data []any
	switch computed.Action {
	case plan.Create, plan.Replace:
		_, o.After = plan.Redact(nil, serverless(computed.New))
		data = append(data, computed.New["data"], computed.New["stringData"])
	case plan.Update:
		changes := plan.Changes(computed)
		o.Changes = newChanges(changes)
		for _, c := range changes {
			if c.Secret {
				data = append(data, c.Path, c.Have, c.Want)
			}
		}
		o.PatchType = computed.Type
		if !secret && len(o.Changes) > 0 {
			o.Patch = computed.Patch
		}
	case plan.Delete:
		drift := plan.Drift(computed.Item)
		o.Drift = newChanges(drift)
		for _, c := range drift {
			if c.Secret {
				data = append(data, c.Path, c.Have)
			}
		}
	}
	for _, c := range computed.Conflicts {
		if !secret {
			o.Conflicts = append(o.Conflicts, c.Sentence()+": "+c.Outcome())
		}
	}
	if secret && len(data) > 0 {
		text, _ := json.Marshal(data) // values were read from JSON or YAML
		o.Digest = digest(text)
	}
	if computed.Action == plan.Update && s.Action == plan.Replace {
		o.Action, o.Reason = plan.Replace, s.Reason
	}
	return o
}

func newChanges(list []plan.Difference) []Change {
	var out []Change
	for _, d := range list {
		c := Change{Path: d.Path, From: d.Have, To: d.Want, Hidden: d.Secret}
		if d.Secret {
			c.From, c.To = nil, nil
		}
		out = append(out, c)
	}
	return out
}

// metadata returns a field of an object's metadata, or "".
func metadata(object map[string]any, key string) string {
	meta, _ := object["metadata"].(map[string]any)
	text, _ := meta[key].(string)
	return text
}

// serverless returns an object without status, and without its namespace, which its reference has: a
// manifest may leave it to the release.
func serverless(object map[string]any) map[string]any {
	object = maps.Clone(object)
	delete(object, "status")
	if meta, ok := object["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		delete(meta, "namespace")
		object["metadata"] = meta
	}
	return object
}
