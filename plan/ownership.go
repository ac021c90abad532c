// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart/values"
)

// A Resolution resolves a conflict: a field that the release and another manager set to
// different values.
type Resolution string

// The resolutions.
const (
	Fail  Resolution = "fail"  // the operation fails before it writes anything
	Yield Resolution = "yield" // the other manager keeps the field
	Take  Resolution = "take"  // the release sets its value, and becomes the manager
)

// Resolutions returns Fail, Yield and Take.
func Resolutions() []Resolution { return []Resolution{Fail, Yield, Take} }

// OwnershipAnnotation is an annotation of an object that resolves conflicts with other field
// managers:
//
//	helm.sh/field-ownership: yield
//	helm.sh/field-ownership: |
//	  yield: [spec.replicas, "spec.template.spec.containers[web].resources"]
//	  take: [metadata.labels]
//
// A single word (fail, yield or take) applies to all fields of the object. A list applies to
// the fields in it and all fields below them; the longest path decides.
const OwnershipAnnotation = "helm.sh/field-ownership"

// ownership contains the rules of an object's annotation.
type ownership []ownedPath

type ownedPath struct {
	path       []segment
	resolution Resolution
}

// CheckOwnership checks an object's [OwnershipAnnotation]. missing are the paths in it that
// match no field of the object: because of a mistake, or because the chart sets the field only
// sometimes. err is not nil if the annotation is invalid.
func CheckOwnership(object map[string]any) (missing []string, err error) {
	rules, err := ownershipOf(object)
	for _, o := range rules {
		if !hasField(object, o.path) {
			missing = append(missing, pathText(o.path))
		}
	}
	return missing, err
}

func hasField(v any, path []segment) bool {
	if len(path) == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if path[0].isKey(key) && hasField(e, path[1:]) {
				return true
			}
		}
	case []any:
		return path[0].bracket && slices.ContainsFunc(v, func(e any) bool {
			return path[0].mayMatch(e) && hasField(e, path[1:])
		})
	}
	return false
}

// ownershipOf parses the annotation of an object.
func ownershipOf(object map[string]any) (ownership, error) {
	text := strings.TrimSpace(annotation(object, OwnershipAnnotation))
	if text == "" {
		return nil, nil
	}
	if r := Resolution(text); slices.Contains(Resolutions(), r) {
		return ownership{{nil, r}}, nil
	}
	const want = `want fail, yield or take, or lists of fields: "yield: [spec.replicas]"`
	lists, err := values.Parse(OwnershipAnnotation, []byte(text))
	if err != nil || len(lists) == 0 {
		hint := ""
		if strings.ContainsAny(text, "[{") {
			hint = "; a path with brackets needs quotes"
		}
		return nil, fmt.Errorf("%s: %q is not valid: %s%s", OwnershipAnnotation, text, want, hint)
	}
	var rules ownership
	for _, word := range slices.Sorted(maps.Keys(lists)) {
		r := Resolution(word)
		paths, isList := lists[word].([]any)
		if !slices.Contains(Resolutions(), r) {
			return nil, fmt.Errorf("%s: %q is not valid: %s", OwnershipAnnotation, word, want)
		}
		if !isList {
			return nil, fmt.Errorf("%s: %s needs a list of fields: \"%[2]s: [spec.replicas]\"", OwnershipAnnotation, word)
		}
		for _, p := range paths {
			text, _ := p.(string)
			path, err := parsePath(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", OwnershipAnnotation, word, err)
			}
			i := slices.IndexFunc(rules, func(o ownedPath) bool { return slices.Equal(o.path, path) })
			if i >= 0 && rules[i].resolution != r {
				return nil, fmt.Errorf("%s: %s is in two lists, %s and %s", OwnershipAnnotation, text, rules[i].resolution, r)
			}
			rules = append(rules, ownedPath{path, r})
		}
	}
	return rules, nil
}

// resolutionOf returns the resolution that the annotation sets for a field, or "".
func (o ownership) resolutionOf(path []pathStep) Resolution {
	longest, found := -1, Resolution("")
	for _, p := range o {
		if len(p.path) > longest && covers(p.path, path) {
			longest, found = len(p.path), p.resolution
		}
	}
	return found
}

// covers reports whether at is the field at path, or below it.
func covers(path []segment, p []pathStep) bool {
	if len(path) > len(p) {
		return false
	}
	for i, s := range path {
		if p[i].item && !s.isItem(p[i].name, p[i].keys) || !p[i].item && !s.isKey(p[i].name) {
			return false
		}
	}
	return true
}

// segment is one element of a path in the annotation.
type segment struct {
	text    string
	bracket bool
}

func (s segment) isKey(key string) bool {
	return s.text == key || s.bracket && s.text == "*"
}

// mayMatch reports whether the segment can match an item, with any of its fields as keys.
func (s segment) mayMatch(v any) bool {
	item, isMap := v.(map[string]any)
	if !isMap || s.text == "*" || strings.Contains(s.text, "=") {
		return isMap && (s.text == "*" || s.isItem("", item)) || fmt.Sprint(v) == s.text
	}
	first, _, _ := strings.Cut(s.text, "/")
	for _, e := range item {
		if text := fmt.Sprint(e); text == s.text || text == first {
			return true
		}
	}
	return false
}

// isItem reports whether the segment matches an item of a list: by its name in paths, by
// "key=value" of its keys, or with "*".
func (s segment) isItem(name string, keys map[string]any) bool {
	if !s.bracket {
		return false
	}
	if s.text == "*" || s.text == name {
		return true
	}
	if !strings.Contains(s.text, "=") {
		return false
	}
	for pair := range strings.SplitSeq(s.text, ",") {
		key, value, _ := strings.Cut(pair, "=")
		if v, has := keys[key]; !has || fmt.Sprint(v) != strings.Trim(value, `"`) {
			return false
		}
	}
	return true
}

// parsePath parses a path in the format of plans or of the API server:
// "spec.template.spec.containers[web].image", `.spec.containers[name="web"].image`.
func parsePath(text string) ([]segment, error) {
	wrong := func(why string) ([]segment, error) {
		const want = "want a path like spec.template.spec.containers[web].image"
		return nil, fmt.Errorf("%q is not a valid path: %s: %s", text, why, want)
	}
	rest := strings.TrimPrefix(text, ".")
	if rest == "" {
		return wrong("it is empty")
	}
	var path []segment
	for first := true; rest != ""; first = false {
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			name, after, closed := strings.Cut(inner, "]")
			if !closed || name == "" {
				return wrong("a bracket is not closed, or empty")
			}
			path, rest = append(path, segment{name, true}), after
			continue
		}
		if !first {
			dotless, ok := strings.CutPrefix(rest, ".")
			if !ok {
				return wrong("a dot is missing after ]")
			}
			rest = dotless
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return wrong("a name is empty")
		}
		path, rest = append(path, segment{rest[:end], false}), rest[end:]
	}
	return path, nil
}

func pathText(path []segment) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.bracket:
			b.WriteString("[" + s.text + "]")
		case b.Len() > 0:
			b.WriteString("." + s.text)
		default:
			b.WriteString(s.text)
		}
	}
	return b.String()
}
