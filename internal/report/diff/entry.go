// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// What becomes of an object, in helm-diff's words.
const (
	added      = "ADD"
	removed    = "REMOVE"
	modified   = "MODIFY"
	suppressed = "MODIFY_SUPPRESSED" // it changes, and none of the lines that do is shown
)

// entry is an object that changes, as helm-diff knows it.
type entry struct {
	Object
	hook   bool
	change string
	source string // the line that says which template it is from, "" where that changes
	hunks  []hunk
	sealed string // the kind whose contents are not shown, "" for one that is
}

// entries are the objects and hooks that change.
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
	e.hunks = hunks(before, after, o.around(len(before)+len(after)))
	if e.change == modified && len(e.hunks) == 0 && len(o.SuppressLines) > 0 {
		e.change = suppressed
	}
	return e
}

// suppresses reports whether the object is of a kind whose contents are not shown.
func (o Options) suppresses(object Object) bool { return slices.Contains(o.SuppressKinds, object.Kind) }

// api is the object's group, its version where it has none: "apps", "v1".
func api(r plan.Ref) string {
	group, _, _ := strings.Cut(r.APIVersion, "/")
	return group
}

// namespace is where the object is, for objects of the whole cluster that of the
// release.
func (d Diff) namespace(r plan.Ref) string { return cmp.Or(r.Namespace, d.Namespace) }

// heading is how helm-diff names an object: "default, web, Deployment (apps)".
func (d Diff) heading(r plan.Ref) string {
	return term.SafeLine(d.namespace(r) + ", " + r.Name + ", " + r.Kind + " (" + api(r) + ")")
}

// isTest reports whether a hook runs in tests only.
func isTest(o Object) bool {
	events := strings.Split(strings.ToLower(hookEvents(o)), ",")
	return !slices.ContainsFunc(events, func(e string) bool {
		e = strings.TrimSpace(e)
		return e != "test" && e != "test-success"
	})
}

// hookEvents is what a hook's annotation says of when it runs. For an item of a list the
// list says it.
func hookEvents(o Object) string {
	for _, object := range []map[string]any{listOf(o.Is), listOf(o.Was), o.After, o.Before} {
		meta, _ := object["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if events, ok := annotations["helm.sh/hook"].(string); ok {
			return events
		}
	}
	return ""
}

// listOf is the list that the object is an item of, nil for none.
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
