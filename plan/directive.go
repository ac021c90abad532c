// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Directives of a strategic merge patch.
const (
	directive       = "$patch"
	retainDirective = "$retainKeys"
	orderPrefix     = "$setElementOrder/"
	primitivePrefix = "$deleteFromPrimitiveList/"
)

// Directive returns the path of a directive of strategic merge patches in a manifest, such
// as $patch, and "" where there is none. It is a mistake: sent as part of a patch it would
// be carried out. In a custom resource such a key is data like any other, and Directive
// returns "".
func Directive(object map[string]any) string {
	if !builtIn(object) || !find(object).directives {
		return ""
	}
	return directiveIn("", object)
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") && (key == directive || key == retainDirective ||
		strings.HasPrefix(key, orderPrefix) || strings.HasPrefix(key, primitivePrefix))
}

// oddities are what few manifests have, and what has to be read in a way of its own.
type oddities struct{ nulls, directives bool }

// find looks for all of them in one walk, which each manifest is worth.
func find(v any) (found oddities) {
	switch v := v.(type) {
	case nil:
		found.nulls = true
	case map[string]any:
		for key, e := range v {
			found = found.and(e)
			found.directives = found.directives || isDirective(key)
		}
	case []any:
		for _, e := range v {
			found = found.and(e)
		}
	}
	return found
}

func (o oddities) and(v any) oddities {
	switch v.(type) {
	case nil, map[string]any, []any:
		in := find(v)
		return oddities{o.nulls || in.nulls, o.directives || in.directives}
	}
	return o
}

// directiveIn is the path of the first directive in v, which is at path.
func directiveIn(path string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if isDirective(key) {
				return strings.TrimPrefix(path+"."+key, ".")
			}
			if found := directiveIn(join(path, key), v[key]); found != "" {
				return found
			}
		}
	case []any:
		for i, e := range v {
			if found := directiveIn(fmt.Sprintf("%s[%d]", path, i), e); found != "" {
				return found
			}
		}
	}
	return ""
}

// former is an old manifest as the server has read it. Directives in it were
// carried out, where Helm has sent it as a patch, or were never accepted: what
// they leave of an object is the rest, without items that they delete.
func former(o map[string]any) map[string]any {
	odd := find(o)
	if odd.directives && builtIn(o) {
		o = withoutDirectives(o).(map[string]any)
	}
	return normalBy(o, odd)
}

func withoutDirectives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			if !isDirective(key) {
				out[key] = withoutDirectives(e)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			if m, isMap := e.(map[string]any); !isMap || m[directive] == nil || m[directive] != "delete" && len(m) > 1 {
				out = append(out, withoutDirectives(e))
			}
		}
		return out
	}
	return v
}
