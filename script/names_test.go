// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
)

// The document's example writes an object's name next to its kind, and a template's without
// its directory.
func TestNamesAsInTheDocumentsExample(t *testing.T) {
	c := lchart("web", `events.on("pre-render", function(ctx)
	table.insert(ctx.templates, {name = "pod.yaml", data = "kind: Pod"})
	table.insert(ctx.objects, {apiVersion = "v1", kind = "Pod", name = "my-alpine"})
	local a = ctx.objects[1]
	assert(a.name == "a" and a.data.z == "1" and a.spec == nil)
	a.name = "renamed"
	assert(a.metadata.name == "renamed" and a.name == "renamed")
	ctx.objects[2].labels = helm.map{}
end)
events.on("post-install", function(ctx)
	assert(ctx.objects[1].name == "renamed" and ctx.objects[1].spec == nil)
end)`)
	e := &event.PreRender{Payload: event.Payload{Chart: c, Objects: objects(t, someObjects)}}
	mustEmit(t, e)
	if got := c.Templates[len(c.Templates)-1].Name; got != "templates/pod.yaml" {
		t.Errorf("got the template %q, want templates/pod.yaml", got)
	}
	var names []string
	for _, o := range e.Objects {
		names = append(names, o.Kind+"/"+o.Name)
		if strings.Contains(o.Raw, "\nname:") {
			t.Errorf("%s has a name next to its kind:\n%s", o, o.Raw)
		}
	}
	if got, want := strings.Join(names, " "), "ConfigMap/renamed ConfigMap/b Pod/my-alpine"; got != want {
		t.Errorf("got the objects %s, want %s", got, want)
	}
	if !strings.Contains(e.Objects[0].Raw, "# its name") {
		t.Errorf("the comments are gone:\n%s", e.Objects[0].Raw)
	}
	mustEmit(t, &event.PostInstall{Payload: event.Payload{Chart: c, Objects: e.Objects}})
}

// An object that has a field of that name keeps it.
func TestAFieldNameOfAnObjectIsItsOwn(t *testing.T) {
	c := lchart("web", `events.on("post-render", function(ctx)
	local o = ctx.objects[1]
	assert(o.name == "own")
	o.name = "changed"
	table.insert(ctx.objects, {apiVersion = "x/v1", kind = "X", name = "top", metadata = {name = "below"}})
end)`)
	e := &event.PostRender{Payload: event.Payload{Chart: c,
		Objects: objects(t, "apiVersion: x/v1\nkind: X\nname: own\nmetadata: {name: a}\n")}}
	mustEmit(t, e)
	for i, want := range []struct{ top, below string }{{"changed", "a"}, {"top", "below"}} {
		m, err := e.Objects[i].Map()
		if err != nil {
			t.Fatal(err)
		}
		if m["name"] != want.top || e.Objects[i].Name != want.below {
			t.Errorf("object %d: got the names %v and %s, want %v", i, m["name"], e.Objects[i].Name, want)
		}
	}
}

func TestUnknownFieldsOfElements(t *testing.T) {
	for code, want := range map[string]string{
		`print(ctx.files[1].content)`:                    `ctx.files[1] has no field "content"; it has data, name`,
		`for _, f in ipairs(ctx.files) do f.nme = 1 end`: `ctx.files[1] has no field "nme"; did you mean ctx.files[1].name?`,
		`print(ctx.templates[1].Data)`:                   `ctx.templates[1] has no field "Data"; did you mean ctx.templates[1].data?`,
		`print(ctx.dependencies[1].repo)`:                `ctx.dependencies[1] has no field "repo"; it has alias`,
	} {
		c := newChart("web", map[string]string{chart.FileScript: "events.on('chart-loaded', function(ctx)\n" + code + "\nend)",
			"app.conf": "x"})
		c.Templates = []*chart.File{{Name: "templates/a.yaml"}}
		c.Metadata.Dependencies = []*chart.Dependency{{Name: "db", Version: "1"}}
		err := emit(t, &event.ChartLoaded{Payload: event.Payload{Chart: c}})
		if err == nil || !strings.Contains(err.Error(), "chart.lua:2: "+want) {
			t.Errorf("%s\n  says %v\n  not  %s", code, err, want)
		}
	}
}
