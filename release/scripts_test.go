// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/release"
)

func scripted(name, script string, below ...*chart.Chart) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name, Version: "1.0.0"}, Files: []*chart.File{{Name: "README.md", Data: []byte("read")}}}
	if script != "" {
		c.Files = append(c.Files, &chart.File{Name: chart.FileScript, Data: []byte(script)})
	}
	c.SetDependencies(below...)
	return c
}

func TestSetScriptsIncludesSubcharts(t *testing.T) {
	web := scripted("web", "-- web", scripted("plain", ""), scripted("db", "", scripted("metrics", "-- metrics")))
	r := release.New("web", "default", 1, web)
	if err := r.SetScripts(web); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back release.Release
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	tree, err := back.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	tree.Walk(func(c *chart.Chart) {
		for _, f := range c.Files {
			got = append(got, c.FullPath()+"/"+f.Name+" "+string(f.Data))
		}
	})
	want := "web/ext/lua/chart.lua -- web; web/charts/db/charts/metrics/ext/lua/chart.lua -- metrics"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	// A script may refer to a chart without scripts: subcharts.get("plain").
	if names := tree.Dependencies(); len(names) != 2 || names[0].Name() != "plain" || names[0].Version() != "1.0.0" || names[1].Name() != "db" {
		t.Errorf("the charts below are %v", names)
	}
	if again, err := json.Marshal(&back); err != nil || string(again) != string(text) {
		t.Errorf("the record changed: %v\n%s\n%s", err, text, again)
	}
}

// Helm drops unknown keys; then only the chart's own files remain.
func TestScriptsAfterHelmRewrite(t *testing.T) {
	text, err := json.Marshal(release.New("web", "default", 1, scripted("web", "-- web")))
	if err != nil {
		t.Fatal(err)
	}
	var back release.Release
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	tree, err := back.Scripts()
	if err != nil || tree == nil || len(tree.Files) != 1 || string(tree.Files[0].Data) != "-- web" {
		t.Fatalf("%v, %v", tree, err)
	}
}

func TestScriptsNone(t *testing.T) {
	c := scripted("web", "", scripted("db", ""))
	r := release.New("web", "default", 1, c)
	if err := r.SetScripts(c); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(r)
	if strings.Contains(string(text), "scripts") {
		t.Errorf("%s", text)
	}
	if tree, err := r.Scripts(); tree != nil || err != nil {
		t.Error(tree, err)
	}
}

func TestScriptsRejectsForged(t *testing.T) {
	for _, scripts := range []string{
		`7`, `{}`, `{"metadata":null}`,
		strings.Repeat(`{"metadata":{"name":"a"},"charts":[`, 200) + strings.Repeat(`]}`, 200),
	} {
		var r release.Release
		if err := json.Unmarshal([]byte(`{"name":"web","scripts":`+scripts+`}`), &r); err != nil {
			continue
		}
		if _, err := r.Scripts(); err == nil {
			t.Errorf("took %.60s", scripts)
		}
	}
}
