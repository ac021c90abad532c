// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
)

// HookOfAnnotation identifies the release that created a hook's object: namespace, name and
// revision, "shop/web/3". It distinguishes the leftovers of an interrupted run from objects
// of other clients. It is not part of the release's record.
const HookOfAnnotation = "moonhelm.github.io/hook-of"

// The annotations that make an object a hook and configure it.
const (
	HookAnnotation          = "helm.sh/hook"
	HookWeightAnnotation    = "helm.sh/hook-weight"
	HookDeleteAnnotation    = "helm.sh/hook-delete-policy"
	HookOutputLogAnnotation = "helm.sh/hook-output-log-policy"
)

// SplitHooks separates hooks from the other objects of a release. Hooks are sorted in the
// install order of their kinds, as Helm records them; hooks of the same kind, and rest, keep
// the order of objs.
//
// As with Helm, an object with an unknown hook event is in neither list: it may be
// meant for a newer version, and installing it as a plain object would create it at
// the wrong time. [UnknownHookEvents] finds such objects.
func SplitHooks(objs []*manifest.Object) (hooks []*Hook, rest []*manifest.Object) {
	var annotated []*manifest.Object
	for _, o := range objs {
		switch _, ok := o.Annotations[HookAnnotation]; {
		case !ok:
			rest = append(rest, o)
		case len(UnknownHookEvents(o)) == 0:
			annotated = append(annotated, o)
		}
	}
	manifest.SortInstall(annotated)
	for _, o := range annotated {
		hooks = append(hooks, parseHook(o))
	}
	return hooks, rest
}

// UnknownHookEvents returns the unknown events of o's hook annotation as they are
// written, or nil if o has no such annotation.
func UnknownHookEvents(o *manifest.Object) []string {
	text, ok := o.Annotations[HookAnnotation]
	if !ok {
		return nil
	}
	var unknown []string
	for _, word := range strings.Split(text, ",") {
		if _, ok := hookEventOf(word); !ok {
			unknown = append(unknown, word)
		}
	}
	return unknown
}

// SortHooks sorts the hooks of one event in the order in which they run: by weight, then
// by name, then in the install order of their kinds.
func SortHooks(hooks []*Hook) {
	slices.SortStableFunc(hooks, func(a, b *Hook) int {
		if a.Weight != b.Weight {
			if a.Weight < b.Weight {
				return -1
			}
			return 1
		}
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return manifest.CompareKinds(a.Kind, b.Kind)
	})
}

func parseHook(o *manifest.Object) *Hook {
	h := &Hook{
		Name:     o.Name,
		Kind:     o.Kind,
		Path:     o.Source,
		Manifest: o.Raw,
		Weight:   hookWeight(o.Annotations[HookWeightAnnotation]),
	}
	for _, word := range strings.Split(o.Annotations[HookAnnotation], ",") {
		if e, ok := hookEventOf(word); ok {
			h.Events = append(h.Events, e)
		}
	}
	for _, word := range annotationWords(o, HookDeleteAnnotation) {
		h.DeletePolicies = append(h.DeletePolicies, DeletePolicy(word))
	}
	for _, word := range annotationWords(o, HookOutputLogAnnotation) {
		h.OutputLogPolicies = append(h.OutputLogPolicies, OutputLogPolicy(word))
	}
	return h
}

// hookEventOf parses one word of the hook annotation, ignoring case and surrounding
// space. "test-success" is Helm 2's name of "test".
func hookEventOf(word string) (HookEvent, bool) {
	switch e := HookEvent(normalWord(word)); e {
	case PreInstall, PostInstall, PreDelete, PostDelete,
		PreUpgrade, PostUpgrade, PreRollback, PostRollback, Test:
		return e, true
	case "test-success":
		return Test, true
	}
	return "", false
}

// hookWeight parses a weight. It returns 0 if text is not an integer.
func hookWeight(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// annotationWords splits a comma-separated annotation. It keeps unknown words: they have
// no effect, and the record then contains what the chart says.
func annotationWords(o *manifest.Object, annotation string) []string {
	text, ok := o.Annotations[annotation]
	if !ok {
		return nil
	}
	words := strings.Split(text, ",")
	for i, w := range words {
		words[i] = normalWord(w)
	}
	return words
}

func normalWord(word string) string { return strings.ToLower(strings.TrimSpace(word)) }
