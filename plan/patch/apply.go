// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
)

// A Change is what a patch has changed in an object.
type Change struct {
	// Kind, Namespace and Name are those of the object as patched, or as it was if it is deleted;
	// Namespace is "" if it has none.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Fields are the paths of the changed fields, sorted: "spec.template.spec.containers[web].image".
	Fields []string `json:"fields,omitempty"`
	// Deleted is set if the patch has removed the object.
	Deleted bool `json:"deleted,omitempty"`
}

// String returns the change as a line: "Deployment/web: spec.replicas".
func (c Change) String() string {
	if c.Deleted {
		return c.Kind + "/" + c.Name + ": deleted"
	}
	return c.Kind + "/" + c.Name + ": " + strings.Join(c.Fields, ", ")
}

// An ApplyError is returned if a patch does not fit an object that its target selects.
type ApplyError struct {
	Patch  string // its place, "fix.yaml:3"
	Object string // "Deployment/web"
	Err    error
}

func (e *ApplyError) Error() string { return fmt.Sprintf("%s: patch %s: %s", e.Patch, e.Object, e.Err) }

func (e *ApplyError) Unwrap() error { return e.Err }

// maxText is the size of the largest object that a patch may make, in bytes.
const maxText = 10 << 20

// Apply returns objects with those that the target selects changed, and what has changed. namespace
// is that of objects without one. A list is replaced by its items if one of them is selected. Errors
// are [*NoTargetError], [*ApplyError], and [*manifest.SyntaxError] for an object that is not YAML.
// Apply changes neither objects nor what they point to.
func (p *Patch) Apply(objects []*manifest.Object, namespace string) ([]*manifest.Object, []Change, error) {
	objects, err := p.itemsOfLists(objects, namespace)
	if err != nil {
		return nil, nil, err
	}
	out := slices.Clone(objects)
	var changes []Change
	found := false
	for i, o := range slices.Backward(objects) {
		if !p.selects(o, namespace) {
			continue
		}
		found = true
		changed, change, err := p.change(o)
		if err != nil {
			return nil, nil, &ApplyError{Patch: p.String(), Object: o.String(), Err: err}
		}
		if changed == o {
			continue
		}
		if out[i] = changed; changed == nil {
			out = slices.Delete(out, i, i+1)
		}
		changes = append(changes, change)
	}
	slices.Reverse(changes)
	if !found && !p.missing {
		return nil, nil, p.noTarget(objects, namespace)
	}
	return out, changes, nil
}

// selects reports whether the patch changes an object.
func (p *Patch) selects(o *manifest.Object, namespace string) bool {
	return !o.Empty && p.scope.has(o) && p.target.selects(o, namespace)
}

// itemsOfLists returns objects with the items of each list of which the patch selects one.
func (p *Patch) itemsOfLists(objects []*manifest.Object, namespace string) ([]*manifest.Object, error) {
	for i := len(objects) - 1; i >= 0; i-- {
		if !strings.HasSuffix(objects[i].Kind, "List") {
			continue
		}
		items, err := manifest.Flatten(objects[i : i+1])
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(items, func(o *manifest.Object) bool { return o.List != nil && p.selects(o, namespace) }) {
			continue
		}
		objects = slices.Clone(objects)
		var own []*manifest.Object
		for _, item := range items {
			parsed, err := manifest.Parse(item.Source, item.Raw)
			if err != nil {
				return nil, err
			}
			own = append(own, parsed...)
		}
		objects = slices.Replace(objects, i, i+1, own...)
	}
	return objects, nil
}

// change returns the patched object: o itself if nothing changes, nil if it is deleted.
func (p *Patch) change(o *manifest.Object) (*manifest.Object, Change, error) {
	change := Change{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
	before, err := o.Map()
	if err != nil {
		return nil, change, err
	}
	after, err := p.result(before)
	if err != nil {
		return nil, change, err
	}
	if after == nil {
		change.Deleted = true
		return nil, change, nil
	}
	if change.Fields = fields(before, after); len(change.Fields) == 0 && reflect.DeepEqual(before, after) {
		return o, change, nil
	}
	text, err := manifest.Edit(o.Raw, after)
	if err != nil {
		return nil, change, err
	}
	if len(text) > maxText {
		return nil, change, fmt.Errorf("the object would have more than %d MiB", maxText>>20)
	}
	parsed, err := manifest.Parse(o.Source, text)
	if err != nil {
		return nil, change, err
	}
	if len(parsed) != 1 {
		return nil, change, fmt.Errorf("the object would be %d documents", len(parsed))
	}
	change.Kind, change.Namespace, change.Name = parsed[0].Kind, parsed[0].Namespace, parsed[0].Name
	return parsed[0], change, nil
}

// result returns the content of the patched object, nil if the patch deletes it.
func (p *Patch) result(before map[string]any) (map[string]any, error) {
	if p.operations != nil {
		return applyOperations(before, p.operations)
	}
	after, err := plan.ApplyStrategic(before, p.strategic)
	if after == nil || err != nil {
		return nil, err
	}
	// A directive such as $patch: replace does not remove what identifies the object.
	for _, key := range []string{"apiVersion", "kind"} {
		if before[key] != nil {
			after[key] = before[key]
		}
	}
	old, _ := before["metadata"].(map[string]any)
	meta, _ := after["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	for _, key := range []string{"name", "namespace"} {
		if old[key] != nil {
			meta[key] = old[key]
		}
	}
	if p.name != "" {
		meta["name"] = p.name
	}
	if p.kind != "" {
		after["kind"] = p.kind
	}
	after["metadata"] = meta
	return after, nil
}

func (p *Patch) noTarget(objects []*manifest.Object, namespace string) error {
	e := &NoTargetError{Patch: p.String(), Target: p.target.String()}
	var inside []*manifest.Object
	for _, o := range objects {
		switch {
		case o.Empty:
		case p.scope.has(o):
			inside = append(inside, o)
		case p.target.selects(o, namespace):
			e.Outside = fmt.Sprintf("%s (%s)", o, o.Source)
		}
	}
	if p.scope != nil {
		e.Chart = p.scope.chart
	}
	e.Near = p.target.near(inside, namespace)
	return e
}

// fields returns the paths of the fields that differ.
func fields(before, after map[string]any) []string {
	d := &differences{}
	d.maps("", before, after)
	slices.Sort(d.out)
	return d.out
}

// differences collects the paths of fields that differ.
type differences struct{ out []string }

func (d *differences) maps(path string, before, after map[string]any) {
	for key, b := range before {
		d.values(plan.FieldPath(path, key), b, after[key])
	}
	for key, a := range after {
		if _, had := before[key]; !had {
			d.values(plan.FieldPath(path, key), nil, a)
		}
	}
}

func (d *differences) values(path string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			d.maps(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			d.lists(path, b, a)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		d.out = append(d.out, path)
	}
}

// lists compares items with the same name, if all have one, and otherwise the lists as a whole.
func (d *differences) lists(path string, before, after []any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	b, bNames := byName(before)
	a, aNames := byName(after)
	if b == nil || a == nil {
		d.out = append(d.out, path)
		return
	}
	n := len(d.out)
	for _, name := range bNames {
		d.values(path+"["+name+"]", b[name], a[name])
	}
	for _, name := range aNames {
		if b[name] == nil {
			d.out = append(d.out, path+"["+name+"]")
		}
	}
	if len(d.out) == n { // only the order
		d.out = append(d.out, path)
	}
}

// byName returns the items of a list by name, or nil if one has none or two have the same.
func byName(list []any) (items map[string]any, names []string) {
	items = make(map[string]any, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, ok := m["name"].(string)
		if _, twice := items[name]; !ok || twice {
			return nil, nil
		}
		items[name] = m
		names = append(names, name)
	}
	return items, names
}

// LineOf returns the line of the patch's file that sets the last of the keys of a field, as far as the
// text shows that, or the line of the patch. file is the file that the line is in.
func (p *Patch) LineOf(key string) int {
	pattern, err := regexp.Compile(`(^|[\s{,"'/-])` + regexp.QuoteMeta(key) + `["']?\s*(:|$|[,}"'])`)
	if err != nil || key == "" {
		return p.Line
	}
	for n := p.source.first; n <= min(p.source.last, len(p.source.lines)); n++ {
		if pattern.MatchString(p.source.lines[n-1]) {
			return n
		}
	}
	return p.Line
}
