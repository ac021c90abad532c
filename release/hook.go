// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
)

// HookOfAnnotation is on the objects of hooks and names the release that made
// them: namespace, name and revision, "shop/web/3". With it, what an interrupted run
// has left behind can be told from what another client has made. It is not part of the
// release's record.
const HookOfAnnotation = "moonhelm.github.io/hook-of"

// The annotations that make an object a hook and say how it runs.
const (
	HookAnnotation          = "helm.sh/hook"
	HookWeightAnnotation    = "helm.sh/hook-weight"
	HookDeleteAnnotation    = "helm.sh/hook-delete-policy"
	HookOutputLogAnnotation = "helm.sh/hook-output-log-policy"
)

// SplitHooks parts hooks from the objects that belong to a release. Hooks come in
// install order of their kinds, those of a kind in the order of objs, as Helm
// records them; rest keeps the order of objs.
//
// An object whose annotation names an event that does not exist is in neither,
// as with Helm: it may be meant for a newer version, and to install it as a
// plain object would run it at the wrong time. [UnknownHookEvents] finds those.
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

// UnknownHookEvents are the events of o's annotation that do not exist, as they are
// written there; none for an object without the annotation.
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

// SortHooks sorts hooks as they run at one event: by weight, then by name, then in
// install order of their kinds.
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

// eventOf reads one word of the annotation. Case and surrounding space do not
// matter; "test-success" is what Helm 2 called "test".
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

// weight is 0 for a text that is not an integer.
func hookWeight(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// list reads a comma list. Words that mean nothing are kept: they do nothing,
// and the record stays what the chart says.
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
