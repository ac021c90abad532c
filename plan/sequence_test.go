// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
)

// parseObjects parses lines "SOURCE NAME [GROUP [WAITS...]]"; "-" stands for no group.
func parseObjects(t testing.TB, text string) []*manifest.Object {
	t.Helper()
	var out []*manifest.Object
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		o := &manifest.Object{Source: words[0], Kind: "ConfigMap", Name: words[1], Annotations: map[string]string{}}
		if len(words) > 2 && words[2] != "-" {
			o.Annotations["helm.sh/resource-group"] = words[2]
		}
		if len(words) > 3 {
			o.Annotations["helm.sh/depends-on/resource-groups"] = strings.Join(words[3:], " ")
		}
		out = append(out, o)
	}
	return out
}

// parseTree returns a chart of lines "PATH [depends-on...]", with the root's name first and
// subcharts by their path in the tree ("app/cache").
func parseTree(t testing.TB, text string) *chart.Chart {
	t.Helper()
	charts := map[string]*chart.Chart{}
	var root *chart.Chart
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		path, parent := words[0], ""
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			path, parent = path[i+1:], path[:i]
		}
		name, unaliased, _ := strings.Cut(path, "=")
		c := &chart.Chart{Metadata: &chart.Metadata{Name: name}, Unaliased: unaliased}
		if root == nil {
			root = c
			charts[""] = c
			continue
		}
		charts[strings.TrimPrefix(parent+"/"+name, "/")] = c
		above := charts[parent]
		above.SetDependencies(append(above.Dependencies(), c)...)
		above.Metadata.Dependencies = append(above.Metadata.Dependencies, &chart.Dependency{Name: name, DependsOn: words[1:]})
	}
	return root
}

func TestSequence(t *testing.T) {
	for _, tc := range []struct {
		name     string
		chart    string
		root     map[string]string // annotations
		objects  string
		want     string // batches with " | " between them
		warnings string
	}{{
		name:    "no order",
		chart:   "web\ndb",
		objects: "web/templates/a.yaml a\nweb/charts/db/templates/b.yaml b",
	}, {
		name:  "groups, and objects without a group",
		chart: "web",
		objects: `web/templates/a.yaml rest
			web/templates/a.yaml app1 app db,cache
			web/templates/a.yaml db1 db
			web/templates/a.yaml cache1 cache ["db"]
			web/templates/a.yaml metrics1 metrics
			web/templates/a.yaml db2 db`,
		want: "db1 metrics1 db2 | cache1 | app1 | rest",
	}, {
		name:    "group waits for the groups of all its objects",
		chart:   "web",
		objects: "web/templates/a.yaml a g\nweb/templates/a.yaml b g first\nweb/templates/a.yaml c first",
		want:    "c | a b",
	}, {
		name:     "unknown group",
		chart:    "web",
		objects:  "web/templates/a.yaml a g nope\nweb/templates/a.yaml b - nada",
		want:     "a | b",
		warnings: "chart web: an object without a group waits for resource group nada, which no object of the chart has: not waiting for it; chart web: resource group g waits for resource group nope, which no object of the chart has: not waiting for it",
	}, {
		name:    "groups of two charts with one name",
		chart:   "web\ndb",
		objects: "web/templates/a.yaml a app data\nweb/templates/a.yaml b data\nweb/charts/db/templates/a.yaml c app\nweb/charts/db/templates/a.yaml d data app",
		want:    "b c | a d",
	}, {
		name:  "subcharts, and the parent's objects",
		chart: "web\ndb\nqueue\napp db queue\nother",
		objects: `web/templates/a.yaml web
			web/charts/app/templates/a.yaml app
			web/charts/db/templates/a.yaml db
			web/charts/other/templates/a.yaml other
			web/charts/queue/templates/a.yaml queue`,
		want: "db other queue | app | web",
	}, {
		name:  "subchart with groups and subcharts",
		chart: "web\ndb\ndb/store\ndb/init store\napp db",
		objects: `web/charts/app/templates/a.yaml app
			web/charts/db/templates/a.yaml last
			web/charts/db/templates/a.yaml first g
			web/charts/db/charts/store/templates/a.yaml store
			web/charts/db/charts/init/templates/a.yaml init`,
		want: "store | init | first | last | app",
	}, {
		name:    "subchart without objects",
		chart:   "web\nc\nb c\na b",
		objects: "web/charts/a/templates/x.yaml a\nweb/charts/c/templates/x.yaml c",
		want:    "c | a",
	}, {
		name:    "aliases and the original name",
		chart:   "web\ncache=redis\nstore=redis\napp redis\njob store",
		objects: "web/charts/app/templates/x.yaml app\nweb/charts/job/templates/x.yaml job\nweb/charts/cache/templates/x.yaml cache\nweb/charts/store/templates/x.yaml store",
		want:    "cache store | app job",
	}, {
		name:    "alias waits for another by the original name",
		chart:   "web\ncache=redis\nstore=redis redis",
		objects: "web/charts/store/templates/x.yaml store\nweb/charts/cache/templates/x.yaml cache",
		want:    "cache | store",
	}, {
		name:     "unknown subchart",
		chart:    "web\ndb\napp db nope",
		objects:  "web/charts/app/templates/x.yaml app\nweb/charts/db/templates/x.yaml db",
		want:     "db | app",
		warnings: "chart web: subchart app waits for subchart nope, which does not exist: not waiting for it",
	}, {
		name:    "annotation with a list",
		chart:   "web\ndb\napp",
		root:    map[string]string{"helm.sh/depends-on/subcharts": `["db"]`},
		objects: "web/templates/x.yaml web\nweb/charts/app/templates/x.yaml app\nweb/charts/db/templates/x.yaml db",
		want:    "app db | web",
	}, {
		name:    "annotation with a map",
		chart:   "web\ndb\napp",
		root:    map[string]string{"helm.sh/depends-on/subcharts": `{"app": ["db"]}`},
		objects: "web/templates/x.yaml web\nweb/charts/app/templates/x.yaml app\nweb/charts/db/templates/x.yaml db",
		want:    "db | app | web",
	}, {
		name:    "objects without a source",
		chart:   "web\ndb\napp db",
		objects: "x lost\nweb/charts/db/templates/x.yaml db",
		want:    "db | lost",
	}, {
		name:    "templates in directories named charts",
		chart:   "web",
		objects: "web/templates/charts/x.yaml a g\nweb/templates/y.yaml b",
		want:    "a | b",
	}, {
		name:    "one batch",
		chart:   "web",
		objects: "web/templates/x.yaml a g\nweb/templates/y.yaml b g",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			root := parseTree(t, tc.chart)
			root.Metadata.Annotations = tc.root
			batches, warnings, err := Sequence(root, parseObjects(t, tc.objects))
			if err != nil {
				t.Fatal(err)
			}
			if got := formatBatches(batches); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if got := strings.Join(warnings, "; "); got != tc.warnings {
				t.Errorf("warnings are %s\nwant %s", got, tc.warnings)
			}
			// An order from a record gives the same result.
			o, err := OrderOf(root)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			var stored *Order
			if err := json.Unmarshal(raw, &stored); err != nil {
				t.Fatal(err)
			}
			again, _, err := stored.Batches(parseObjects(t, tc.objects))
			if got := formatBatches(again); got != tc.want || err != nil {
				t.Errorf("from the record %s it is %s (%v)", raw, got, err)
			}
		})
	}
}

func formatBatches(batches [][]*manifest.Object) string {
	var out []string
	for _, b := range batches {
		var names []string
		for _, o := range b {
			names = append(names, o.Name)
		}
		out = append(out, strings.Join(names, " "))
	}
	return strings.Join(out, " | ")
}

func TestSequenceCycle(t *testing.T) {
	for _, tc := range []struct{ name, chart, objects, want string }{
		{"groups", "web", "web/templates/x.yaml a a b\nweb/templates/x.yaml b b c\nweb/templates/x.yaml c c a", "resource groups a -> b -> c -> a of chart web wait for each other: remove one depends-on"},
		{"a group itself", "web\ndb", "web/charts/db/templates/x.yaml a a a", "resource groups a -> a of chart db wait for each other: remove one depends-on"},
		{"subcharts", "web\nc\na b\nb a", "", "subcharts a -> b -> a of chart web wait for each other: remove one depends-on"},
		{"subcharts below", "web\nc\nc/a b\nc/b a", "", "subcharts a -> b -> a of chart c wait for each other: remove one depends-on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Sequence(parseTree(t, tc.chart), parseObjects(t, tc.objects))
			var cycle *CycleError
			if !errors.As(err, &cycle) || err.Error() != tc.want {
				t.Errorf("error is %v, want %s", err, tc.want)
			}
		})
	}
}

func TestSequenceInvalidAnnotation(t *testing.T) {
	o := parseObjects(t, "web/templates/x.yaml a g\nweb/templates/x.yaml b g")
	o[1].Annotations["helm.sh/depends-on/resource-groups"] = `["a", 1]`
	_, _, err := Sequence(nil, o)
	if err == nil || !strings.Contains(err.Error(), `ConfigMap/b (web/templates/x.yaml): annotation helm.sh/depends-on/resource-groups: must be a list of names, such as ["a", "b"]`) {
		t.Errorf("error is %v", err)
	}
	root := parseTree(t, "web")
	root.Metadata.Annotations = map[string]string{"helm.sh/depends-on/subcharts": `{"a": "b"}`}
	if _, err := OrderOf(root); err == nil || !strings.Contains(err.Error(), "chart web: annotation helm.sh/depends-on/subcharts: must be a map of lists of names") {
		t.Errorf("error is %v", err)
	}
}

// Records and manifests may be forged: any order is an error or gives batches, quickly and
// without deep recursion.
func TestBatchesForgedOrder(t *testing.T) {
	deep := strings.Repeat("a/", 5_000_000) + "a"
	for name, charts := range map[string]map[string]map[string][]string{
		"the chart itself as its subchart": {"": {"x": {""}}},
		"no name":                          {"": {"": {"x"}}},
		"names that are paths":             {"": {"x": {"a/b", "a/b/c"}}},
		"a path without a name":            {"a//b": {"x": {"y"}}},
		"a path without an end":            {deep: {"x": {"y"}}},
		"more names than there can be":     {"": {"x": make([]string, 1<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := (&Order{Charts: charts}).Batches(parseObjects(t, "web/templates/x.yaml x")); err == nil {
				t.Error("got no error")
			} else if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestBatchesLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	begun := time.Now()
	const many = 50_000
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("g%06d", i))
	}
	chain := make([]*manifest.Object, many) // each waits for the one before
	for i := range chain {
		chain[i] = &manifest.Object{Source: "web/templates/x.yaml", Kind: "ConfigMap", Name: names[i], Annotations: map[string]string{groupAnnotation: names[i]}}
		if i > 0 {
			chain[i].Annotations[groupsAnnotation] = names[i-1]
		}
	}
	for range many { // objects that wait for all groups
		chain = append(chain, &manifest.Object{Source: "web/templates/x.yaml", Kind: "ConfigMap", Name: "rest"})
	}
	if batches, _, err := Sequence(nil, chain); err != nil || len(batches) != many+1 {
		t.Errorf("%d batches (%v)", len(batches), err)
	}
	wide := &manifest.Object{Source: "web/templates/x.yaml", Kind: "ConfigMap", Name: "all", Annotations: map[string]string{groupsAnnotation: strings.Join(names, ",")}}
	if _, warnings, err := Sequence(nil, []*manifest.Object{wide}); err != nil || len(warnings) != many {
		t.Errorf("%d warnings (%v)", len(warnings), err)
	}
	far := &manifest.Object{Source: "web" + strings.Repeat("/charts/a", many) + "/templates/x.yaml", Kind: "ConfigMap", Name: "far", Annotations: map[string]string{groupAnnotation: "g"}}
	if _, _, err := Sequence(nil, []*manifest.Object{far, wide}); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestSequenceDisabledSubchart(t *testing.T) {
	root := parseTree(t, "web\napp db")
	root.Raw = []*chart.File{{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- name: app\n  depends-on: [db]\n- name: db\n  condition: db.enabled\n")}}
	o, err := OrderOf(root)
	if err != nil || len(o.Unknown) > 0 {
		t.Errorf("unknown are %v (%v)", o.Unknown, err)
	}
}
