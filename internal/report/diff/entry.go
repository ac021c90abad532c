// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// The changes of an object, in helm-diff's words.
const (
	added      = "ADD"
	removed    = "REMOVE"
	modified   = "MODIFY"
	suppressed = "MODIFY_SUPPRESSED" // changed, but all changed lines are suppressed
)

// entry is a changed object in helm-diff's terms.
type entry struct {
	Object
	hook   bool
	change string
	source string // comment line with the template, "" if that has changed
	hunks  []hunk
	sealed string // kind, if its contents are suppressed; else ""
}

// entries returns the changed objects and hooks.
func (d Diff) entries(o Options) []entry {
	var out []entry
	for i, list := range [][]Object{d.Objects, d.Hooks} {
		for _, object := range list {
			if changes(object) {
				out = append(out, o.entry(d, object, i == 1))
			}
		}
	}
	return out
}

func (o Options) entry(d Diff, object Object, hook bool) entry {
	e := entry{Object: object, hook: hook, change: modified}
	switch object.Action {
	case plan.Create:
		e.change = added
	case plan.Delete:
		e.change = removed
	}
	if o.suppresses(object) {
		e.sealed = object.Kind
		return e
	}
	before, after := o.lines(d, object)
	if len(before) > 0 && len(after) > 0 && before[0] == after[0] && strings.HasPrefix(before[0], sourceComment) {
		e.source, before, after = before[0], before[1:], after[1:]
	}
	e.hunks = d.names.hunks(before, after, o.contextLines(len(before)+len(after)))
	if e.change == modified && len(e.hunks) == 0 && len(o.SuppressLines) > 0 {
		e.change = suppressed
	}
	return e
}

// suppresses reports whether the contents of the object's kind are suppressed.
func (o Options) suppresses(object Object) bool { return slices.Contains(o.SuppressKinds, object.Kind) }

// apiGroup returns the object's group, or for the core group its version: "apps", "v1".
func apiGroup(r plan.Ref) string {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group
}

// namespace returns the object's namespace, or the release's if the object is cluster-scoped.
func (d Diff) namespace(r plan.Ref) string { return cmp.Or(r.Namespace, d.Namespace) }

// heading returns helm-diff's name of an object: "default, web, Deployment (apps)".
func (d Diff) heading(r plan.Ref) string {
	return term.SafeLine(d.namespace(r) + ", " + r.Name + ", " + r.Kind + " (" + apiGroup(r) + ")")
}

// isTest reports whether a hook runs only in tests.
func isTest(o Object) bool {
	events := strings.Split(strings.ToLower(hookEvents(o)), ",")
	return !slices.ContainsFunc(events, func(e string) bool {
		e = strings.TrimSpace(e)
		return e != "test" && e != "test-success"
	})
}

// hookEvents returns the value of a hook's annotation. An item of a list has the list's annotation.
func hookEvents(o Object) string {
	for _, object := range []map[string]any{listOf(o.RenderedAfter), listOf(o.RenderedBefore), o.After, o.Before} {
		meta, _ := object["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if events, ok := annotations[release.HookAnnotation].(string); ok {
			return events
		}
	}
	return ""
}

// listOf returns the list of which the object is an item, or nil.
func listOf(o *manifest.Object) map[string]any {
	if o == nil || o.List == nil {
		return nil
	}
	list, err := o.List.Map()
	if err != nil {
		return nil
	}
	return list
}
