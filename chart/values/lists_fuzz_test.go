// SPDX-License-Identifier: Apache-2.0

package values

import (
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// FuzzLists merges and finishes values of any form by schemas of any form: both may be hostile.
func FuzzLists(f *testing.F) {
	f.Add(listSchema, "ports: [{name: a, $patch: delete}, 1, null, [], {}]", "ports: [{name: {}}, {$patch: replace}]", "ports[name=a].x=1")
	f.Add(`{"$ref": "#"}`, "a: 1", "", "a[x=1]=null")
	f.Add(`{"additionalProperties": {"$ref": "#", "x-kubernetes-list-type": "set"}}`, "a: [{value: 1, $patch: delete}]", "a: [[1]]", "a[0]=1")
	f.Fuzz(func(t *testing.T, schema, below, above, set string) {
		base, err := Parse("base", []byte(below))
		if err != nil {
			t.Skip("the chart's values are not YAML")
		}
		c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"}, Values: base, SchemaYAML: []byte(schema)}
		o := Options{Files: []string{"over"}, Set: []string{set}, Lists: ListsOf(c)}
		read := func(string) ([]byte, error) { return []byte(above), nil }
		user, err := o.Build(read)
		if err != nil {
			t.Skip("the user's values are not valid")
		}
		before := dump(user) + dump(base)
		res, err := Resolve(c, user)
		if dump(user)+dump(base) != before {
			t.Fatal("the inputs were changed")
		}
		origins, explained := Explain(c, o, read)
		if (err == nil) != (explained == nil) {
			t.Fatalf("Resolve: %v, Explain: %v", err, explained)
		}
		if err == nil && encodeItem(origins.root) != encodeItem(res.Values) {
			t.Fatalf("Explain has other values than Resolve:\n%s\n%s", encodeItem(origins.root), encodeItem(res.Values))
		}
		if err == nil {
			ReadLists(res.Lists.Record(res.Values, user))
		}
	})
}
