// SPDX-License-Identifier: Apache-2.0

package diff

import "github.com/moonhelm/moonhelm/plan"

// conflict is a field that another field manager has set to another value, in the document.
type conflict struct {
	Path    string       `json:"path"` // spec.template.spec.containers[web].image
	Manager plan.Manager `json:"manager"`
	// Live is the live value, Chart the release's. Both are absent for Secrets.
	Live       any             `json:"live,omitempty"`
	Chart      any             `json:"chart,omitempty"`
	Resolution plan.Resolution `json:"resolution"` // fail, yield or take
	Reason     string          `json:"reason,omitempty"`
}

// conflicts returns the object's conflicts, without the values of Secrets unless they are shown.
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

// conflictNotes describes the object's conflicts and how they are resolved, without values if
// sealed.
func (o Options) conflictNotes(object Object, sealed bool) []string {
	var out []string
	for _, c := range object.Conflicts {
		c.Secret = sealed || c.Secret && !o.ShowSecrets
		out = append(out, "conflict: "+c.Sentence()+": "+c.Outcome())
	}
	return out
}
