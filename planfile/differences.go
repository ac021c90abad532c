// SPDX-License-Identifier: Apache-2.0

package planfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// Difference is a part of a plan that would be another one if it were made now.
type Difference struct {
	Subject string // "release", "digests", "Deployment/web"
	// Then and Now are the lines of the part that differ.
	Then, Now []string
}

// Differences returns how now, a plan of the same operation with the same options, differs from d in
// what d does and what it rests on. It is empty if d still holds. When the plans were made, versions
// of objects that change with their status, and patches do not count: what a patch does is in the
// changes.
func (d *Document) Differences(now *Document) []Difference {
	var out []Difference
	add := func(subject string, then, now []string) {
		if a, b := difference(then, now); len(a)+len(b) > 0 {
			out = append(out, Difference{Subject: subject, Then: a, Now: b})
		}
	}
	add("release", d.releaseLines(), now.releaseLines())
	add("digests", d.digestLines(), now.digestLines())
	for _, lists := range [][2][]Object{{d.CRDs, now.CRDs}, {d.Objects, now.Objects}} {
		then, by := index(lists[0]), index(lists[1])
		for _, o := range lists[0] {
			add(o.Ref.String(), o.lines(), by[o.Identity()].lines())
		}
		for _, o := range lists[1] {
			if then[o.Identity()] == nil {
				add(o.Ref.String(), (*Object)(nil).lines(), o.lines())
			}
		}
	}
	add("hooks", hookLines(d.Hooks), hookLines(now.Hooks))
	return out
}

// BaseDifferences returns how the release that now starts from differs from that of d.
func (d *Document) BaseDifferences(now *Document) []Difference {
	then, current := difference(d.releaseLines(), now.releaseLines())
	if len(then)+len(current) == 0 {
		return nil
	}
	return []Difference{{Subject: "release", Then: then, Now: current}}
}

func index(list []Object) map[plan.Ref]*Object {
	out := map[plan.Ref]*Object{}
	for i := range list {
		out[list[i].Identity()] = &list[i]
	}
	return out
}

// difference returns the lines that only one of two lists has.
func difference(a, b []string) (onlyA, onlyB []string) {
	without := func(list, others []string) []string {
		count := map[string]int{}
		for _, l := range others {
			count[l]++
		}
		var out []string
		for _, l := range list {
			if count[l] > 0 {
				count[l]--
				continue
			}
			out = append(out, l)
		}
		return out
	}
	return without(a, b), without(b, a)
}

func (d *Document) releaseLines() []string {
	lines := []string{"makes revision " + strconv.Itoa(d.Release.Revision)}
	if d.Base.Revision == 0 {
		return append(lines, "there is no release")
	}
	lines = append(lines, fmt.Sprintf("newest revision: %d, %s", d.Base.Revision, d.Base.Status))
	if d.Base.Deployed > 0 {
		lines = append(lines, fmt.Sprintf("deployed revision: %d", d.Base.Deployed))
	}
	if d.Release.Target > 0 {
		lines = append(lines, fmt.Sprintf("goes back to revision %d", d.Release.Target))
	}
	return append(lines, "records: "+shortDigest(d.Base.Records))
}

// shortDigest returns a digest with 96 of its bits, for a line that people compare.
func shortDigest(digest string) string {
	kind, sum, _ := strings.Cut(digest, ":")
	if len(sum) > 24 {
		sum = sum[:24]
	}
	return kind + ":" + sum
}

func (d *Document) digestLines() []string {
	var lines []string
	for _, part := range [][2]string{{"chart", d.Digests.Chart}, {"scripts", d.Digests.Scripts},
		{"values", d.Digests.Values},
		{"manifest", d.Digests.Manifest}, {"hooks", d.Digests.Hooks}} {
		text := "none"
		if part[1] != "" {
			text = shortDigest(part[1])
		}
		lines = append(lines, part[0]+": "+text)
	}
	return lines
}

// lines returns what the plan does with an object, and what that rests on.
func (o *Object) lines() []string {
	if o == nil {
		return []string{"nothing"}
	}
	if !o.Writes() {
		if o.Action == plan.Keep {
			return []string{"keep: " + o.Reason}
		}
		return []string{"nothing"}
	}
	lines := []string{string(o.Action)}
	if o.UID != "" {
		lines = append(lines, "uid: "+o.UID)
	}
	for _, c := range o.Changes {
		lines = append(lines, c.String())
	}
	for _, c := range o.Drift {
		lines = append(lines, "changed by another client: "+c.Path+": "+c.shown(c.From))
	}
	if o.After != nil {
		lines = append(lines, yamlLines(o.After)...)
	}
	if o.Digest != "" {
		lines = append(lines, "data: "+shortDigest(o.Digest))
	}
	return lines
}

// String returns the change as a line: "spec.replicas: 1 → 3".
func (c Change) String() string {
	if c.Hidden {
		return c.Path + ": hidden"
	}
	return c.Path + ": " + c.shown(c.From) + " → " + c.shown(c.To)
}

func (c Change) shown(v any) string {
	if c.Hidden {
		return "hidden"
	}
	return Value(v)
}

// Value returns a value as JSON, or "none".
func Value(v any) string {
	if v == nil {
		return "none"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func yamlLines(object map[string]any) []string {
	text, err := manifest.Encode(object)
	if err != nil {
		raw, _ := json.MarshalIndent(object, "", "  ")
		text = string(raw)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func hookLines(hooks []Hook) []string {
	var out []string
	for _, h := range hooks {
		head := fmt.Sprintf("%s/%s at %s, weight %d", h.Kind, h.Name, strings.Join(h.Events, ","), h.Weight)
		if len(h.Delete) > 0 {
			head += ", deleted: " + strings.Join(h.Delete, ",")
		}
		out = append(out, head)
		for _, l := range yamlLines(h.Object) {
			out = append(out, h.Kind+"/"+h.Name+": "+l)
		}
	}
	return out
}

// FormatDifferences returns differences as text: a line with the subject, then the lines of the plan
// with "-" and those of now with "+".
func FormatDifferences(list []Difference) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.Subject + "\n")
		for _, l := range d.Then {
			b.WriteString("- " + l + "\n")
		}
		for _, l := range d.Now {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// Counts returns how many objects and definitions have each action that writes, and "hook".
func (d *Document) Counts() map[string]int {
	out := map[string]int{}
	for _, o := range slices.Concat(d.CRDs, d.Objects) {
		if o.Writes() {
			out[string(o.Action)]++
		}
	}
	if len(d.Hooks) > 0 {
		out["hook"] = len(d.Hooks)
	}
	return maps.Clone(out)
}

// ObjectDifferences is Differences for the objects alone.
func (d *Document) ObjectDifferences(now *Document) []Difference {
	a, b := Document{Objects: d.Objects}, Document{Objects: now.Objects}
	return a.Differences(&b)
}
