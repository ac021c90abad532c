// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/values"
)

// The items of the user's lists have other places than those of the final lists.
func TestWriteOriginsOfLayer(t *testing.T) {
	text := []byte("env:\n- {name: a, value: 1}\n- {name: b, value: 2}\nhosts: [x]\n")
	defaults, err := values.Parse("values.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Values: defaults,
		Raw: []*chart.File{{Name: chart.FileValues, Data: text}}, Schema: []byte(`{"properties": {
		"env": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
		"hosts": {"x-kubernetes-list-type": "set"}}}`)}
	read := func(string) ([]byte, error) {
		return []byte("env:\n- name: c\n  value: 3\n- {name: b, value: 4}\nhosts:\n- z\n"), nil
	}
	options := values.Options{Files: []string{"f.yaml"}, Lists: values.ListsOf(c)}
	user, err := options.Build(read)
	if err != nil {
		t.Fatal(err)
	}
	origins, err := values.Explain(c, options, read)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteOrigins(&b, user, origins); err != nil {
		t.Fatal(err)
	}
	want := `env:
  - name: c # f.yaml:2
    value: 3 # f.yaml:3
  - name: b # web/values.yaml:3
    value: 4 # f.yaml:4, over web/values.yaml:3
hosts:
  - z # f.yaml:6
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	got := fmt.Sprint(OriginValues(user, origins)[0])
	if want := "{[env [name=c] name] c [f.yaml:2]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
