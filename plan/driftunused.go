// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// An UnusedRule is a rule that ignores nothing, and was probably meant to.
type UnusedRule struct {
	Rule string
	// Near are the kinds, names, paths or managers that the rule may mean, if there are any.
	Near []string
}

// UnusedRules returns the rules whose kind or name no object has, and those whose path or manager no
// difference has, but which resemble that of one. A rule for a field that has not drifted is not unused:
// it is there for the day on which it does. It returns nil if there are no objects.
func UnusedRules(rules []IgnoreRule, objects []ObjectDrift) []UnusedRule {
	if len(objects) == 0 {
		return nil
	}
	var out []UnusedRule
	for _, r := range rules {
		whole := r
		whole.path, whole.manager = nil, ""
		of := slices.DeleteFunc(slices.Clone(objects), func(o ObjectDrift) bool {
			return !whole.matches(o.Ref, nil, Manager{})
		})
		if len(of) == 0 {
			out = append(out, UnusedRule{r.text, suggest.Nearest(whole.candidates(objects), whole.object())})
			continue
		}
		if near := r.near(of); len(near) > 0 {
			out = append(out, UnusedRule{r.text, near})
		}
	}
	return out
}

// object returns the kind and name of a rule as the user writes them.
func (r IgnoreRule) object() string {
	if r.name == "" {
		return r.kind
	}
	return r.kind + "/" + r.name
}

// candidates returns what object could return for the objects.
func (r IgnoreRule) candidates(objects []ObjectDrift) []string {
	names := map[string]bool{}
	for _, o := range objects {
		name := o.Kind
		if r.name != "" {
			name += "/" + o.Name
		}
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// near returns the paths or managers of drift that the rule may mean, if it selects no difference.
func (r IgnoreRule) near(objects []ObjectDrift) []string {
	want := r.manager
	if r.path != nil {
		want = strings.TrimPrefix(r.text, r.object()+":")
		if pointer, ok := strings.CutPrefix(want, "/"); ok {
			want = strings.ReplaceAll(pointer, "/", ".")
		}
	}
	names := map[string]bool{}
	for _, o := range objects {
		for _, f := range o.Fields {
			switch {
			case r.matches(o.Ref, f.steps, f.Manager):
				return nil
			case f.Allowed != "":
			case r.path != nil:
				names[f.Path] = true
			case f.Manager.Name != "":
				names[f.Manager.Name] = true
			}
		}
	}
	if want == "" {
		return nil
	}
	return suggest.Nearest(slices.Sorted(maps.Keys(names)), want)
}
