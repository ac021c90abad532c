// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

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

// Apply returns objects with those that the target of the patch selects changed, and what has changed,
// as a [Patcher] does with one patch.
func (p *Patch) Apply(objects []*manifest.Object, namespace string) ([]*manifest.Object, []Change, error) {
	w := New(objects, namespace)
	changes, err := w.Apply(p)
	if err != nil {
		return nil, nil, err
	}
	out, err := w.Objects()
	return out, changes, err
}

// A Patcher applies patches to objects. It writes the text of an object once, however many patches
// change it.
type Patcher struct {
	namespace string
	items     []item
}

// item is an object that patches may change.
type item struct {
	object *manifest.Object
	// head is what targets select by: object, or that of data.
	head *manifest.Object
	// data is the content of the changed object whose text is not written yet, or nil.
	data map[string]any
	by   *Patch // the last that has changed it
}

// New returns a Patcher of objects, which it does not change. namespace is that of objects without one.
func New(objects []*manifest.Object, namespace string) *Patcher {
	w := &Patcher{namespace: namespace, items: make([]item, len(objects))}
	for i, o := range objects {
		w.items[i] = item{object: o, head: o}
	}
	return w
}

// Apply applies a patch, and returns what it changes. A list is replaced by its items if the target of
// the patch selects one of them. Errors are [*NoTargetError], [*ApplyError], and
// [*manifest.SyntaxError] for an object that is not YAML; after one of the others, the Patcher must not
// be used any more.
func (w *Patcher) Apply(p *Patch) ([]Change, error) {
	if err := w.splitLists(p); err != nil {
		return nil, err
	}
	var changes []Change
	found := false
	kept := w.items[:0]
	for _, it := range w.items {
		if !p.selects(it.head, w.namespace) {
			kept = append(kept, it)
			continue
		}
		found = true
		change, err := it.apply(p)
		if err != nil {
			return nil, &ApplyError{Patch: p.String(), Object: it.head.String(), Err: err}
		}
		if !change.Deleted {
			kept = append(kept, it)
		}
		if change.Deleted || len(change.Fields) > 0 {
			changes = append(changes, change)
		}
	}
	w.items = kept
	if !found && !p.missing {
		return nil, p.noTarget(w.heads(), w.namespace)
	}
	return changes, nil
}

func (w *Patcher) heads() []*manifest.Object {
	out := make([]*manifest.Object, len(w.items))
	for i, it := range w.items {
		out[i] = it.head
	}
	return out
}

// Objects returns the objects as patched. Those that no patch has changed are those of [New]. An error
// is an [*ApplyError].
func (w *Patcher) Objects() ([]*manifest.Object, error) {
	errs := make([]error, len(w.items))
	var writing sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range w.items {
		if w.items[i].data != nil {
			free <- struct{}{}
			writing.Go(func() { errs[i] = w.items[i].write(); <-free })
		}
	}
	writing.Wait()
	out := make([]*manifest.Object, len(w.items))
	for i, it := range w.items {
		if errs[i] != nil {
			return nil, &ApplyError{Patch: it.by.String(), Object: it.head.String(), Err: errs[i]}
		}
		out[i] = it.object
	}
	return out, nil
}

// selects reports whether the patch changes an object.
func (p *Patch) selects(o *manifest.Object, namespace string) bool {
	return !o.Empty && p.scope.has(o) && p.target.selects(o, namespace)
}

// splitLists replaces each list of which the patch selects an item by its items.
func (w *Patcher) splitLists(p *Patch) error {
	for i := len(w.items) - 1; i >= 0; i-- {
		if !strings.HasSuffix(w.items[i].head.Kind, "List") {
			continue
		}
		if err := w.items[i].write(); err != nil {
			return err
		}
		objects, err := manifest.Flatten([]*manifest.Object{w.items[i].object})
		if err != nil {
			return err
		}
		selected := func(o *manifest.Object) bool { return o.List != nil && p.selects(o, w.namespace) }
		if !slices.ContainsFunc(objects, selected) {
			continue
		}
		var own []item
		for _, o := range objects {
			parsed, err := manifest.Parse(o.Source, o.Raw)
			if err != nil {
				return err
			}
			own = append(own, New(parsed, "").items...)
		}
		w.items = slices.Replace(w.items, i, i+1, own...)
	}
	return nil
}

// apply applies a patch to an object. The change has no fields if nothing changes.
func (it *item) apply(p *Patch) (Change, error) {
	change := Change{Kind: it.head.Kind, Namespace: it.head.Namespace, Name: it.head.Name}
	before := it.data
	if before == nil {
		var err error
		if before, err = it.object.Map(); err != nil {
			return change, err
		}
	}
	after, err := p.result(before)
	if err != nil {
		return change, err
	}
	if after == nil {
		change.Deleted = true
		return change, nil
	}
	if change.Fields = fields(before, after); len(change.Fields) == 0 {
		return change, nil
	}
	if it.data, it.by = after, p; !sameHead(before, after) {
		it.head = headOf(it.head.Source, after)
	}
	change.Kind, change.Namespace, change.Name = it.head.Kind, it.head.Namespace, it.head.Name
	return change, nil
}

// sameHead reports whether two contents have the same for targets to select by.
func sameHead(before, after map[string]any) bool {
	old, _ := before["metadata"].(map[string]any)
	meta, _ := after["metadata"].(map[string]any)
	return sameMap(old, meta) && equal(before["kind"], after["kind"]) && equal(before["apiVersion"], after["apiVersion"])
}

// headOf returns an object with what targets select by.
func headOf(source string, data map[string]any) *manifest.Object {
	meta, _ := data["metadata"].(map[string]any)
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	texts := func(key string) map[string]string {
		m, _ := meta[key].(map[string]any)
		out := make(map[string]string, len(m))
		for k, v := range m {
			out[k] = fmt.Sprint(v)
		}
		return out
	}
	return &manifest.Object{Source: source, APIVersion: text(data, "apiVersion"), Kind: text(data, "kind"),
		Name: text(meta, "name"), Namespace: text(meta, "namespace"),
		Labels: texts("labels"), Annotations: texts("annotations")}
}

// write writes the text of a changed object.
func (it *item) write() error {
	if it.data == nil {
		return nil
	}
	edited, err := it.object.Edit(it.data)
	if err != nil {
		return err
	}
	if len(edited.Raw) > maxText {
		return fmt.Errorf("the object would have more than %d MiB", maxText>>20)
	}
	it.object, it.head, it.data = edited, edited, nil
	return nil
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
	if p.kind != "" {
		after["kind"] = p.kind
	}
	old, _ := before["metadata"].(map[string]any)
	meta, _ := after["metadata"].(map[string]any)
	if p.name == "" && meta != nil && sameMap(old, meta) {
		return after, nil
	}
	after["metadata"] = p.named(old, meta)
	return after, nil
}

// named returns the metadata of a patched object with the name and the namespace that it has or gets.
func (p *Patch) named(old, meta map[string]any) map[string]any {
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
	return meta
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
		e.Chart, e.Subchart = p.scope.chart, p.scope.subchart
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
	if sameMap(before, after) {
		return
	}
	for key, b := range before {
		if a, has := after[key]; has {
			d.values(plan.FieldPath(path, key), b, a)
		} else {
			d.out = append(d.out, plan.FieldPath(path, key))
		}
	}
	for key := range after {
		if _, had := before[key]; !had {
			d.out = append(d.out, plan.FieldPath(path, key))
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
	if !equal(before, after) {
		d.out = append(d.out, path)
	}
}

// equal reports whether two values are equal. It does not look into what they share.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && (sameMap(a, b) || maps.EqualFunc(a, b, equal))
	case []any:
		b, ok := b.([]any)
		return ok && (sameList(a, b) || slices.EqualFunc(a, b, equal))
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// sameMap reports whether two maps are one.
func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// sameList reports whether two lists are one.
func sameList(a, b []any) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// lists compares items with the same name, if all have one, and otherwise the lists as a whole.
func (d *differences) lists(path string, before, after []any) {
	if equal(before, after) {
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
