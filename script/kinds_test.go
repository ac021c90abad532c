// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"reflect"
	"testing"

	"github.com/moonhelm/moonhelm/event"
)

// {} is a list where a list stood, and a map where a map did.
func TestEmptyTablesAreWhatStoodThere(t *testing.T) {
	const values = `
list: [1, 2]
map: {a: 1}
none: null
deep: {list: [{args: [a]}], map: {x: 1}}
`
	for name, tc := range map[string]struct{ code, want string }{
		"a list":                   {`ctx.values.list = {}`, "list: []\nmap: {a: 1}\nnone: null\ndeep: {list: [{args: [a]}], map: {x: 1}}"},
		"a map":                    {`ctx.values.map = {}`, "list: [1, 2]\nmap: {}\nnone: null\ndeep: {list: [{args: [a]}], map: {x: 1}}"},
		"a map that helm.map says": {`ctx.values.list = helm.map{}`, "list: {}\nmap: {a: 1}\nnone: null\ndeep: {list: [{args: [a]}], map: {x: 1}}"},
		"a list that helm.list says": {`ctx.values.map = helm.list{}`,
			"list: [1, 2]\nmap: []\nnone: null\ndeep: {list: [{args: [a]}], map: {x: 1}}"},
		"null":       {`ctx.values.none = {}`, "list: [1, 2]\nmap: {a: 1}\nnone: {}\ndeep: {list: [{args: [a]}], map: {x: 1}}"},
		"below":      {`ctx.values.deep.list[1].args = {}`, "list: [1, 2]\nmap: {a: 1}\nnone: null\ndeep: {list: [{args: []}], map: {x: 1}}"},
		"a new tree": {`ctx.values.deep = {list = {}, map = {}, other = {}}`, "list: [1, 2]\nmap: {a: 1}\nnone: null\ndeep: {list: [], map: {}, other: {}}"},
		"all values": {`ctx.values = {list = {}, map = {}}`, "list: []\nmap: {}"},
		"filtered": {`local out = {}
			for _, n in ipairs(ctx.values.list) do if n > 5 then out[#out + 1] = n end end
			ctx.values.list = out`, "list: []\nmap: {a: 1}\nnone: null\ndeep: {list: [{args: [a]}], map: {x: 1}}"},
	} {
		t.Run(name, func(t *testing.T) {
			c := lchart("web", "events.on('pre-render', function(ctx)\n"+tc.code+"\nend)\n")
			e := &event.PreRender{Payload: event.Payload{Chart: c, Values: vals(t, values)}}
			mustEmit(t, e)
			if want := vals(t, tc.want); !reflect.DeepEqual(e.Values, want) {
				t.Errorf("got %v, want %v", e.Values, want)
			}
		})
	}
}

// So it is in objects.
func TestEmptyTablesInObjects(t *testing.T) {
	c := lchart("web", `events.on("post-render", function(ctx) ctx.objects[2].list = {} ctx.objects[2].data = {} end)`)
	e := &event.PostRender{Payload: event.Payload{Chart: c, Objects: objects(t, `---
# Source: web/templates/a.yaml
apiVersion: v1
kind: A
metadata: {name: a}
---
# Source: web/templates/b.yaml
apiVersion: v1
kind: B
metadata: {name: b}
list: [1]
data: {a: 1}
`)}}
	mustEmit(t, e)
	got, err := e.Objects[1].Map()
	if err != nil {
		t.Fatal(err)
	}
	if l, ok := got["list"].([]any); !ok || len(l) > 0 {
		t.Errorf("list: got %#v, want []", got["list"])
	}
	if m, ok := got["data"].(map[string]any); !ok || len(m) > 0 {
		t.Errorf("data: got %#v, want {}", got["data"])
	}
}
