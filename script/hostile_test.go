// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

// world is a chart with something of everything in it, and its payload.
func world(t testing.TB) (*chart.Chart, event.Payload) {
	t.Helper()
	db := newChart("db", map[string]string{chart.FileScript: "", "notes.txt": "db"})
	web := newChart("web", map[string]string{chart.FileScript: "", "a.txt": "A", "b.txt": "B", "templates/a.yaml": "x: {{ 1 }}"}, db)
	web.Metadata.Dependencies = []*chart.Dependency{{Name: "db", Version: "^1", Repository: "https://example.com"}}
	global := map[string]any{"region": "eu"}
	vals := map[string]any{
		"global": global,
		"db":     map[string]any{"global": global, "port": 3306.0},
		"big":    1e6,
		"list":   []any{1.0, map[string]any{"n": 1e6}, "x"},
		"deep":   map[string]any{"a": map[string]any{"b": map[string]any{"c": strings.Repeat("c", 600<<10), "d": map[string]any{"e": 1.0}}}},
	}
	objects, err := manifest.ParseManifest("---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n" +
		"---\n# Source: web/charts/db/templates/b.yaml\n# kept\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n")
	if err != nil {
		t.Fatal(err)
	}
	return web, event.Payload{Chart: web, Values: vals, Objects: objects, Operation: &event.Operation{Name: "demo"}}
}

// everything loads all that a context leads to.
func everything(c *call, v any, seen map[uint64]bool) {
	switch v := v.(type) {
	case wire.Ref:
		if !seen[v.ID] {
			seen[v.ID] = true
			everything(c, c.load(v), seen)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			everything(c, v[k], seen)
		}
	case []any:
		for _, e := range v {
			everything(c, e, seen)
		}
	}
}

// attack has a process say that these changes were made at pre-package-like
// freedom: with everything offered, and everything allowed.
func attack(t *testing.T, e event.Event, changes []any) error {
	t.Helper()
	h := &script.Host{Start: scripts(handler{1, e.Name(), 0.5, func(c *call) []any {
		everything(c, c.body["context"], map[uint64]bool{})
		return changes
	}})}
	bus := mustLoad(t, h, e.Data().Chart)
	begin := time.Now()
	err := bus.Emit(t.Context(), e)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	_ = h.Close()
	return err
}

func ref(id int) wire.Ref { return wire.Ref{ID: uint64(id)} }

func change(id int, kv ...any) map[string]any { return set(ref(id), kv...) }

// ids are the numbers that a context's fields, and all that is below them, have
// when everything is loaded; they are found rather than known.
func ids(t *testing.T, e event.Event) map[string]int {
	t.Helper()
	found := map[string]int{}
	h := &script.Host{Start: scripts(handler{1, e.Name(), 0.5, func(c *call) []any {
		var walk func(path string, v any)
		walk = func(path string, v any) {
			if r, ok := v.(wire.Ref); ok {
				if _, was := found[path]; was || len(path) > 100 {
					return
				}
				found[path] = int(r.ID)
				v = c.load(v)
			}
			switch v := v.(type) {
			case map[string]any:
				for _, k := range sortedKeys(v) {
					walk(path+"."+k, v[k])
				}
			case []any:
				for i, e := range v {
					walk(fmt.Sprintf("%s.%d", path, i+1), e)
				}
			}
		}
		walk("ctx", c.body["context"])
		return nil
	}})}
	bus := mustLoad(t, h, e.Data().Chart)
	if err := bus.Emit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return found
}

func sortedKeys(m map[string]any) []string {
	names := map[string]string{}
	for k := range m {
		names[k] = ""
	}
	return sorted(names)
}

func TestHostileChangesAreRefused(t *testing.T) {
	_, payload := world(t)
	id := ids(t, &event.PreRender{Payload: payload})
	vals, deep, files, tmpl := id["ctx.values"], id["ctx.values.deep.a.b"], id["ctx.files"], id["ctx.templates"]
	objs, obj, ctx, file := id["ctx.objects"], id["ctx.objects.1"], id["ctx"], id["ctx.files.1"]
	for name, n := range map[string]int{"values": vals, "deep": deep, "files": files, "templates": tmpl, "objects": objs, "object": obj, "file": file} {
		if n == 0 {
			t.Fatalf("%s has no number: %v", name, id)
		}
	}
	lst := func(id int, l ...any) map[string]any { return relist(wire.Ref{ID: uint64(id)}, l...) }
	for name, tc := range map[string]struct {
		changes []any
		want    string
	}{
		"circle":               {[]any{change(vals, "self", ref(vals))}, "refer to themselves"},
		"circle of two":        {[]any{change(vals, "a", ref(deep)), change(deep, "b", ref(vals))}, "refer to themselves"},
		"circle of lists":      {[]any{lst(files, ref(tmpl)), lst(tmpl, ref(files))}, "refer to themselves"},
		"unknown number":       {[]any{change(vals, "a", ref(99999))}, "unknown node"},
		"number of later":      {[]any{change(1<<40, "a", 1)}, "unknown node"},
		"twice":                {[]any{change(vals, "a", 1), change(vals, "b", 1)}, "changed values twice"},
		"a list as a map":      {[]any{change(files, "a", int64(1))}, "files is a list, and was not changed as one"},
		"a map as a list":      {[]any{lst(vals, "a")}, "values is a map, and was not changed as one"},
		"set is not a map":     {[]any{map[string]any{"id": int64(vals), "set": "x"}}, "violated the protocol"},
		"drop is not a list":   {[]any{map[string]any{"id": int64(vals), "drop": "x"}}, "violated the protocol"},
		"drop of numbers":      {[]any{map[string]any{"id": int64(vals), "drop": []any{int64(1)}}}, "violated the protocol"},
		"no number":            {[]any{change(vals, "a", math.NaN())}, "NaN"},
		"a context in values":  {[]any{change(vals, "a", ref(ctx))}, "cannot be stored"},
		"subchart's are text":  {[]any{change(vals, "db", "x")}, "values.db must be a map"},
		"global is text":       {[]any{change(vals, "global", "x")}, "values.global must be a map"},
		"a context's values":   {[]any{change(ctx, "values", map[string]any{})}, "ctx is read-only"},
		"a context's field":    {[]any{map[string]any{"id": int64(ctx), "drop": []any{"values"}}}, "ctx is read-only"},
		"dependencies":         {[]any{lst(id["ctx.dependencies"])}, "dependencies is read-only"},
		"a file is text":       {[]any{lst(files, "x")}, "files[1]: must be a map"},
		"a file without data":  {[]any{lst(files, map[string]any{"name": "x"})}, "name and data"},
		"a file with more":     {[]any{lst(files, map[string]any{"name": "x", "data": "", "mode": int64(7)})}, "name and data"},
		"a file of numbers":    {[]any{change(file, "data", int64(1))}, "name and data"},
		"a file that leaves":   {[]any{lst(files, map[string]any{"name": "../x", "data": ""})}, "must be a path inside the chart"},
		"an absolute file":     {[]any{change(file, "name", "/etc/passwd")}, "must be a path inside the chart"},
		"a nameless file":      {[]any{change(file, "name", "")}, "must be a path inside the chart"},
		"a file with dots":     {[]any{change(file, "name", "a/../../b")}, "must be a path inside the chart"},
		"a file on a drive":    {[]any{change(file, "name", "c:x")}, "must be a path inside the chart"},
		"a backslash":          {[]any{change(file, "name", `..\x`)}, "must be a path inside the chart"},
		"a control character":  {[]any{change(file, "name", "x\ny")}, "control characters"},
		"a script":             {[]any{change(file, "name", "ext/lua/chart.lua")}, "meaning of its own"},
		"a template as a file": {[]any{change(file, "name", "templates/x")}, "meaning of its own"},
		"Chart.yaml":           {[]any{change(file, "name", "Chart.yaml")}, "cannot be changed as a file"},
		"chart.yaml":           {[]any{change(file, "name", "chart.yaml")}, "cannot be changed as a file"},
		"below Chart.yaml":     {[]any{change(file, "name", "Chart.yaml/x")}, "cannot be changed as a file"},
		"a SCRIPT":             {[]any{change(file, "name", "EXT/permissions.yaml")}, "meaning of its own"},
		"a script with a dot":  {[]any{change(file, "name", "ext./permissions.yaml")}, "meaning of its own"},
		"Chart.yaml, a space":  {[]any{change(file, "name", "Chart.yaml ")}, "cannot be changed as a file"},
		"a name twice":         {[]any{change(file, "name", "b.txt")}, `two with the name "b.txt"`},
		"a template elsewhere": {[]any{lst(tmpl, map[string]any{"name": "../x.yaml", "data": ""})}, `must be a path inside the chart`},
		"a kindless object":    {[]any{lst(objs, ref(obj), map[string]any{"apiVersion": "v1"})}, "objects[2]: an object needs kind, as text"},
		"kind is a number":     {[]any{change(obj, "kind", int64(1))}, "objects[1]: an object needs kind, as text"},
		"an object is a list":  {[]any{lst(objs, []any{})}, "objects[1]: must be a map"},
		"metadata is text":     {[]any{change(obj, "metadata", "x")}, "metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			_, payload := world(t)
			e := &event.PreRender{Payload: payload}
			before := snapshot(e)
			err := attack(t, e, tc.changes)
			if tc.want == "" {
				return // whatever it is, it ends
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `pre-render handler of chart "web": ext/lua/chart.lua:1: `) {
				t.Fatalf("got %v", err)
			}
			if after := snapshot(e); !reflect.DeepEqual(before, after) {
				t.Error("something changed all the same")
			}
		})
	}
}

// snapshot is all that a handler might change.
func snapshot(e event.Event) map[string]any {
	s := e.Data()
	out := map[string]any{"values": values.Copy(s.Values)}
	s.Chart.Walk(func(c *chart.Chart) {
		out[c.FullPath()] = fmt.Sprintf("%s %v", text(c.Files)+text(c.Templates), *c.Metadata)
	})
	for i, o := range s.Objects {
		out[fmt.Sprint(i)] = o.Raw
	}
	return out
}

func text(files []*chart.File) (s string) {
	for _, f := range files {
		s += f.Name + "=" + string(f.Data) + ";"
	}
	return s
}

// A value that is put into itself many times over doubles with every step.
func TestCopiesAreBounded(t *testing.T) {
	deep := map[string]any{"x": 1.0}
	for range 60 {
		deep = map[string]any{"d": deep, "pad": strings.Repeat("p", 20<<10)}
	}
	c := scripted("web")
	e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{"d": deep}}}
	h := &script.Host{Start: scripts(handler{0, "pre-render", 0.5, func(c *call) []any {
		var out []any
		v := c.ctx["values"]
		for {
			m := c.table(v)
			next, ok := m["d"].(wire.Ref)
			if !ok {
				return out
			}
			out = append(out, set(v, "a", next, "b", next, "d", next))
			v = next
		}
	}})}
	bus := mustLoad(t, h, c)
	within(t, 5*time.Second, func() {
		if err := bus.Emit(t.Context(), e); err == nil || !strings.Contains(err.Error(), "more than 64 MiB of values") {
			t.Errorf("got %.200v", err)
		}
	})
}

// Each handler's change is small enough; all of them together must not fill
// helm's memory, which is the user's.
func TestWhatScriptsLeaveIsBounded(t *testing.T) {
	const limit, step = 64 << 20, 4 << 20
	data := strings.Repeat("x", step)
	for name, fn := range map[string]func(n int, c *call) []any{
		"values": func(n int, c *call) []any {
			vals := c.ctx["values"]
			c.load(vals)
			return []any{set(vals, fmt.Sprint(n), map[string]any{"a": data})}
		},
		"files": func(n int, c *call) []any {
			files := c.load(c.ctx["files"]).([]any)
			return []any{relist(c.ctx["files"], append(files, map[string]any{"name": fmt.Sprint(n), "data": data})...)}
		},
		"copies": func(n int, c *call) []any {
			vals := c.table(c.ctx["values"])
			return []any{set(c.ctx["values"], fmt.Sprint(n), vals["big"])}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			c := scripted("web")
			h := &script.Host{Limits: wire.Limits{Memory: limit}, Start: scripts(handler{0, "pre-render", 0.5, func(c *call) []any {
				n++
				return fn(n, c)
			}})}
			bus := mustLoad(t, h, c)
			e := &event.PreRender{Payload: event.Payload{Chart: c, Values: map[string]any{"big": map[string]any{"a": data}}}}
			for range limit / step {
				if err := bus.Emit(t.Context(), e); err != nil {
					var failed *script.Error
					if !errors.As(err, &failed) || failed.Limit != "memory" || n < 4 {
						t.Fatalf("handler %d: %.200v", n, err)
					}
					return
				}
			}
			t.Errorf("%d MiB were kept", n*step>>20)
		})
	}
}

// Findings are kept, and their paths are too: the limit of the output counts both.
func TestFindingsAreBounded(t *testing.T) {
	const limit = 16 << 10
	for name, tc := range map[string]struct {
		finding map[string]any
		most    int // findings
	}{
		"of long paths": {map[string]any{"severity": "error", "path": strings.Repeat("p", 400)}, 2 * limit / 400},
		"of nothing":    {map[string]any{"severity": "warning"}, 2 * limit / 16},
	} {
		t.Run(name, func(t *testing.T) {
			h := &script.Host{Limits: wire.Limits{Output: limit}, Start: scripts(handler{0, "pre-lint", 0.5, func(c *call) []any {
				for c.Send(wire.Message{Kind: wire.Finding, Body: tc.finding}) == nil {
				}
				return nil
			}})}
			c := scripted("web")
			bus := mustLoad(t, h, c)
			found := 0
			count := func(string, string) { found++ }
			err := bus.Emit(t.Context(), &event.PreLint{Payload: event.Payload{Chart: c}, Warn: count, Fail: count})
			var failed *script.Error
			if !errors.As(err, &failed) || failed.Limit != "output" {
				t.Errorf("got %v, want the limit output", err)
			}
			if found > tc.most {
				t.Errorf("got %d findings, want %d at most", found, tc.most)
			}
		})
	}
}

// What a handler changes may be little work for it and much for helm.
func TestTimeThatHelmTakesForScriptsIsTheirs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	data := map[string]any{}
	for i := range 20_000 {
		data[fmt.Sprint("key", i)] = "x"
	}
	raw, err := manifest.Encode(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.ParseManifest("---\n# Source: web/templates/a.yaml\n" + raw)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	c := scripted("web")
	h := &script.Host{Limits: wire.Limits{CPU: 300 * time.Millisecond}, Start: scripts(handler{0, "post-render", 0.5, func(c *call) []any {
		n++
		object := c.load(c.ctx["objects"]).([]any)[0]
		c.load(object)
		return []any{set(object, "metadata", map[string]any{"name": fmt.Sprint(n)})}
	}})}
	bus := mustLoad(t, h, c)
	e := &event.PostRender{Payload: event.Payload{Chart: c, Values: map[string]any{}, Objects: objects}}
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		if err := bus.Emit(t.Context(), e); err != nil {
			var failed *script.Error
			if !errors.As(err, &failed) || failed.Limit != "cpu" {
				t.Errorf("%.200v", err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			return
		}
	}
	t.Errorf("%d handlers ran and there was no end", n)
}

func TestNestingIsBounded(t *testing.T) {
	_, payload := world(t)
	id := ids(t, &event.PreRender{Payload: payload})
	nest := func(v any, n int) any {
		for range n {
			v = map[string]any{"n": v}
		}
		return v
	}
	_, payload = world(t)
	err := attack(t, &event.PreRender{Payload: payload}, []any{
		change(id["ctx.values"], "x", nest(ref(id["ctx.values.deep.a.b"]), 150)),
		change(id["ctx.values.deep.a.b"], "y", nest(int64(1), 150)),
	})
	if err == nil || !strings.Contains(err.Error(), "nest deeper") {
		t.Error(err)
	}
}

// mutate is a change made of numbers that may exist and fields that may be.
func mutate(r *rand.Rand, depth int) any {
	words := []string{"id", "set", "list", "drop", "values", "files", "objects", "templates", "name", "data", "global", "db", "apiVersion", "kind", "metadata", "x", "../x", "templates/x.yaml", "deep", "a"}
	if depth > 4 {
		return int64(r.IntN(5))
	}
	switch r.IntN(9) {
	case 0:
		return wire.Ref{ID: uint64(r.IntN(40)), List: r.IntN(2) == 0}
	case 1:
		return words[r.IntN(len(words))]
	case 2:
		return int64(r.IntN(1000) - 500)
	case 3:
		return r.Float64()
	case 4:
		return nil
	case 5, 6:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, mutate(r, depth+1))
		}
		return l
	}
	m := map[string]any{}
	for range r.IntN(4) {
		m[words[r.IntN(len(words))]] = mutate(r, depth+1)
	}
	return m
}

// FuzzChanges has a process say anything at all about what has changed. helm
// must say no, or come out with a payload that holds together.
func FuzzChanges(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i, []byte{})
	}
	b, _ := wire.Append(nil, []any{change(2, "a", ref(2))})
	f.Add(uint64(0), b)
	f.Fuzz(func(t *testing.T, seed uint64, said []byte) {
		var changes []any
		if v, err := wire.Parse(said); err == nil {
			changes, _ = v.([]any)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for range r.IntN(5) {
			c := map[string]any{"id": int64(r.IntN(40))}
			switch r.IntN(4) {
			case 0:
				c["list"] = []any{mutate(r, 0), mutate(r, 0), mutate(r, 0)}
			case 1:
				c["drop"] = []any{mutate(r, 4), "global"}
			default:
				c["set"] = map[string]any{fmt.Sprint(mutate(r, 4)): mutate(r, 0), "values": mutate(r, 0), "a": mutate(r, 0)}
			}
			changes = append(changes, c)
		}
		_, payload := world(t)
		e := &event.PreRender{Payload: payload}
		old := payload.Values
		was := values.Copy(old)
		_ = attack(t, e, changes)
		if !reflect.DeepEqual(old, was) {
			t.Error("values were changed in place")
		}
		if _, err := wire.Append(nil, holds(e.Values)); err != nil {
			t.Error(err)
		}
		for _, o := range e.Objects {
			if _, err := o.Map(); err != nil {
				t.Error(err)
			}
		}
	})
}

// holds is v in types that can be sent.
func holds(v any) any { return v }
