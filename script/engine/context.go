// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/script/wire"
)

// handlerContext is ctx: what a handler sees of one chart.
type handlerContext struct {
	request *request
	ref     wire.Ref
	path    string
	fields  map[string]any
	values  map[string]rt.Value // what the script was given, or put there
	self    rt.Value
}

// changeable returns the fields that may change at some event.
func changeable() []string {
	return []string{"values", "templates", "files", "objects", "dependencies"}
}

// contextFields returns the names of all fields.
func contextFields() []string {
	c, _ := scriptapi.ClassOf("Context")
	return c.Names()
}

// context returns the context of a Ref.
func (q *request) context(ref wire.Ref, path string) *handlerContext {
	if s := q.contexts[ref.ID]; s != nil {
		return s
	}
	s := &handlerContext{request: q, ref: ref, path: path, values: map[string]rt.Value{}}
	s.self = q.e.wrap(s)
	q.contexts[ref.ID] = s
	q.order = append(q.order, s)
	return s
}

func (s *handlerContext) load() error {
	if s.fields != nil {
		return nil
	}
	v, err := s.request.content(s.ref)
	if err != nil {
		return err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return errors.New("the host's context is not a map")
	}
	s.fields = fields
	return nil
}

func (s *handlerContext) get(k rt.Value) (rt.Value, error) {
	name, ok := k.TryString()
	if !ok {
		return rt.NilValue, unknownField(s.path, k, contextFields())
	}
	if v, ok := s.values[name]; ok {
		return v, nil
	}
	if err := s.load(); err != nil {
		return rt.NilValue, err
	}
	v, err := s.field(name)
	if err == nil && !v.IsNil() {
		s.values[name] = v
	}
	return v, err
}

func (s *handlerContext) field(name string) (rt.Value, error) {
	q, e := s.request, s.request.e
	v, there := s.fields[name]
	f := &frozen{request: q, path: s.path + "." + name, from: v}
	f.class, f.items = fieldClass("Context", name)
	switch {
	case q.ended() && there && !isScalar(v):
		return rt.NilValue, errEnded
	case name == "lint" && q.lint:
		return e.lintTable(), nil
	case name == "minimal", name == "dryRun":
		on, _ := v.(bool)
		return rt.BoolValue(on), nil
	case name == "charts":
		return e.wrap(s.charts(f)), nil
	case !there && !slices.Contains(contextFields(), name):
		return rt.NilValue, unknownField(s.path, rt.StringValue(name), contextFields())
	case !there:
		return rt.NilValue, nil
	case name == "chart", name == "release", name == "capabilities":
		return e.wrap(s.constant(name, f)), nil
	case slices.Contains(changeable(), name) && q.may[name]:
		ref, isRef := v.(wire.Ref)
		if !isRef {
			return rt.NilValue, fmt.Errorf("the host's %s is not a reference", name)
		}
		if n, err := q.node(ref); err == nil && ref.List {
			n.items, n.path = f.items, f.path
		}
		return e.bridge.FromGo(v)
	case isScalar(v):
		return e.bridge.FromGo(v)
	}
	return e.wrap(f), nil
}

// charts makes f ctx.charts: the contexts of the charts below.
func (s *handlerContext) charts(f *frozen) *frozen {
	f.always = true
	f.inner = func(name string, v any) (rt.Value, error) {
		ref, ok := v.(wire.Ref)
		if !ok {
			return rt.NilValue, errors.New("the host's charts are not references")
		}
		return s.request.context(ref, truncate.Bytes(f.path+"."+name, 300, "…")).self, nil
	}
	return f
}

// constant makes f one of the fields that are read-only at every event.
func (s *handlerContext) constant(name string, f *frozen) *frozen {
	f.always = true
	switch name {
	case "chart":
		f.more = func(field string) (rt.Value, bool) {
			if field != "kubernetesVersions" {
				return rt.NilValue, false
			}
			v, err := f.get(rt.StringValue("kubeVersion"))
			return v, err == nil
		}
		f.assign = func(field string, v rt.Value) (bool, error) { return s.assignVersion(f, field, v) }
	case "capabilities":
		has := s.request.e.one("has", 0, 2, func(t *rt.Thread, c *rt.GoCont) (rt.Value, error) { return s.has(f, t, c) })
		f.more = func(field string) (rt.Value, bool) { return has, field == "has" }
	}
	return f
}

// assignVersion sets version or appVersion, where they may change.
func (s *handlerContext) assignVersion(f *frozen, field string, v rt.Value) (bool, error) {
	q := s.request
	if field != "version" && field != "appVersion" || !q.may[field] {
		return false, nil
	}
	text, ok := v.TryString()
	if !ok {
		return false, fmt.Errorf("%s.%s is text, not a %s value", f.path, field, v.TypeName())
	}
	if q.ended() {
		return false, errEnded
	}
	if _, err := q.e.ask(wire.Assign,
		map[string]any{"context": int64(s.ref.ID), "field": field, "value": text}); err != nil {
		return false, err
	}
	f.keep(rt.StringValue(field), v)
	return true, nil
}

// has is capabilities.has("batch/v1"), also written with a colon.
func (s *handlerContext) has(f *frozen, t *rt.Thread, c *rt.GoCont) (rt.Value, error) {
	n := 0
	if c.NArgs() > 1 {
		if v, ok := s.request.e.viewOf(c.Arg(0)); ok && v == view(f) {
			n = 1
		}
	}
	want, err := textArg(c, n)
	if err != nil {
		return rt.NilValue, err
	}
	list, err := f.get(rt.StringValue("apiVersions"))
	if err != nil {
		return rt.NilValue, err
	}
	found := false
	if v, ok := s.request.e.viewOf(list); ok {
		versions, err := v.(*frozen).content()
		if err != nil {
			return rt.NilValue, err
		}
		all, _ := versions.([]any)
		t.RequireCPU(uint64(len(all)))
		found = slices.Contains(all, any(want))
	}
	return rt.BoolValue(found), nil
}

func (s *handlerContext) set(k, v rt.Value) error {
	q := s.request
	name, ok := k.TryString()
	if !ok {
		return q.readOnly(s.path, true)
	}
	if !slices.Contains(contextFields(), name) {
		return fmt.Errorf("%s has no field %q that could be set%s", s.path, truncate.Bytes(name, 100, "…"),
			didYouMean(contextFields(), s.path+".", name, 2))
	}
	if !slices.Contains(changeable(), name) || !q.may[name] {
		return q.readOnly(s.path+"."+name, !slices.Contains(changeable(), name))
	}
	if q.ended() {
		return errEnded
	}
	if err := s.load(); err != nil {
		return err
	}
	if t, ok := v.TryTable(); ok {
		plain, err := q.e.load(t)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", s.path, name, err)
		}
		if plain != nil {
			if v, err = q.e.bridge.FromGo(plain); err != nil {
				return err
			}
		}
	}
	if v.Type() != rt.TableType {
		return fmt.Errorf("%s.%s is a table; it cannot become a %s value", s.path, name, v.TypeName())
	}
	s.values[name] = v
	return nil
}

func (s *handlerContext) keys() ([]rt.Value, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	return s.request.e.fieldKeys(s.fields), nil
}

func (s *handlerContext) length() (int64, error) { return 0, nil }

func (s *handlerContext) data() (any, error) { return nil, errNotData() }
