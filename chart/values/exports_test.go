// SPDX-License-Identifier: Apache-2.0

package values

import (
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
)

// TestExportValues has the example of HIP-0016, and more.
func TestExportValues(t *testing.T) {
	client := func() *chart.Chart { return originChart(t, "client", "serverPort: 9090\nlimits: {cpu: 1}\n", nil) }
	server := func() *chart.Chart {
		return originChart(t, "server", "exposePort: 80\ndebug: false\nexports: {api: {host: server}}\n", nil)
	}
	pair := func(parent, child string) any { return map[string]any{"parent": parent, "child": child} }
	tree := func(values string) *chart.Chart {
		return originChart(t, "web", "port: 8080\nexports:\n  server-config:\n    debug: true\n"+values, []*chart.Dependency{
			{Name: "client", Alias: "cli", Version: "1.0.0", ExportValues: []any{pair("port", "serverPort"), pair("host", "api.host"),
				pair("port", "serverPort"), pair("missing", "x")}},
			{Name: "server", Version: "1.0.0", Condition: "server.enabled", ExportValues: []any{pair("port", "exposePort"), "server-config"},
				ImportValues: []any{"api"}},
		}, client(), server())
	}
	for _, test := range []struct{ name, values, user, path, want string }{
		{"the parent's default", "", "", "cli.serverPort", "8080"},
		{"the exports form", "", "", "server.debug", "true"},
		{"the user's value of the parent", "", "port: 1", "server.exposePort", "1"},
		{"the user's value of the subchart", "", "{port: 1, cli: {serverPort: 2}}", "cli.serverPort", "2"},
		{"and of another", "", "{port: 1, cli: {serverPort: 2}}", "server.exposePort", "1"},
		{"over the parent's default for the subchart", "cli: {serverPort: 7}\n", "", "cli.serverPort", "8080"},
		{"an imported value", "", "", "cli.api.host", `"server"`},
		{"what is not exported", "", "", "cli.limits.cpu", "1"},
		{"null in the parent", "", "port: null", "cli.serverPort", "9090"},
		{"null for the subchart", "", "cli: {serverPort: null}", "cli", `{"api":{"host":"server"},"global":{},"limits":{"cpu":1}}`},
		{"a subchart that is off", "", "server: {enabled: false}", "server", `{"enabled":false}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := tree(test.values)
			user, err := Parse("user", []byte(test.user+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			before := dumpTree(c) + dump(user)
			res, err := Resolve(c, user)
			if err != nil {
				t.Fatal(err)
			}
			if dumpTree(c)+dump(user) != before {
				t.Error("the inputs were changed")
			}
			got, _ := Path(res.Values, test.path)
			if encodeItem(got) != test.want {
				t.Errorf("got %s, want %s", encodeItem(got), test.want)
			}
			if text := strings.Join(res.Warnings, "\n"); !strings.Contains(text, `nothing exported from web to its subchart cli: values have no "missing"`) {
				t.Errorf("got the warnings %q", res.Warnings)
			}
		})
	}
	origins, err := Explain(tree(""), Options{Set: []string{"port=1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--set port=1 (port)", "web/values.yaml:1 (port)", "web/charts/client/values.yaml:1"}
	if got := texts(origins.Of("cli", "serverPort")); !slices.Equal(got, want) {
		t.Errorf("got the origins %q, want %q", got, want)
	}
	bad := tree("")
	bad.Metadata.Dependencies[0].ExportValues = []any{pair(".", "x")}
	if _, err := Resolve(bad, nil); err == nil || !strings.Contains(err.Error(), "export-values of web for cli") {
		t.Errorf("got %v, want an error for export-values", err)
	}
}
