// SPDX-License-Identifier: Apache-2.0

package merges

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/test/compat/mutated"
)

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDecidedMatch checks that the rules of Decided match the intended differences and no
// similar ones.
func TestDecidedMatch(t *testing.T) {
	for _, test := range []struct {
		name, kind                            string
		server                                bool
		old, live, new, ours, helm, reference string
		want                                  string // of the first difference
	}{
		{
			name: "ours is the server's", kind: "Deployment", ours: "{spec: {a: [1, 2]}}",
			helm: "{spec: {a: [1]}}", reference: "{spec: {a: [1, 2]}}",
			want: "as the server merges",
		},
		{name: "neither is the server's", kind: "Deployment", ours: "{spec: {a: 1}}", helm: "{spec: {a: 2}}",
			reference: "{spec: {a: 3}}"},
		{name: "Helm's is the server's", kind: "Deployment", ours: "{spec: {a: 1}}", helm: "{spec: {a: 2}}",
			reference: "{spec: {a: 2}}"},
		{
			name: "another order", kind: "Service", ours: "{ports: [{p: 2}, {p: 1}]}",
			helm: "{ports: [{p: 1}]}", reference: "{ports: [{p: 1}, {p: 2}]}",
			want: "as the server merges, in another order",
		},
		{name: "ours in another order than both", kind: "Service", ours: "{ports: [{p: 2}, {p: 1}]}",
			helm: "{ports: [{p: 1}, {p: 2}]}", reference: "{ports: [{p: 1}, {p: 2}]}"},
		{
			name: "a custom resource's drift", kind: "Widget", old: "{spec: {a: 1}}", new: "{spec: {a: 1}}",
			live: "{spec: {a: 2}}",
			ours: "{spec: {a: 1}}", helm: "{spec: {a: 2}}", reference: "{}", want: "custom resources are put right",
		},
		{
			name: "a list in a custom resource", kind: "Widget", old: "{spec: {l: [{p: 80}]}}", new: "{spec: {l: [{p: 80}]}}",
			live: "{spec: {l: [{n: x, p: 80}]}}", ours: "{spec: {l: [{p: 80}]}}", helm: "{spec: {l: [{n: x, p: 80}]}}",
			reference: "{}", want: "custom resources are put right",
		},
		{
			name: "a list in a custom resource that is not the chart's", kind: "Widget", old: "{spec: {l: [{p: 80}]}}",
			new: "{spec: {l: [{p: 80}]}}", live: "{spec: {l: [{n: x, p: 80}]}}", ours: "{spec: {l: []}}",
			helm: "{spec: {l: [{n: x, p: 80}]}}", reference: "{}",
		},
		{
			name: "a Deployment's drift", kind: "Deployment", old: "{spec: {a: 1}}", new: "{spec: {a: 1}}",
			live: "{spec: {a: 2}}",
			ours: "{spec: {a: 1}}", helm: "{spec: {a: 2}}", reference: "{}",
		},
		{
			name: "foreign labels", kind: "Pod", old: "{labels: {a: b}}", new: "{}", live: "{labels: {a: b, c: d}}",
			ours: "{labels: {c: d}}", helm: "{}", reference: "{labels: {}}",
			want: "what others have put into a list that the chart drops",
		},
		{
			name: "a label of the chart that stays", kind: "Pod", old: "{labels: {a: b}}", new: "{}",
			live: "{labels: {a: b, c: d}}",
			ours: "{labels: {a: b, c: d}}", helm: "{}", reference: "{labels: {}}",
		},
		{
			name: "a null on the server's side", kind: "Role", server: true, old: "{}", new: "{rules: null}",
			live: "{rules: [1]}",
			ours: "{rules: [1]}", helm: "{rules: null}", reference: "{}", want: "a null is not applied",
		},
		{
			name: "a null above", kind: "StatefulSet", server: true, old: "{s: {r: {p: 1}}}", new: "{s: null}",
			live: "{s: {r: {p: 1}, t: R}}",
			ours: "{s: {r: {p: 0}, t: R}}", helm: "{s: {t: R}}", reference: "{s: {t: R}}", want: "a null is not applied",
		},
		{
			name: "a null above, and what the chart had stays", kind: "StatefulSet", server: true,
			old: "{s: {r: {p: 1}}}", new: "{s: null}", live: "{s: {r: {p: 2}, t: R}}",
			ours: "{s: {r: {p: 1}, t: R}}", helm: "{s: {t: R}}", reference: "{s: {t: R}}",
		},
		{
			name: "a null on the client's side", kind: "Role", old: "{rules: [1]}", new: "{rules: null}", live: "{rules: [1]}",
			ours: "{rules: [1]}", helm: "{rules: null}", reference: "{}",
		},
		{
			name: "a port that Helm loses", kind: "Pod", old: "{ports: [{p: 53}, {p: 53}]}", new: "{ports: [{p: 53}]}",
			live: "{ports: [{p: 53}, {p: 53}]}", ours: "{ports: [{p: 53}]}", helm: "{}", reference: "{ports: []}",
			want: "keys of two parts",
		},
		{
			name: "a foreign port that Helm changes", kind: "Pod", old: "{ports: [{p: 53, q: UDP}]}",
			new: "{ports: [{p: 53, q: UDP}]}", live: "{ports: [{p: 53, q: TCP}]}", reference: "{ports: []}",
			ours: "{ports: [{p: 53, q: UDP}, {p: 53, q: TCP}]}", helm: "{ports: [{p: 53, q: UDP}]}", want: "keys of two parts",
		},
		{
			name: "a port that ours loses", kind: "Pod", old: "{ports: [{p: 53}, {p: 53}]}", new: "{ports: [{p: 53}]}",
			live: "{ports: [{p: 53}, {p: 53}]}", ours: "{}", helm: "{ports: [{p: 53}]}", reference: "{ports: []}",
		},
		{
			name: "an item that another client lists twice", kind: "ServiceAccount", old: "{s: [{n: b}, {n: a}]}",
			new: "{s: [{n: b}, {n: a}]}", live: "{s: [{n: b}, {n: a}, {n: b}]}", reference: "{s: [{n: b}, {n: a}]}",
			ours: "{s: [{n: b}, {n: a}, {n: b}]}", helm: "{s: [{n: b}, {n: b}, {n: a}]}", want: "items that are there twice",
		},
		{
			name: "what another client lists twice, after the chart's", kind: "ServiceAccount", old: "{}",
			new: "{s: [{n: a}, {n: b}]}", live: "{s: [{n: a}, {n: a}]}", reference: "{s: [{n: a}, {n: b}]}",
			ours: "{s: [{n: a}, {n: b}, {n: a}]}", helm: "{s: [{n: a}, {n: a}, {n: b}]}", want: "items that are there twice",
		},
		{
			name: "what another client lists twice, and ours loses", kind: "ServiceAccount", old: "{}",
			new: "{s: [{n: a}, {n: b}]}", live: "{s: [{n: a}, {n: a}]}", reference: "{}",
			ours: "{s: [{n: a}, {n: b}]}", helm: "{s: [{n: a}, {n: a}, {n: b}]}",
		},
		{
			name: "an item that the chart lists twice", kind: "ServiceAccount", old: "{s: [{n: a}]}",
			new: "{s: [{n: b}, {n: b}]}", live: "{s: [{n: a}]}", reference: "{}",
			ours: "{s: [{n: b}, {n: b}]}", helm: "{s: [{n: b}]}", want: "items that are there twice",
		},
		{
			name: "an item that the chart lists twice, once in ours", kind: "ServiceAccount", old: "{s: [{n: a}]}",
			new: "{s: [{n: b}, {n: b}]}", live: "{s: [{n: a}]}", reference: "{}",
			ours: "{s: [{n: b}]}", helm: "{s: [{n: b}, {n: b}]}",
		},
		{
			name: "a dropped key of stringData", kind: "Secret", old: "{stringData: {a: b}}", new: "{}",
			live: "{data: {a: Yg==, c: d}}",
			ours: "{data: {c: d}}", helm: "{data: {a: Yg==, c: d}}", reference: "{data: {a: Yg==, c: d}}", want: "stringData",
		},
		{
			name: "a dropped key of data", kind: "Secret", old: "{data: {a: Yg==}}", new: "{}",
			live: "{data: {a: Yg==, c: d}}",
			ours: "{data: {c: d}}", helm: "{data: {a: Yg==, c: d}}", reference: "{data: {a: Yg==, c: d}}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &result{
				Triple:   &Triple{Kind: &Kind{kind: test.kind}, Old: read(t, test.old), New: read(t, test.new)},
				outcomes: map[string]*Outcome{reference: {}},
				normal: map[string]map[string]any{
					"ours " + mode(test.server): read(t, test.ours), "helm " + mode(test.server): read(t, test.helm),
					reference: read(t, test.reference),
				},
			}
			for _, name := range []string{"ours client", "helm client", "ours server", "helm server"} {
				r.outcomes[name] = &Outcome{Live: read(t, test.live)}
			}
			diffs := mutated.Differences("", r.ours(test.server), r.helm(test.server))
			if len(diffs) == 0 {
				t.Fatal("there is no difference")
			}
			got := ""
			if by := r.decided(test.server, diffs[0]); by != nil {
				got = by.Name
			}
			if got != test.want {
				t.Errorf("the decision about %s is %q, want %q", diffs[0], got, test.want)
			}
		})
	}
}

// TestDecidedMatchErrors is the same for upgrades of which one fails.
func TestDecidedMatchErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		server bool
		d      mutated.Difference
		want   string
	}{
		{"two members", false, mutated.Difference{Path: "fails",
			Helm: "may not specify more than 1 handler type"}, "the other member of a union"},
		{"ours fails", false, mutated.Difference{Path: "fails", Ours: "may not specify more than 1 handler type"}, ""},
		{"two ports alike", false, mutated.Difference{Path: "fails", Helm: `ports[1]: Duplicate value: "x"`},
			"keys of two parts"},
		{"two ports alike, by the server", true, mutated.Difference{Path: "fails",
			Helm: `ports[1]: Duplicate value: "x"`}, ""},
		{"another error", false, mutated.Difference{Path: "fails", Helm: "field is immutable"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &result{Triple: &Triple{Kind: &Kind{}}, outcomes: map[string]*Outcome{reference: {Error: "x"}},
				normal: map[string]map[string]any{}}
			for _, name := range []string{"ours client", "helm client", "ours server", "helm server"} {
				r.outcomes[name] = &Outcome{}
			}
			got := ""
			if by := r.decided(test.server, test.d); by != nil {
				got = by.Name
			}
			if got != test.want {
				t.Errorf("the decision is %q, want %q", got, test.want)
			}
		})
	}
}
