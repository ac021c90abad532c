// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/script/wire"
)

// scope is ctx: what one chart's handler sees.
type scope struct {
	request *request
	ref     wire.Ref
	path    string
	fields  map[string]any
	values  map[string]rt.Value // what the script was given, or put there
	self    rt.Value
}

// Fields of a context.
var (
	alwaysFrozen = []string{"chart", "release", "capabilities"}
	changeable   = []string{"values", "templates", "files", "objects", "dependencies"}
	// contextFields are all of them.
	contextFields = append([]string{"charts", "minimal", "dryRun", "results", "lint"},
		append(alwaysFrozen, changeable...)...)
)

// missingFields are what fields read as that a chart does without.
var missingFields = map[string]map[string]any{
	"chart": {
		"name": "", "version": "", "description": "", "home": "", "icon": "", "appVersion": "", "kubeVersion": "",
		"type": "", "keywords": []any{}, "sources": []any{}, "maintainers": []any{}, "annotations": map[string]any{},
	},
	"release": {"name": "", "namespace": "", "service": "", "revision": int64(0), "isInstall": false,
		"isUpgrade": false},
	"capabilities": {"helmVersion": "", "kubernetesVersion": "", "apiVersions": []any{}},
}

// scope is the context for a Ref.
func (q *request) scope(ref wire.Ref, path string) *scope {
	if s := q.scopes[ref.ID]; s != nil {
		return s
	}
	s := &scope{request: q, ref: ref, path: path, values: map[string]rt.Value{}}
	s.self = q.e.wrap(s)
	q.scopes[ref.ID] = s
	q.order = append(q.order, s)
	return s
}

func (s *scope) load() error {
	if s.fields != nil {
		return nil
	}
	v, err := s.request.level(s.ref)
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

func (s *scope) get(k rt.Value) (rt.Value, error) {
	name, ok := k.TryString()
	if !ok {
		return rt.NilValue, nil
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

func (s *scope) field(name string) (rt.Value, error) {
	q, e := s.request, s.request.e
	v, there := s.fields[name]
	switch {
	case q.ended() && there && !isScalar(v):
		return rt.NilValue, errEnded
	case name == "lint":
		if !q.lint {
			return rt.NilValue, nil
		}
		return e.lintTable(), nil
	case name == "minimal", name == "dryRun":
		on, _ := v.(bool)
		return rt.BoolValue(on), nil
	case name == "charts":
		if !there {
			v = map[string]any{}
		}
		return e.wrap(&children{scope: s, from: v}), nil
	case !there:
		return rt.NilValue, nil
	case slices.Contains(alwaysFrozen, name):
		return s.frozen(name, v)
	case slices.Contains(changeable, name) && q.may[name]:
		return e.bridge.FromGo(v)
	}
	switch v.(type) {
	case map[string]any, []any, wire.Ref:
		return e.wrap(&frozen{request: q, path: s.path + "." + name, from: v}), nil
	}
	return e.bridge.FromGo(v)
}

// frozen is one of the fields that are read-only at every event.
func (s *scope) frozen(name string, v any) (rt.Value, error) {
	switch v.(type) {
	case map[string]any, wire.Ref:
	default:
		return rt.NilValue, fmt.Errorf("the host's %s is not a map", name)
	}
	f := &frozen{request: s.request, path: s.path + "." + name, always: true, from: v, missing: missingFields[name]}
	switch name {
	case "chart":
		f.alias = map[string]string{"kubernetesVersions": "kubeVersion"}
		f.assign = func(field string, v rt.Value) (bool, error) { return s.assignVersion(f, field, v) }
	case "capabilities":
		f.more = map[string]rt.Value{"has": s.request.e.value("has", 2, false,
			func(t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
				return s.has(f, t, c)
			})}
	}
	return s.request.e.wrap(f), nil
}

// assignVersion sets version or appVersion, where they may change.
func (s *scope) assignVersion(f *frozen, field string, v rt.Value) (bool, error) {
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
	if f.kids == nil {
		f.kids = map[rt.Value]rt.Value{}
	}
	f.kids[rt.StringValue(field)] = v
	return true, nil
}

// has is capabilities.has("batch/v1"), also written with a colon.
func (s *scope) has(f *frozen, t *rt.Thread, c *rt.GoCont) (rt.Cont, error) {
	n := 0
	if c.NArgs() > 1 {
		if v, ok := viewOf(c.Arg(0)); ok && v == view(f) {
			n = 1
		}
	}
	want, err := textArg(c, n)
	if err != nil {
		return nil, err
	}
	list, err := f.get(rt.StringValue("apiVersions"))
	if err != nil {
		return nil, err
	}
	found := false
	if v, ok := viewOf(list); ok {
		versions, err := v.(*frozen).level()
		if err != nil {
			return nil, err
		}
		all, _ := versions.([]any)
		t.RequireCPU(uint64(len(all)))
		found = slices.Contains(all, any(want))
	}
	return c.PushingNext1(t.Runtime, rt.BoolValue(found)), nil
}

func (s *scope) set(k, v rt.Value) error {
	q := s.request
	name, ok := k.TryString()
	if !ok {
		return q.readOnly(s.path, true)
	}
	if !slices.Contains(contextFields, name) {
		return fmt.Errorf("%s has no field %q that could be set%s", s.path, clip(name, 100),
			didYouMean(contextFields, s.path+".", name, 2))
	}
	if !slices.Contains(changeable, name) || !q.may[name] {
		always := !slices.Contains(changeable, name)
		return q.readOnly(s.path+"."+clip(name, 100), always)
	}
	if q.ended() {
		return errEnded
	}
	if err := s.load(); err != nil {
		return err
	}
	if view, ok := viewOf(v); ok {
		p, isPlain := view.(*frozen)
		if !isPlain {
			return fmt.Errorf("%s.%s cannot be that", s.path, name)
		}
		plain, err := p.Plain()
		if err != nil {
			return err
		}
		if v, err = q.e.bridge.FromGo(plain); err != nil {
			return err
		}
	}
	if v.Type() != rt.TableType {
		return fmt.Errorf("%s.%s is a table; it cannot become a %s value", s.path, name, v.TypeName())
	}
	s.values[name] = v
	return nil
}

func (s *scope) keys() ([]rt.Value, error) {
	if err := s.load(); err != nil {
		return nil, err
	}
	var keys []rt.Value
	for _, k := range slices.Sorted(maps.Keys(s.fields)) {
		keys = append(keys, rt.StringValue(k))
	}
	return keys, nil
}

func (s *scope) length() (int64, error) { return 0, nil }

// children is ctx.charts.
type children struct {
	scope *scope
	from  any
}

func (c *children) level() (map[string]any, error) {
	if ref, ok := c.from.(wire.Ref); ok {
		v, err := c.scope.request.level(ref)
		if err != nil {
			return nil, err
		}
		c.from = v
	}
	m, ok := c.from.(map[string]any)
	if !ok {
		return nil, errors.New("the host's charts are not map")
	}
	return m, nil
}

func (c *children) get(k rt.Value) (rt.Value, error) {
	m, err := c.level()
	if err != nil {
		return rt.NilValue, err
	}
	name, _ := k.TryString()
	ref, ok := m[name].(wire.Ref)
	if !ok || k.Type() != rt.StringType {
		return rt.NilValue, nil
	}
	return c.scope.request.scope(ref, c.scope.path+".charts."+clip(name, 100)).self, nil
}

func (c *children) set(k, _ rt.Value) error {
	path := c.scope.path + ".charts"
	if name, ok := k.TryString(); ok {
		path += "." + clip(name, 100)
	}
	return c.scope.request.readOnly(path, true)
}

func (c *children) keys() ([]rt.Value, error) {
	m, err := c.level()
	var keys []rt.Value
	for _, k := range slices.Sorted(maps.Keys(m)) {
		keys = append(keys, rt.StringValue(k))
	}
	return keys, err
}

func (c *children) length() (int64, error) { return 0, nil }
