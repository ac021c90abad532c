// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/scriptapi"
	"github.com/moonhelm/moonhelm/script/engine/modules"
)

// reference is docs/scripts-reference.md.
func reference(t *testing.T) (path, text string) {
	t.Helper()
	path = filepath.Join("..", "..", "docs", "scripts-reference.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, string(data)
}

// under returns the part of a text under a heading.
func under(t *testing.T, text, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("there is no heading %q", heading)
	}
	part, _, _ := strings.Cut(rest, "\n## ")
	return part
}

// rows returns the cells of a text's tables, without headers.
func rows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		cells, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if ok && strings.HasPrefix(cells, "`") {
			rows = append(rows, strings.Split(strings.TrimSuffix(cells, " |"), " | "))
		}
	}
	return rows
}

// TestReferenceEvents compares the table of events with their types.
func TestReferenceEvents(t *testing.T) {
	_, text := reference(t)
	var got []string
	for _, cells := range rows(under(t, text, "Events")) {
		got = append(got, cells[0]+": "+cells[3])
	}
	var want []string
	for _, e := range []event.Event{
		&event.ChartLoaded{}, &event.PreCreate{}, &event.PostCreate{}, &event.PreDependencyBuild{},
		&event.PostDependencyBuild{}, &event.PreRender{}, &event.PostRender{}, &event.PreInstall{},
		&event.PostInstall{}, &event.PreUpgrade{}, &event.PostUpgrade{}, &event.PreRollback{},
		&event.PostRollback{}, &event.PreDelete{}, &event.PostDelete{}, &event.PreLint{},
		&event.PostTemplate{}, &event.PreTest{}, &event.PostTest{}, &event.FailedTest{}, &event.PrePackage{},
	} {
		want = append(want, "`"+e.Name()+"`: "+parts(e.Mutable()))
	}
	for i, name := range event.Names() {
		if i >= len(want) || !strings.HasPrefix(want[i], "`"+name+"`") {
			t.Fatalf("unknown event %s: add it to this test", name)
		}
	}
	for name, of := range event.Aliases() {
		if want := "`" + name + "` is another name of `" + of + "`"; !strings.Contains(text, want) {
			t.Errorf("missing in the reference: %s", want)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table has\n%s\nthe events are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// parts describes the fields that handlers of an event may change.
func parts(may event.Fields) string {
	var out []string
	for _, p := range []struct {
		part event.Fields
		name string
	}{
		{event.Values, "values"}, {event.Templates, "templates"}, {event.Files, "files"}, {event.Objects, "objects"},
		{event.Dependencies, "dependencies"}, {event.Versions, "versions"},
	} {
		if may.Has(p.part) {
			out = append(out, p.name)
		}
	}
	if out == nil {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// TestReferenceFields compares the tables of fields and of scripts' own functions with package
// scriptapi. With -update it writes them.
func TestReferenceFields(t *testing.T) {
	path, text := reference(t)
	want := text
	for _, c := range scriptapi.Classes() {
		name := strings.TrimPrefix(strings.TrimPrefix(c.Path, "ctx"), ".")
		switch c.Path {
		case "", "ctx.lint": // described by the fields that hold them
			continue
		case "ctx":
			name = "context"
		}
		table := "| field | what it is |\n|---|---|\n"
		for _, f := range c.Fields {
			table += fmt.Sprintf("| `%s.%s` | %s |\n", c.Path, f.Name, f.Text)
		}
		want = fill(t, want, name, table)
	}
	table := "| function | what it does |\n|---|---|\n"
	for _, f := range scriptapi.Functions() {
		table += fmt.Sprintf("| `%s` | %s |\n", f.Signature, f.Text)
	}
	want = fill(t, want, "script functions", table)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != text {
		t.Error("the fields have changed: go test ./internal/cli -run TestReference -update")
	}
}

// TestReferenceContext compares contexts, as seen from a script, with the reference.
func TestReferenceContext(t *testing.T) {
	_, text := reference(t)
	documented := map[string]bool{}
	for _, cells := range rows(under(t, text, "The context")) {
		documented[strings.Trim(cells[0], "`")] = true
	}
	delete(documented, "ctx.results") // no tests of charts run here

	found := scriptSays(t, []string{"lint", "--strict"}, `
events.on("pre-lint", function(ctx)
  for k in pairs(ctx) do print("ctx." .. k) end
  for _, k in ipairs{"chart", "release", "capabilities"} do
    for field in pairs(ctx[k]) do print("ctx." .. k .. "." .. field) end
  end
  -- Other names, which pairs need not give.
  for name in ("`+strings.Join(sorted(documented), " ")+`"):gmatch("%S+") do
    local v = ctx
    for field in name:sub(5):gmatch("[^.]+") do v = v[field] end
    if v ~= nil then print(name) end
  end
end)`)
	compareNames(t, "the reference", sorted(documented), found)
}

// TestReferenceFunctions compares the functions of scripts with the reference. With -update it
// writes the two lists.
func TestReferenceFunctions(t *testing.T) {
	path, text := reference(t)
	found := scriptSays(t, []string{"template", "--yes"}, `
for name, v in pairs(_G) do
  if type(v) == "table" and name ~= "_G" then
    for k in pairs(v) do print(name .. "." .. k) end
  else
    print(name)
  end
end`)
	documented := map[string]bool{"_G": true}
	for _, cells := range rows(under(t, text, "Functions of a script")) {
		name := regexp.MustCompile(`[a-z.]+`).FindString(cells[0])
		documented[name] = true
		for _, other := range []string{"event", "subchart"} {
			if rest, ok := strings.CutPrefix(name, other+"s."); ok {
				documented[other+"."+rest] = true
			}
		}
	}
	var functions strings.Builder
	functions.WriteString("| function | permission | what it does |\n|---|---|---|\n")
	for _, f := range modules.Reference() {
		fmt.Fprintf(&functions, "| `%s` | %s | %s |\n", strings.ReplaceAll(f.Signature, "|", `\|`), f.Permission, f.Text)
		// Methods are not reachable from globals; sha256 is a table that can be called.
		if !strings.Contains(f.Name, ":") && f.Name != "sha256" {
			documented[f.Name] = true
		}
	}
	own := under(t, text, "Lua's own")
	for _, name := range regexp.MustCompile("`([a-zA-Z0-9_.]+)`").FindAllStringSubmatch(own, -1) {
		documented[name[1]] = true
	}
	if *update {
		lua := slices.DeleteFunc(slices.Clone(found), func(name string) bool {
			return documented[name] && !strings.Contains(own, "`"+name+"`")
		})
		text = fill(t, text, "functions", functions.String())
		text = fill(t, text, "lua", luaLists(lua))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compareNames(t, "the reference", sorted(documented), found)
	if fill(t, text, "functions", functions.String()) != text {
		t.Error("the functions have changed: go test ./internal/cli -run TestReference -update")
	}
}

// TestGuideReportsMissing checks that the functions that the guide declares missing are missing.
func TestGuideReportsMissing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "scripts.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range rows(under(t, string(text), "What is not there")) {
		for _, m := range regexp.MustCompile("`([a-z.]+)`").FindAllStringSubmatch(cells[0], -1) {
			name := m[1]
			if name == "require" { // the row describes other names
				continue
			}
			got := scriptSays(t, []string{"template"}, `
local v = _G
for field in ("`+name+`"):gmatch("[^.]+") do v = v and v[field] end
print(v)`)
			// Functions of permissions exist: all permissions are granted here.
			permitted := slices.ContainsFunc(modules.Reference(), func(f modules.Function) bool {
				return f.Permission != "" && (f.Name == name || strings.HasPrefix(f.Name, name+"."))
			})
			if missing := slices.Equal(got, []string{"nil"}); missing == permitted {
				t.Errorf("%s is %s", name, got)
			}
		}
	}
}

// luaLists lists Lua's own functions, one line per library.
func luaLists(names []string) string {
	var order []string
	lines := map[string][]string{}
	for _, name := range names {
		group, _, ok := strings.Cut(name, ".")
		if !ok {
			group = ""
		}
		if lines[group] == nil {
			order = append(order, group)
		}
		lines[group] = append(lines[group], "`"+name+"`")
	}
	slices.Sort(order)
	var b strings.Builder
	for _, group := range order {
		b.WriteString("- " + strings.Join(lines[group], ", ") + "\n")
	}
	return b.String()
}

// fill replaces the content between a pair of marker comments.
func fill(t *testing.T, text, name, content string) string {
	t.Helper()
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("no markers for %s", name)
	}
	return before + begin + "\n" + content + "\n" + end + after
}

func sorted(set map[string]bool) (names []string) {
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// compareNames reports names that page lacks, and names in page that do not exist.
func compareNames(t *testing.T, page string, documented, found []string) {
	t.Helper()
	for _, name := range found {
		if !slices.Contains(documented, name) {
			t.Errorf("%s lacks %q", page, name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(found, name) {
			t.Errorf("%s has %q, which does not exist", page, name)
		}
	}
}

// scriptSays runs a command on a chart with a script and all permissions, and returns the script's
// output lines, sorted and without duplicates.
func scriptSays(t *testing.T, args []string, script string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: https://example.com/x.svg\n",
		"templates/a.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"values.yaml":          "a: 1\n",
		"ext/permissions.yaml": "lua: [network, io, os]\n",
		"ext/lua/chart.lua":    script,
	} {
		block{file: name, lines: []string{text}}.write(t, dir)
	}
	var stderr strings.Builder
	cmd := exec.Command("helm", append(args, "--accept-perms", "network,io,os", dir)...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	found := map[string]bool{}
	for line := range strings.Lines(stderr.String()) {
		if name, ok := strings.CutPrefix(line, "[web] "); ok {
			found[strings.TrimSpace(name)] = true
		}
	}
	return sorted(found)
}
