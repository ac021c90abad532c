// SPDX-License-Identifier: Apache-2.0

// Package hook turns objects that carry helm.sh/hook annotations into hooks and
// runs them when their moment comes.
//
// In come a release's rendered objects, out go the hooks among them and the
// rest ([Split]); a [Responder] on the event bus then runs a release's hooks
// through a [Runner], which the caller supplies.
package hook

import (
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// The annotations that make an object a hook and say how it runs.
const (
	Annotation          = "helm.sh/hook"
	WeightAnnotation    = "helm.sh/hook-weight"
	DeleteAnnotation    = "helm.sh/hook-delete-policy"
	OutputLogAnnotation = "helm.sh/hook-output-log-policy"
)

// Split parts hooks from the objects that belong to a release. Hooks come in
// install order of their kinds, those of a kind in the order of objs, as Helm
// records them; rest keeps the order of objs.
//
// An object whose annotation names an event that does not exist is in neither,
// as with Helm: it may be meant for a newer version, and to install it as a
// plain object would run it at the wrong time. [UnknownEvents] finds those. The
// error is always nil today; a rule that refuses a hook would use it.
func Split(objs []*manifest.Object) (hooks []*release.Hook, rest []*manifest.Object, err error) {
	var annotated []*manifest.Object
	for _, o := range objs {
		switch _, ok := o.Annotations[Annotation]; {
		case !ok:
			rest = append(rest, o)
		case len(UnknownEvents(o)) == 0:
			annotated = append(annotated, o)
		}
	}
	manifest.SortInstall(annotated)
	for _, o := range annotated {
		hooks = append(hooks, parse(o))
	}
	return hooks, rest, nil
}

// UnknownEvents are the events of o's annotation that do not exist, as they are
// written there; none for an object that is no hook.
func UnknownEvents(o *manifest.Object) []string {
	text, ok := o.Annotations[Annotation]
	if !ok {
		return nil
	}
	var unknown []string
	for _, word := range strings.Split(text, ",") {
		if _, ok := eventOf(word); !ok {
			unknown = append(unknown, word)
		}
	}
	return unknown
}

// Order sorts hooks as they run at one event: by weight, then by name, then in
// install order of their kinds.
func Order(hooks []*release.Hook) {
	slices.SortStableFunc(hooks, func(a, b *release.Hook) int {
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

func parse(o *manifest.Object) *release.Hook {
	h := &release.Hook{
		Name:     o.Name,
		Kind:     o.Kind,
		Path:     o.Source,
		Manifest: o.Raw,
		Weight:   weight(o.Annotations[WeightAnnotation]),
	}
	for _, word := range strings.Split(o.Annotations[Annotation], ",") {
		if e, ok := eventOf(word); ok {
			h.Events = append(h.Events, e)
		}
	}
	for _, word := range list(o, DeleteAnnotation) {
		h.DeletePolicies = append(h.DeletePolicies, release.DeletePolicy(word))
	}
	for _, word := range list(o, OutputLogAnnotation) {
		h.OutputLogPolicies = append(h.OutputLogPolicies, release.OutputLogPolicy(word))
	}
	return h
}

// eventOf reads one word of the annotation. Case and surrounding space do not
// matter; "test-success" is what Helm 2 called "test".
func eventOf(word string) (release.HookEvent, bool) {
	switch e := release.HookEvent(clean(word)); e {
	case release.PreInstall, release.PostInstall, release.PreDelete, release.PostDelete,
		release.PreUpgrade, release.PostUpgrade, release.PreRollback, release.PostRollback, release.Test:
		return e, true
	case "test-success":
		return release.Test, true
	}
	return "", false
}

// weight is 0 for a text that is no integer.
func weight(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// list reads a comma list. Words that mean nothing are kept: they do nothing,
// and the record stays what the chart says.
func list(o *manifest.Object, annotation string) []string {
	text, ok := o.Annotations[annotation]
	if !ok {
		return nil
	}
	words := strings.Split(text, ",")
	for i, w := range words {
		words[i] = clean(w)
	}
	return words
}

func clean(word string) string { return strings.ToLower(strings.TrimSpace(word)) }
