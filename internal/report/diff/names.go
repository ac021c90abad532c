// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// betweenReleases makes d the difference of two releases, whose objects have names of their own.
func (d *Diff) betweenReleases(from, to *release.Release, o Options) {
	n := newNames()
	n.add(from.Name, to.Name)
	n.add(from.Namespace, to.Namespace)
	for _, list := range [][]Object{d.Objects, d.Hooks} {
		for i := range list {
			if list[i].Before == nil || list[i].After == nil {
				continue
			}
			ref := list[i].Ref
			was := formerRef(list[i], from.Namespace)
			if was != ref {
				list[i].Ref, list[i].Renamed = was, &ref
			}
			if was.Name != ref.Name {
				n.add(was.Name, ref.Name)
			}
		}
	}
	d.other = to.Name
	if !o.Names {
		d.names = n
	}
}

// formerRef returns the reference to the object in the first release.
func formerRef(o Object, namespace string) plan.Ref {
	ref := o.Ref
	meta, _ := o.Before["metadata"].(map[string]any)
	if name, ok := meta["name"].(string); ok {
		ref.Name = name
	}
	if ref.Namespace == "" { // cluster-scoped
		return ref
	}
	ref.Namespace = namespace
	if own, ok := meta["namespace"].(string); ok && own != "" {
		ref.Namespace = own
	}
	return ref
}

// renaming describes the object's new name.
func (d Diff) renaming(o Object) string {
	if d.other == "" {
		return "is renamed to " + o.Renamed.Name
	}
	return "is " + o.Renamed.Name + " in release " + d.other
}

// names are what is called differently in two releases, such as the releases themselves. A nil
// *names distinguishes all names.
//
// A name of the first release is the same as each of its names in the second one, or as itself
// there: labels may have the release's name in one field, and a name that is always the same in
// another.
type names struct {
	before, after map[string]string // keys by name in the first and in the second release
	longest       int
}

func newNames() *names {
	return &names{before: map[string]string{}, after: map[string]string{}}
}

// add makes two names the same.
func (n *names) add(before, after string) {
	if before == "" || after == "" {
		return
	}
	key := "\x00" + before + "\x00"
	n.before[before] = key
	for _, name := range []string{before, after} {
		if _, ok := n.after[name]; !ok {
			n.after[name] = key
		}
		n.longest = max(n.longest, len(name))
	}
}

// replace returns text with the names in it replaced by their keys, longest names first. A name is
// not part of a longer word.
func (n *names) replace(text string, keys map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		size := 0
		if isWordByte(text[i]) && (i == 0 || !isWordByte(text[i-1])) {
			size = n.match(text[i:], keys)
		}
		if size == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(keys[text[i:i+size]])
		i += size
	}
	return b.String()
}

// match returns the length of the longest name at the beginning of text, or 0.
func (n *names) match(text string, keys map[string]string) int {
	size := 0
	for end := 1; end <= min(len(text), n.longest); end++ {
		if end < len(text) && isWordByte(text[end]) {
			continue
		}
		if _, ok := keys[text[:end]]; ok {
			size = end
		}
		if end < len(text) && text[end] != '-' && text[end] != '.' {
			break
		}
	}
	return size
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// same reports whether two strings differ at most in names.
func (n *names) same(before, after string) bool {
	return before == after || n.replace(before, n.before) == n.replace(after, n.after)
}

// lines returns lines to compare, which are equal if those before and after differ only in names.
func (n *names) lines(before, after []string) (b, a []string) {
	if n == nil {
		return before, after
	}
	there := make(map[string]bool, len(after))
	for _, line := range after {
		there[line] = true
		a = append(a, n.replace(line, n.after))
	}
	for _, line := range before {
		keys := n.before
		if there[line] {
			keys = n.after
		}
		b = append(b, n.replace(line, keys))
	}
	return b, a
}

// replaceObject returns before with strings that differ from those of after only in names replaced
// by these.
func (n *names) replaceObject(before, after map[string]any) map[string]any {
	if n == nil || before == nil || after == nil {
		return before
	}
	return n.replaceValue(before, after).(map[string]any)
}

func (n *names) replaceValue(before, after any) any {
	switch b := before.(type) {
	case string:
		if a, ok := after.(string); ok && n.same(b, a) {
			return a
		}
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			b = maps.Clone(b)
			for key, v := range b {
				b[key] = n.replaceValue(v, a[key])
			}
			return b
		}
	case []any:
		if a, ok := after.([]any); ok {
			b = slices.Clone(b)
			for i := range min(len(a), len(b)) {
				b[i] = n.replaceValue(b[i], a[i])
			}
			return b
		}
	}
	return before
}
