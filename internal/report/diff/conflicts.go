// SPDX-License-Identifier: Apache-2.0

package diff

import "github.com/moonhelm/moonhelm/plan"

// conflict is a field that another manager has set to another value than the
// release, for machines.
type conflict struct {
	Path    string       `json:"path"` // spec.template.spec.containers[web].image
	Manager plan.Manager `json:"manager"`
	// Live is the value that is there, Chart the release's, absent in Secrets.
	Live       any             `json:"live,omitempty"`
	Chart      any             `json:"chart,omitempty"`
	Resolution plan.Resolution `json:"resolution"` // fail, yield or take
	Reason     string          `json:"reason,omitempty"`
}

// conflicts are those of an object, without what is not for showing.
func (o Options) conflicts(object Object) []conflict {
	var out []conflict
	for _, f := range object.Conflicts {
		c := conflict{f.Path, f.Manager, f.Live, f.Chart, f.Resolution, f.Reason}
		if f.Secret && !o.ShowSecrets {
			c.Live, c.Chart = nil, nil
		}
		out = append(out, c)
	}
	return out
}

// conflictNotes say what other managers have set, and what becomes of it; without the
// values where the object is sealed.
func (o Options) conflictNotes(object Object, sealed bool) []string {
	var out []string
	for _, c := range object.Conflicts {
		c.Secret = sealed || c.Secret && !o.ShowSecrets
		out = append(out, "conflict: "+c.Sentence()+": "+c.Outcome())
	}
	return out
}
