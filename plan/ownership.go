// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart/values"
)

// Resolution says what becomes of a field that the release sets to one value and
// another manager has set to another.
type Resolution string

// The resolutions.
const (
	Fail  Resolution = "fail"  // nothing is written, and the field is named
	Yield Resolution = "yield" // the field is left out, and stays the other manager's
	Take  Resolution = "take"  // the release's value is set, and the field is the release's
)

// Resolutions returns Fail, Yield and Take.
func Resolutions() []Resolution { return []Resolution{Fail, Yield, Take} }

// OwnershipAnnotation is the annotation by which an object says what becomes of fields
// that other managers set:
//
//	helm.sh/field-ownership: yield
//	helm.sh/field-ownership: |
//	  yield: [spec.replicas, "spec.template.spec.containers[web].resources"]
//	  take: [metadata.labels]
//
// A single word (fail, yield or take) is for all fields of the object. A list is for the
// fields that it names and all below them; the longest path decides.
const OwnershipAnnotation = "helm.sh/field-ownership"

// ownership is what an object's annotation says, nil for nothing.
type ownership []ownedPath

type ownedPath struct {
	path       []segment
	resolution Resolution
}

// CheckOwnership checks an object's [OwnershipAnnotation]. missing are the paths in it that
// name no field of the object: a mistake, or a field that the chart sets only at times. err
// is that of an annotation that cannot be read.
func CheckOwnership(object map[string]any) (missing []string, err error) {
	own, err := ownershipOf(object)
	for _, o := range own {
		if !present(object, o.path) {
			missing = append(missing, pathText(o.path))
		}
	}
	return missing, err
}

func present(v any, path []segment) bool {
	if len(path) == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if path[0].isKey(key) && present(e, path[1:]) {
				return true
			}
		}
	case []any:
		return path[0].bracket && slices.ContainsFunc(v, func(e any) bool {
			return path[0].mayBe(e) && present(e, path[1:])
		})
	}
	return false
}

// ownershipOf reads the annotation of an object.
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
	var own ownership
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
			i := slices.IndexFunc(own, func(o ownedPath) bool { return slices.Equal(o.path, path) })
			if i >= 0 && own[i].resolution != r {
				return nil, fmt.Errorf("%s: %s is in two lists, %s and %s", OwnershipAnnotation, text, own[i].resolution, r)
			}
			own = append(own, ownedPath{path, r})
		}
	}
	return own, nil
}

// of is what the annotation says about a field, "" for nothing.
func (o ownership) of(at []step) Resolution {
	longest, found := -1, Resolution("")
	for _, p := range o {
		if len(p.path) > longest && covers(p.path, at) {
			longest, found = len(p.path), p.resolution
		}
	}
	return found
}

// covers reports whether the field that a path names is the one at, or it stands
// below it.
func covers(path []segment, at []step) bool {
	if len(path) > len(at) {
		return false
	}
	for i, s := range path {
		if at[i].item && !s.isItem(at[i].name, at[i].keys) || !at[i].item && !s.isKey(at[i].name) {
			return false
		}
	}
	return true
}

// segment is one element of a path that a person has written.
type segment struct {
	text    string
	bracket bool
}

func (s segment) isKey(key string) bool {
	return s.text == key || s.bracket && s.text == "*"
}

// mayBe reports whether the segment may mean an item, whatever its keys are.
func (s segment) mayBe(v any) bool {
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

// isItem reports whether the segment means the item of a list that a path shows as
// name: by that name, by "key=value" of its keys, or any by "*".
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

// parsePath reads a path as a plan shows it and as the API server does:
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
				return wrong("a dot is missing behind ]")
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
