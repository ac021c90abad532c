// SPDX-License-Identifier: Apache-2.0

package action

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// compareReleases compares the records of two releases. The [plan.Ref] of a step is that of the
// object in to, or of one that only from has; Live has the object's name in from.
func compareReleases(from, to *release.Release) (*Change, error) {
	old, err := recordedObjects(from)
	if err != nil {
		return nil, err
	}
	current, err := recordedObjects(to)
	if err != nil {
		return nil, err
	}
	m := releaseMatch{from, to}
	steps, err := m.compare(old, current)
	if err != nil {
		return nil, err
	}
	if old, err = hookObjects(from); err != nil {
		return nil, err
	}
	if current, err = hookObjects(to); err != nil {
		return nil, err
	}
	hooks, err := m.compare(old, current)
	return &Change{From: from, To: to, Plan: &plan.Plan{Steps: steps}, Hooks: hooks, Stored: true}, err
}

// A releaseMatch matches the objects of two releases.
type releaseMatch struct{ from, to *release.Release }

// compare is [plan.Compare] for the objects of two releases.
func (m releaseMatch) compare(old, current []*manifest.Object) ([]plan.Step, error) {
	pairs := m.pairs(old, current)
	var former, removed []*manifest.Object
	matched := map[*manifest.Object]bool{}
	for _, o := range current {
		if was := pairs[o]; was != nil {
			former = append(former, withName(was, o))
			matched[was] = true
		}
	}
	for _, o := range old {
		if !matched[o] {
			removed = append(removed, o)
		}
	}
	steps, err := plan.Compare(former, current, m.to.Namespace)
	if err != nil {
		return nil, err
	}
	deletions, err := plan.Compare(removed, nil, m.from.Namespace)
	return append(steps, deletions...), err
}

// withName returns a copy of o that [plan.Compare] matches with other: Name and Namespace are those of
// other, the YAML in Raw is unchanged.
func withName(o, other *manifest.Object) *manifest.Object {
	return &manifest.Object{
		Source: o.Source, Raw: o.Raw, APIVersion: o.APIVersion, Kind: o.Kind, Name: other.Name, Namespace: other.Namespace,
		Labels: o.Labels, Annotations: o.Annotations, List: o.List,
	}
}

// pairs maps objects of current to the objects of old that they correspond to. Both have the same kind. In
// order of preference, the old object comes from the same template and has the same name after the
// release's name in it is replaced, or the same name; or it has such a name and comes from another
// template. Objects that are left correspond if their template has as many of the kind in each
// release: one, or several that are all named after the release.
func (m releaseMatch) pairs(old, current []*manifest.Object) map[*manifest.Object]*manifest.Object {
	pairs := map[*manifest.Object]*manifest.Object{}
	for _, rule := range []struct{ sameTemplate, renamed bool }{
		{true, true}, {true, false}, {false, true}, {false, false},
	} {
		source := func(o *manifest.Object) string {
			if rule.sameTemplate {
				return o.Source
			}
			return ""
		}
		oldKey := func(o *manifest.Object) string {
			name := o.Name
			if rule.renamed {
				name = replaceWord(name, m.from.Name, m.to.Name)
			}
			return matchKey(o, m.from, source(o), name)
		}
		currentKey := func(o *manifest.Object) string { return matchKey(o, m.to, source(o), o.Name) }
		old, current = match(pairs, old, current, oldKey, currentKey)
	}
	rest := byTemplate(old, m.from)
	for key, list := range byTemplate(current, m.to) {
		was := rest[key]
		if len(was) == len(list) && (len(list) == 1 || isNamedAfter(m.from, was) && isNamedAfter(m.to, list)) {
			for i, o := range list {
				pairs[o] = was[i]
			}
		}
	}
	return pairs
}

// match adds the pairs of objects with the same key, and returns the others.
func match(pairs map[*manifest.Object]*manifest.Object, old, current []*manifest.Object,
	oldKey, currentKey func(*manifest.Object) string) (oldRest, currentRest []*manifest.Object) {
	byKey := map[string]*manifest.Object{}
	for _, o := range current {
		if !o.Empty && byKey[currentKey(o)] == nil {
			byKey[currentKey(o)] = o
		}
	}
	for _, o := range old {
		if partner := byKey[oldKey(o)]; !o.Empty && partner != nil && pairs[partner] == nil {
			pairs[partner] = o
		} else {
			oldRest = append(oldRest, o)
		}
	}
	for _, o := range current {
		if pairs[o] == nil {
			currentRest = append(currentRest, o)
		}
	}
	return oldRest, currentRest
}

// byTemplate groups the objects of a release by kind and template.
func byTemplate(objects []*manifest.Object, rel *release.Release) map[string][]*manifest.Object {
	out := map[string][]*manifest.Object{}
	for _, o := range objects {
		if !o.Empty && o.Source != "" {
			key := matchKey(o, rel, o.Source, "")
			out[key] = append(out[key], o)
		}
	}
	return out
}

// matchKey returns a key for an object of rel. Objects of two releases have the same key if group, kind,
// source and name are equal, and so are their namespaces or each is that of its release.
func matchKey(o *manifest.Object, rel *release.Release, source, name string) string {
	namespace := o.Namespace
	if namespace == rel.Namespace {
		namespace = ""
	}
	return strings.Join([]string{manifest.Group(o.APIVersion), o.Kind, namespace, source, name}, "\x00")
}

// isNamedAfter reports whether the names of all objects contain their release's name.
func isNamedAfter(rel *release.Release, objects []*manifest.Object) bool {
	for _, o := range objects {
		if !hasWord(o.Name, rel.Name) {
			return false
		}
	}
	return true
}

// replaceWord returns text with each occurrence of from replaced by to that is a word: no letter or
// digit is next to it.
func replaceWord(text, from, to string) string {
	if from == "" {
		return text
	}
	var b strings.Builder
	for copied, at := 0, 0; ; {
		i := strings.Index(text[at:], from)
		if i < 0 {
			b.WriteString(text[copied:])
			return b.String()
		}
		start, end := at+i, at+i+len(from)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isWordRune(before) && !isWordRune(after) {
			b.WriteString(text[copied:start] + to)
			copied = end
		}
		at = end
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func hasWord(text, word string) bool { return replaceWord(text, word, "") != text }
