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

// Directive returns the path of a directive of strategic merge patches in a manifest, such as
// $patch, or "" if there is none. The server would execute a directive in a patch. In a custom
// resource such a key is ordinary data, and Directive returns "".
func Directive(object map[string]any) string {
	if !builtIn(object) || !scan(object).directives {
		return ""
	}
	return directiveIn("", object)
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") && (key == directive || key == retainDirective ||
		strings.HasPrefix(key, orderPrefix) || strings.HasPrefix(key, primitivePrefix))
}

// specialForms are rare forms of values that need extra processing.
type specialForms struct{ nulls, directives bool }

// scan returns the special forms in v.
func scan(v any) (found specialForms) {
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

func (o specialForms) and(v any) specialForms {
	switch v.(type) {
	case nil, map[string]any, []any:
		in := scan(v)
		return specialForms{o.nulls || in.nulls, o.directives || in.directives}
	}
	return o
}

// directiveIn returns the path of the first directive in v, which is at path.
func directiveIn(path string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if isDirective(key) {
				return strings.TrimPrefix(path+"."+key, ".")
			}
			if found := directiveIn(FieldPath(path, key), v[key]); found != "" {
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

// asApplied returns an old manifest as the server has applied it: without directives, and
// without the items that they delete. If Helm has sent directives in a patch, the server has
// executed them; otherwise it has rejected them.
func asApplied(o map[string]any) map[string]any {
	forms := scan(o)
	if forms.directives && builtIn(o) {
		o = withoutDirectives(o).(map[string]any)
	}
	return normalizeScanned(o, forms)
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
