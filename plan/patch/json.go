// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/plan"
)

// operation is one operation of a JSON 6902 patch.
type operation struct {
	op         string
	path, from []string // the parts of the pointers
	value      any
}

// operationNames are the operations of RFC 6902.
var operationNames = []string{"add", "remove", "replace", "move", "copy", "test"}

// isOperation reports whether v looks like an operation of a JSON 6902 patch.
func isOperation(v any) bool {
	m, _ := v.(map[string]any)
	_, op := m["op"].(string)
	_, at := m["path"].(string)
	return op && at
}

// operations reads a JSON 6902 patch.
func (p *parser) operations(doc document, list []any) ([]operation, error) {
	out := make([]operation, 0, len(list))
	for i, item := range list {
		op, err := newOperation(item)
		if err != nil {
			err.File, err.Line = p.file, doc.first
			err.Text = fmt.Sprintf("operation %d of the JSON 6902 patch %s", i+1, err.Text)
			return nil, err
		}
		out = append(out, op)
	}
	return out, nil
}

// newOperation reads an operation. Its error has neither file nor line.
func newOperation(item any) (operation, *SyntaxError) {
	m, ok := item.(map[string]any)
	if !ok {
		return operation{}, &SyntaxError{Text: "is not a map with op and path"}
	}
	var out operation
	out.op, _ = m["op"].(string)
	if !slices.Contains(operationNames, out.op) {
		return out, &SyntaxError{Similar: first(suggest.Nearest(operationNames, out.op)),
			Text: fmt.Sprintf("has the op %v, and must have one of %s", m["op"], strings.Join(operationNames, ", "))}
	}
	for key, to := range map[string]*[]string{"path": &out.path, "from": &out.from} {
		text, isText := m[key].(string)
		if key == "from" && out.op != "move" && out.op != "copy" {
			continue
		}
		if !isText {
			return out, &SyntaxError{Text: fmt.Sprintf("has no %s, which %s needs", key, out.op)}
		}
		var err error
		if *to, err = pointer(text); err != nil {
			return out, &SyntaxError{Text: fmt.Sprintf("has the %s %q, which %s", key, text, err)}
		}
	}
	var has bool
	if out.value, has = m["value"]; !has && (out.op == "add" || out.op == "replace" || out.op == "test") {
		return out, &SyntaxError{Text: fmt.Sprintf("has no value, which %s needs", out.op)}
	}
	return out, nil
}

// pointer returns the parts of a JSON pointer (RFC 6901).
func pointer(text string) ([]string, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("must begin with a slash, such as /spec/replicas")
	}
	parts := strings.Split(text[1:], "/")
	for i, part := range parts {
		if rest := strings.NewReplacer("~0", "", "~1", "").Replace(part); strings.Contains(rest, "~") {
			return nil, fmt.Errorf("has ~ without 0 or 1 after it: ~1 stands for a slash in a key, and ~0 for ~")
		}
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts, nil
}

// format returns a pointer as text.
func format(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// maxCopied limits what the operations of a patch copy in an object: values, each of which counts as
// 100 bytes, and bytes of strings.
const maxCopied = 20 << 20

// document6902 is a document that operations change. It shares with the object what they do not change.
type document6902 struct {
	root any
	// own are the maps and lists that have been copied, which operations change in place.
	own    map[unsafe.Pointer]bool
	copied int
	secret bool // errors do not have its values
}

// applyOperations returns the result of a JSON 6902 patch for an object.
func applyOperations(object map[string]any, operations []operation) (map[string]any, error) {
	d := &document6902{root: object, own: map[unsafe.Pointer]bool{}, secret: object["kind"] == "Secret"}
	for i, op := range operations {
		if err := d.apply(op); err != nil {
			return nil, &plan.PatchError{Text: fmt.Sprintf("operation %d (%s %s): %s", i+1, op.op, format(op.path), err)}
		}
	}
	return d.root.(map[string]any), nil // no operation replaces the root, whose pointer is not read
}

// clone returns a copy of v that shares no maps and lists with it.
func (d *document6902) clone(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			d.copied += 100 + len(k)
			out[k], _ = d.clone(e)
		}
		return out, d.limit()
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			d.copied += 100
			out[i], _ = d.clone(e)
		}
		return out, d.limit()
	case string:
		d.copied += len(v)
		return v, d.limit()
	}
	return v, nil
}

func (d *document6902) limit() error {
	if d.copied > maxCopied {
		return fmt.Errorf("the patch copies more than %d MiB", maxCopied>>20)
	}
	return nil
}

func (d *document6902) apply(op operation) error {
	switch op.op {
	case "add", "replace":
		value, err := d.clone(op.value)
		if err != nil {
			return err
		}
		if op.op == "add" {
			return d.add(op.path, value)
		}
		return d.replace(op.path, value)
	case "remove":
		_, err := d.remove(op.path)
		return err
	case "test":
		have, err := d.get(op.path)
		if err != nil {
			return err
		}
		switch {
		case same(have, op.value):
			return nil
		case d.secret:
			return fmt.Errorf("the value is another one")
		}
		return fmt.Errorf("the value is %s, and not %s", clip(have), clip(op.value))
	}
	var value any
	var err error
	if op.op == "move" {
		if len(op.path) > len(op.from) && slices.Equal(op.path[:len(op.from)], op.from) {
			return fmt.Errorf("it moves %s into itself", format(op.from))
		}
		value, err = d.remove(op.from)
	} else if value, err = d.get(op.from); err == nil {
		value, err = d.clone(value)
	}
	if err != nil {
		return fmt.Errorf("from %s: %w", format(op.from), err)
	}
	return d.add(op.path, value)
}

// same reports whether two values are equal. Numbers are equal whatever their types.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// clip returns a value as text for an error.
func clip(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return truncate.Bytes(string(text), 60, "…")
}

// get returns the value at a path.
func (d *document6902) get(at []string) (any, error) {
	v := d.root
	for i, part := range at {
		var err error
		if v, err = member(v, part); err != nil {
			return nil, fmt.Errorf("%s %w", format(at[:i+1]), err)
		}
	}
	return v, nil
}

// member returns a member of a map or an item of a list.
func member(v any, part string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		e, ok := v[part]
		if !ok {
			return nil, notThere(slices.Sorted(maps.Keys(v)), part)
		}
		return e, nil
	case []any:
		i, err := index(part, len(v))
		if err != nil {
			return nil, err
		}
		return v[i], nil
	}
	return nil, fmt.Errorf("does not exist: what is above it is not a map or a list")
}

func notThere(keys []string, part string) error {
	if near := first(suggest.Nearest(keys, part)); near != "" {
		return fmt.Errorf("does not exist; there is %s", near)
	}
	return fmt.Errorf("does not exist")
}

// index returns the index of an item of a list of n. A negative one counts from the end.
func index(part string, n int) (int, error) {
	i, err := strconv.Atoi(part)
	if err != nil || part != strconv.Itoa(i) {
		return 0, fmt.Errorf("is in a list, and must end in the index of an item")
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return 0, fmt.Errorf("does not exist: the list has %d items", n)
	}
	return i, nil
}

// owned returns the map or list at a path, which may be changed in place: it and those above it have been
// copied.
func (d *document6902) owned(at []string) (any, error) {
	d.root = d.copyOf(d.root)
	v := d.root
	for i, part := range at {
		child, err := member(v, part)
		if err != nil {
			return nil, fmt.Errorf("%s %w", format(at[:i+1]), err)
		}
		child = d.copyOf(child)
		if err := put(v, part, child); err != nil {
			return nil, err
		}
		v = child
	}
	return v, nil
}

// copyOf returns a copy of a map or list that has none of its own yet, and otherwise v.
func (d *document6902) copyOf(v any) any {
	switch c := v.(type) {
	case map[string]any:
		if !d.own[reflect.ValueOf(c).UnsafePointer()] {
			v = maps.Clone(c)
		}
	case []any:
		if !d.own[reflect.ValueOf(c).UnsafePointer()] {
			v = slices.Clone(c)
		}
	default:
		return v
	}
	d.own[reflect.ValueOf(v).UnsafePointer()] = true
	return v
}

// put sets an existing member of a map or item of a list.
func put(parent any, part string, value any) error {
	switch parent := parent.(type) {
	case map[string]any:
		parent[part] = value
	case []any:
		i, err := index(part, len(parent))
		if err != nil {
			return err
		}
		parent[i] = value
	}
	return nil
}

// edit calls change with the map or list that has the last part of a path, and sets it to the result.
func (d *document6902) edit(at []string, change func(parent any, part string) (any, error)) error {
	parent, err := d.owned(at[:len(at)-1])
	if err != nil {
		return err
	}
	changed, err := change(parent, at[len(at)-1])
	if err != nil {
		return err
	}
	if list, ok := changed.([]any); ok { // a map has been changed in place
		d.own[reflect.ValueOf(list).UnsafePointer()] = true
		return d.set(at[:len(at)-1], list)
	}
	return nil
}

// set replaces an existing value.
func (d *document6902) set(at []string, value any) error {
	parent, err := d.owned(at[:len(at)-1])
	if err != nil {
		return err
	}
	return put(parent, at[len(at)-1], value)
}

func (d *document6902) add(at []string, value any) error {
	return d.edit(at, func(parent any, part string) (any, error) {
		switch parent := parent.(type) {
		case map[string]any:
			parent[part] = value
			return parent, nil
		case []any:
			i := len(parent)
			if part != "-" {
				var err error
				if i, err = index(part, len(parent)+1); err != nil {
					return nil, fmt.Errorf("%s %w", format(at), err)
				}
			}
			return slices.Insert(parent, i, value), nil
		}
		return nil, fmt.Errorf("%s is not a map or a list", format(at[:len(at)-1]))
	})
}

func (d *document6902) replace(at []string, value any) error {
	if _, err := d.get(at); err != nil {
		return fmt.Errorf("%w; the operation add sets a new field", err)
	}
	return d.set(at, value)
}

// remove removes a value and returns it.
func (d *document6902) remove(at []string) (any, error) {
	old, err := d.get(at)
	if err != nil {
		return nil, err
	}
	return old, d.edit(at, func(parent any, part string) (any, error) {
		switch parent := parent.(type) {
		case map[string]any:
			delete(parent, part)
			return parent, nil
		case []any:
			i, err := index(part, len(parent))
			if err != nil {
				return nil, err
			}
			return slices.Delete(parent, i, i+1), nil
		}
		return nil, fmt.Errorf("%s is not a map or a list", format(at[:len(at)-1]))
	})
}
