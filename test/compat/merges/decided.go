// SPDX-License-Identifier: Apache-2.0

package merges

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/test/compat/mutated"
)

// result has the outcomes of a triple by the names of contestants.
type result struct {
	*Triple
	outcomes map[string]*Outcome
	normal   map[string]map[string]any
}

// Decision is an intended difference from Helm that docs/differences.md describes.
type Decision struct {
	Name   string
	Reason string
	// Match reports whether a difference between our result and Helm's is of this kind.
	// server is set for server-side apply.
	Match func(r *result, server bool, d mutated.Difference) bool
}

// reference is the name of the API server's own result of a triple.
const reference = "reference"

// Decided are the decisions about merging.
var Decided = []Decision{
	{
		Name:   "as the server merges",
		Reason: "ours makes what the API server makes of the same triple by server-side apply, and Helm does not",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			return d.Path != "fails" && r.outcomes[reference].Error == "" && same(r.ours(server),
				r.normal[reference], d.Path) &&
				!same(r.helm(server), r.normal[reference], d.Path)
		},
	},
	{
		Name:   "as the server merges, in another order",
		Reason: "the same, but that items of other clients are elsewhere in a list whose items have keys",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			list, _, _ := strings.Cut(d.Path, "[") // the indices differ
			want := sorted(r.normal[reference])
			return d.Path != "fails" && r.outcomes[reference].Error == "" && same(sorted(r.ours(server)), want, list) &&
				!same(sorted(r.helm(server)), want, list)
		},
	},
	{
		Name:   "the other member of a union",
		Reason: "ours makes what the server makes; Helm's patch leaves two members of a union, which the server refuses",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			return d.Path == "fails" && d.Ours == "" && union.MatchString(d.Helm)
		},
	},
	{
		Name:   "custom resources are put right",
		Reason: "what another client changes in a custom resource is the chart's again; Helm compares the charts only",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			right := func(path string) bool {
				was, _ := at(r.Old, path)
				is, ok := at(r.New, path)
				ours, _ := at(r.ours(server), path)
				helm, _ := at(r.helm(server), path)
				live, _ := at(r.normalLive("helm client"), path)
				return ok && reflect.DeepEqual(was, is) && reflect.DeepEqual(helm, live) && within(is, ours)
			}
			list, _, _ := strings.Cut(d.Path, "[") // a merge patch has lists as one value
			return !server && r.Kind.kind == "Widget" && (right(d.Path) || right(list))
		},
	},
	{
		Name:   "what others have put into a list that the chart drops",
		Reason: "Helm's client removes lists, labels and annotations whole where a chart has them no more, or has null there",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			is, _ := at(r.New, d.Path)
			was, _ := at(r.Old, d.Path)
			ours, _ := at(r.ours(server), d.Path)
			live, _ := at(r.normalLive("ours client"), d.Path)
			return !server && d.Helm == "(missing)" && is == nil && left(ours, was, live)
		},
	},
	{
		Name:   "keys of two parts",
		Reason: "Helm's client knows ports by number alone, spread constraints by topologyKey, and cannot tell two alike",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			if d.Path == "fails" {
				return !server && d.Ours == "" && (strings.Contains(d.Helm, "Duplicate value") ||
					strings.Contains(d.Helm, "failed to create patch: The order in patch list"))
			}
			says, ok := at(r.New, d.Path)
			ours, _ := at(r.ours(server), d.Path)
			helm, _ := at(r.helm(server), d.Path)
			keyed := strings.HasSuffix(d.Path, ".ports") || strings.HasSuffix(d.Path, ".topologySpreadConstraints")
			was, _ := at(r.Old, d.Path)
			live, _ := at(r.normalLive("ours client"), d.Path)
			right := within(says, ours) && !within(says, helm) || kept(live, was, ours) && !kept(live, was, helm)
			return !server && keyed && ok && right
		},
	},
	{
		Name:   "items that are there twice",
		Reason: "Helm's client takes items with one key for one; ours keeps what another client lists twice, after what the chart lists",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			list, _, _ := strings.Cut(d.Path, "[")
			says, _ := at(r.New, list)
			ours, _ := at(r.ours(server), list)
			helm, _ := at(r.helm(server), list)
			live, _ := at(r.normalLive("ours client"), list)
			behind := begins(ours, says) && sameItems(ours, helm)
			return !server && (twice(says) && within(says, ours) || twice(live) && (reflect.DeepEqual(ours, live) || behind))
		},
	},
	{
		Name:   "a null is not applied",
		Reason: "with server-side apply ours leaves nulls of built-in kinds out, and what others have set; Helm sends them",
		Match: func(r *result, server bool, d mutated.Difference) bool {
			ok := null(r.New, d.Path)
			ours, _ := at(r.ours(server), d.Path)
			live, _ := at(r.normalLive("ours server"), d.Path)
			was, had := at(r.Old, d.Path)
			gone := had && !within(was, ours) // a default in place of a field that the chart had set
			return server && r.Kind.kind != "Widget" && ok && (gone || reflect.DeepEqual(ours, live))
		},
	},
	{
		Name:   "stringData",
		Reason: "a key that a chart had in stringData and drops is removed; Helm and the server leave it in data",
		Match: func(r *result, _ bool, d mutated.Difference) bool {
			key, below := strings.CutPrefix(d.Path, ".data.")
			was, _ := r.Old["stringData"].(map[string]any)
			return r.Kind.kind == "Secret" && d.Ours == "(missing)" && (d.Path == ".data" && len(was) > 0 ||
				below && was[key] != nil)
		},
	},
}

// union matches the server's message about two members of a union.
var union = regexp.MustCompile("cannot set both|cannot be both set|mutually exclusive|may not be specified when|" +
	"may not specify more than 1|may not have more than one field|more than 1 (volume|handler)|must specify one of|not allowed to specify|only allowed for updateStrategy")

// at returns the value at the path of a difference. Keys may contain dots.
func at(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if rest, ok := strings.CutPrefix(path, "."+k); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				if found, ok := at(e, rest); ok {
					return found, true
				}
			}
		}
	case []any:
		for i, e := range v {
			if rest, ok := strings.CutPrefix(path, fmt.Sprintf("[%d]", i)); ok {
				return at(e, rest)
			}
		}
	}
	return nil, false
}

// null reports whether there is a null at a path or above it.
func null(v any, path string) bool {
	for end := len(path); end > 0; end = strings.LastIndexAny(path[:end], ".[") {
		if is, ok := at(v, path[:end]); ok {
			return is == nil
		}
	}
	return false
}

// left reports whether a map or list is the live one without the entries of the chart.
func left(ours, was, live any) bool {
	switch ours := ours.(type) {
	case map[string]any:
		old, _ := was.(map[string]any)
		have, _ := live.(map[string]any)
		for k, v := range ours {
			if _, had := old[k]; had || !reflect.DeepEqual(v, have[k]) {
				return false
			}
		}
		return len(ours) > 0
	case []any:
		old, _ := was.([]any)
		have, _ := live.([]any)
		has := func(list []any, v any) bool {
			return slices.ContainsFunc(list, func(e any) bool { return reflect.DeepEqual(e, v) })
		}
		for _, v := range ours {
			if has(old, v) || !has(have, v) {
				return false
			}
		}
		return len(ours) > 0
	}
	return false
}

// twice reports whether two items of a list are equal.
func twice(v any) bool {
	list, _ := v.([]any)
	for i, e := range list {
		if slices.ContainsFunc(list[:i], func(o any) bool { return reflect.DeepEqual(e, o) }) {
			return true
		}
	}
	return false
}

// begins reports whether a list begins with the chart's items.
func begins(v, chart any) bool {
	list, _ := v.([]any)
	says, _ := chart.([]any)
	return len(list) >= len(says) && within(chart, list[:len(says)])
}

// sameItems reports whether two lists have the same items in any order.
func sameItems(a, b any) bool {
	left, _ := a.([]any)
	right, _ := b.([]any)
	right = slices.Clone(right)
	for _, v := range left {
		i := slices.IndexFunc(right, func(e any) bool { return reflect.DeepEqual(e, v) })
		if i < 0 {
			return false
		}
		right = slices.Delete(right, i, i+1)
	}
	return len(right) == 0
}

// kept reports whether a list has all items of a live one that are not the chart's.
func kept(live, was, list any) bool {
	have, _ := live.([]any)
	old, _ := was.([]any)
	items, _ := list.([]any)
	for _, v := range have {
		same := func(e any) bool { return within(e, v) }
		if !slices.ContainsFunc(old, same) && !slices.ContainsFunc(items, func(e any) bool { return reflect.DeepEqual(e, v) }) {
			return false
		}
	}
	return true
}

// within reports whether an object contains everything in a chart's object. Servers add fields.
func within(chart, object any) bool {
	switch chart := chart.(type) {
	case map[string]any:
		o, ok := object.(map[string]any)
		for k, v := range chart {
			ok = ok && (v == nil || within(v, o[k]))
		}
		return ok
	case []any:
		o, ok := object.([]any)
		if !ok || len(o) != len(chart) {
			return false
		}
		for i := range chart {
			if !within(chart[i], o[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(chart, object)
}

// sorted returns an object with all lists of maps sorted.
func sorted(o map[string]any) map[string]any {
	if o == nil {
		return nil
	}
	return inOrder(clone(o)).(map[string]any)
}

func inOrder(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = inOrder(e)
		}
	case []any:
		for i, e := range v {
			v[i] = inOrder(e)
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	}
	return v
}

// text returns a map as JSON, and "" for other values, whose order is then unchanged.
func text(v any) string {
	if _, ok := v.(map[string]any); !ok {
		return ""
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // objects are decoded from JSON
	}
	return string(out)
}

func (r *result) ours(server bool) map[string]any { return r.normal["ours "+mode(server)] }
func (r *result) helm(server bool) map[string]any { return r.normal["helm "+mode(server)] }

// normalLive returns the object before the upgrade in the form of normal.
func (r *result) normalLive(name string) map[string]any {
	live := r.outcomes[name].Live
	return normal(&Outcome{Live: live, After: live})
}

func mode(server bool) string {
	if server {
		return "server"
	}
	return "client"
}

// same reports whether two objects have equal values at a path.
func same(a, b map[string]any, path string) bool {
	for _, d := range mutated.Differences("", a, b) {
		if strings.HasPrefix(d.Path, path) || strings.HasPrefix(path, d.Path) {
			return false
		}
	}
	return a != nil && b != nil
}

func (r *result) decided(server bool, d mutated.Difference) *Decision {
	for i := range Decided {
		if Decided[i].Match(r, server, d) {
			return &Decided[i]
		}
	}
	return nil
}
