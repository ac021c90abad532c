// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/script"
)

// A value that cannot be kept is blamed on the statement that assigned it: "-- here".
func TestBadValuesAreBlamedOnTheAssignment(t *testing.T) {
	const values = "a: 1\nlist: [1, 2]\nlist2: [{n: 1}]\nimage: {tag: x, args: [a]}\n"
	for name, tc := range map[string]struct{ code, want string }{
		"a function": {`ctx.values.f = print -- here
			ctx.values.g = 1`, "ctx.values.f is a function, which is not data"},
		"a function below": {`local v = ctx.values.image
			v.tag = print -- here
			v.name = "x"`, "ctx.values.image.tag is a function"},
		"NaN": {`local v = ctx.values
			v.b = 2
			v.a = 0/0 -- here
			v.c = 3`, "ctx.values.a is NaN, and data holds finite numbers only"},
		"infinity": {`ctx.values["a"] = 1/0 -- here`, "ctx.values.a is +Inf"},
		"a hole in a new list": {`local t = {1, nil, 3}
			ctx.values.ports = t -- here
			ctx.values.more = 1`, "ctx.values.ports is a list whose item 2 is missing"},
		"a hole by an item after it": {`local l = ctx.values.list
			l[3] = 3
			l[5] = 5 -- here
			l[6] = 6`, "ctx.values.list is a list whose item 4 is missing"},
		"a hole by taking away": {`ctx.values.list[1] = nil -- here
			ctx.values.b = 1`, "ctx.values.list is a list whose item 1 is missing"},
		"mixed keys": {`ctx.values.x = {1, 2, a = 1} -- here`, "numbered items and named keys"},
		"a key in a list": {`ctx.values.list.name = "x" -- here
			ctx.values.b = 1`, `ctx.values.list is a list, and has the key "name"`},
		"a cycle": {`local t = {}
			t.self = t
			ctx.values.t = t -- here`, "ctx.values.t.self is a table that holds itself"},
		"a cycle in values": {`ctx.values.image.up = ctx.values -- here
			ctx.values.b = 1`, "holds itself"},
		"later, in a new table": {`ctx.values.x = {}
			ctx.values.x.y = {}
			ctx.values.x.y.z = print -- here
			ctx.values.b = 1`, "ctx.values.x.y.z is a function"},
		"in what was put there before": {`local t = {inner = {}}
			ctx.values.t = t
			t.inner.f = print -- here
			t.done = true`, "ctx.values.t.inner.f is a function"},
		"two at once": {`local v = ctx.values
			v.a, v.b = 1, print -- here
			v.c = 1`, "ctx.values.b is a function"},
		"by table.insert": {`table.insert(ctx.values.list, print) -- here
			ctx.values.b = 1`, "ctx.values.list[3] is a function"},
		"by rawset": {`rawset(ctx.values, "f", print) -- here
			ctx.values.b = 1`, "ctx.values.f is a function"},
		"all values": {`ctx.values = {a = print} -- here
			print("x")`, "ctx.values.a is a function"},
		"a map of a list": {`ctx.values.list2[1].n = print -- here`, "ctx.values.list2[1].n is a function"},
		"a userdata": {`ctx.values.b = 1
			ctx.values.io = {out = io and io.stdout or print} -- here`, "ctx.values.io.out is a"},
		"in a function": {`local function set(t, k, v)
				t[k] = v -- here
			end
			set(ctx.values, "f", print)
			ctx.values.b = 1`, "ctx.values.f is a function"},
		"in a loop": {`for _, k in ipairs{"p", "q"} do
				ctx.values[k] = k == "q" and print or 1 -- here
			end
			ctx.values.b = 1`, "ctx.values.q is a function"},
		"an object without kind": {`table.insert(ctx.objects, {apiVersion = "v1", metadata = {name = "x"}}) -- here
			ctx.values.b = 1`, "objects[3]: an object needs kind, as text"},
		"an object whose kind is gone": {`ctx.objects[1].kind = nil -- here
			ctx.values.b = 1`, "objects[1]: an object needs kind, as text"},
		"a new list of objects": {`ctx.objects = {{kind = "ConfigMap"}} -- here
			ctx.values.b = 1`, "objects[1]: an object needs apiVersion, as text"},
		"a text as an object": {`ctx.objects[#ctx.objects + 1] = "kind: X" -- here
			ctx.values.b = 1`, "objects[3]: must be a map"},
		"a template with a wrong name": {`table.insert(ctx.templates, {name = "x.yaml", data = ""})
			ctx.templates[1] = {name = "/x.yaml", data = ""} -- here
			ctx.values.b = 1`, `the name "/x.yaml"`},
		"a file of a wrong field": {`table.insert(ctx.files, {name = "x", content = ""}) -- here
			ctx.values.b = 1`, "files[1]: must be a map with name and data"},
		"a table that lists became": {`ctx.values.b = 1
			ctx.objects = {a = 1} -- here`, "ctx.objects is a list, and cannot become a map"},
	} {
		t.Run(name, func(t *testing.T) {
			code := "local x = 1\n\nevents.on('pre-render', function(ctx)\n" + tc.code + "\nend)\n"
			want := 0
			for i, line := range strings.Split(code, "\n") {
				if strings.HasSuffix(line, "-- here") {
					want = i + 1
				}
			}
			c := lchart("web", code)
			err := emit(t, &event.PreRender{Payload: event.Payload{Chart: c, Values: vals(t, values),
				Objects: objects(t, someObjects)}})
			wrong, ok := errors.AsType[*script.Error](err)
			if !ok {
				t.Fatalf("got %v, want an error of the script", err)
			}
			if got := fmt.Sprintf("%s:%d", wrong.File, wrong.Line); got != fmt.Sprintf("ext/lua/chart.lua:%d", want) {
				t.Errorf("got %s, want line %d: %s", got, want, wrong.Message)
			}
			if !strings.Contains(wrong.Message, tc.want) {
				t.Errorf("got %q, want %q", wrong.Message, tc.want)
			}
			if !strings.Contains(wrong.Source, "-- here") {
				t.Errorf("got the line %q", wrong.Source)
			}
		})
	}
}
