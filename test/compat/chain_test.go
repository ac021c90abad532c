// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// tool is one of the three binaries with a namespace.
type tool struct {
	name, bin, home string
	flags           []string
	space
}

// tools returns our binary and both of Helm's by name.
func tools(t *testing.T, s space) map[string]tool {
	t.Helper()
	home := t.TempDir()
	out := map[string]tool{}
	for name, bin := range map[string]string{"ours": ours(t), "helm4": peer(t, helm4), "helm3": peer(t, helm3)} {
		out[name] = tool{name: name, bin: bin, home: home, space: s}
	}
	return out
}

func (h tool) run(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, h.bin, h.home, append(append(args, "--namespace", h.space.name), h.flags...)...)
}

func (h tool) must(t *testing.T, args ...string) string {
	t.Helper()
	r := h.run(t, args...)
	if r.err != nil {
		t.Fatalf("%s %s: %v\n%s%s", h.name, strings.Join(args, " "), r.err, r.stdout, r.stderr)
	}
	return r.stdout
}

// fails runs a command that must fail and returns its error output.
func (h tool) fails(t *testing.T, args ...string) string {
	t.Helper()
	r := h.run(t, args...)
	if r.err == nil {
		t.Fatalf("%s %s goes well:\n%s%s", h.name, strings.Join(args, " "), r.stdout, r.stderr)
	}
	return r.stderr
}

// webChart writes a chart with objects of several kinds. The value "old" adds an object, fields
// and a list item, and removes another object. "port" may be set to a value that the API server
// rejects, and "policy" to one that is immutable.
func webChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"4.5\"\ndescription: to pass around\n",
		"values.yaml": "colour: red\nold: true\nreplicas: 1\nport: 80\nnested: {a: 1, b: 2}\nready: true\n",
		"templates/a.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {colour: {{ .Values.colour }}{{ if .Values.old }}, old: "yes"{{ end }}}
data:
  colour: {{ .Values.colour }}
  {{- if .Values.old }}
  old: "yes"
  {{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ ternary "b" "c" .Values.old }}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData:
  colour: {{ .Values.colour }}
  {{- if .Values.old }}
  old: "yes"
  {{- end }}
`,
		"templates/w.yaml": `apiVersion: v1
kind: Service
metadata: {name: w}
spec: {selector: {app: w}, ports: [{name: http, port: {{ .Values.port }}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: w}}
  template:
    metadata:
      labels: {app: w}
      annotations: {colour: {{ .Values.colour }}, moonhelm.test/never-ready: "{{ not .Values.ready }}"}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: w
          image: nowhere/image:{{ .Values.colour }}
          env:
            - {name: COLOUR, value: {{ .Values.colour }}}
            {{- if .Values.old }}
            - {name: OLD, value: "yes"}
            {{- end }}
`,
		"templates/hook.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: hook
  annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-rollback", helm.sh/hook-weight: "-3"}
data: {colour: {{ .Values.colour }}}
---
apiVersion: v1
kind: Pod
metadata:
  name: probe
  annotations: {helm.sh/hook: test, moonhelm.test/logs: all is well}
spec: {restartPolicy: Never, containers: [{name: p, image: nowhere/image}]}
`,
		"templates/NOTES.txt": "It is {{ .Values.colour }}.\n",
	})
	return dir
}

// bigChart is webChart with a file that makes its records too large for one Secret.
func bigChart(t *testing.T) string {
	t.Helper()
	dir := webChart(t)
	noise := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{1})
	for i := range noise {
		noise[i] = byte('a' + random.Uint64()%26) // hardly compressible
	}
	if err := os.WriteFile(filepath.Join(dir, "noise.txt"), append(noise, noise[:1<<19]...), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReleasesAlternating runs each step of a release's life with another binary, in every order,
// and compares the output of all three after each step.
func TestReleasesAlternating(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	for _, order := range [][3]string{
		{"ours", "helm4", "helm3"}, {"ours", "helm3", "helm4"}, {"helm4", "ours", "helm3"},
		{"helm3", "ours", "helm4"}, {"helm4", "helm3", "ours"}, {"helm3", "helm4", "ours"},
	} {
		t.Run(strings.Join(order[:], " "), func(t *testing.T) {
			t.Parallel()
			s := c.namespace(t)
			all := tools(t, s)
			a, b, c := all[order[0]], all[order[1]], all[order[2]]

			a.must(t, "install", "web", chart, "--labels", "team=x", "--description", "the first")
			agree(t, all, "1 deployed")
			look(t, s, a, "red", true)
			b.must(t, "upgrade", "web", chart, "--set", "colour=blue,old=false,nested.a=7", "--labels", "owned=yes")
			agree(t, all, "1 superseded", "2 deployed")
			look(t, s, b, "blue", false)
			c.must(t, "rollback", "web")
			agree(t, all, "1 superseded", "2 superseded", "3 deployed")
			look(t, s, c, "red", true)
			wantIn(t, "history", all["ours"].must(t, "history", "web"), "the first", "Upgrade complete", "Rollback to 1")

			c.must(t, "test", "web")
			agree(t, all, "1 superseded", "2 superseded", "3 deployed")
			for name, h := range all {
				wantIn(t, name+"'s status", h.must(t, "status", "web"), "TEST SUITE:     probe", "Phase:          Succeeded")
				if got := lastRuns(t, h); got["hook"] != "Succeeded" || got["probe"] != "Succeeded" {
					t.Errorf("%s tells of the hooks' last runs: %v", name, got)
				}
			}

			b.must(t, "upgrade", "web", chart, "--set", "colour=blue,old=false")
			a.must(t, "rollback", "web", "1")
			look(t, s, a, "red", true)
			agree(t, all, "1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 deployed")

			c.must(t, "uninstall", "web", "--keep-history", "--wait")
			agree(t, all, "1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 uninstalled")
			if s.object(t, "ConfigMap", "a") != nil {
				t.Error("after uninstall, ConfigMap a is there")
			}
			b.must(t, "rollback", "web", "2")
			look(t, s, b, "blue", false)
			agree(t, all, "1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 uninstalled", "6 deployed")
			a.must(t, "uninstall", "web")
			agree(t, all)
		})
	}
}

// agree requires that the records exist and that all binaries print the same about them.
func agree(t *testing.T, all map[string]tool, records ...string) {
	t.Helper()
	h := all["ours"]
	if got := h.records(t, "web"); !slices.Equal(got, records) {
		t.Errorf("the records are %q, want %q", got, records)
	}
	commands := [][]string{{"list", "-o", "json"}}
	if len(records) > 0 {
		// Values, manifest, hooks and notes are in the last: each start of Helm takes a quarter of a second.
		commands = append(commands, []string{"history", "web", "-o", "json"}, []string{"history", "web", "--max", "2"}, []string{"get", "all", "web"})
	}
	for _, args := range commands {
		want := strings.TrimSpace(all["helm4"].must(t, args...))
		for _, other := range []string{"ours", "helm3"} {
			if other == "helm3" && args[0] == "list" {
				continue // it lists fewer statuses
			}
			got := strings.TrimSpace(all[other].must(t, args...))
			want := want
			if other == "helm3" {
				got, want = unknownToHelm3.ReplaceAllString(got, ""), unknownToHelm3.ReplaceAllString(want, "")
			}
			if got != want {
				t.Errorf("%s: %s prints\n%s\nand helm4\n%s", strings.Join(args, " "), other, indent(got), indent(want))
			}
		}
	}
}

// lastRuns returns the phases of the last runs of hooks, as a binary prints them.
func lastRuns(t *testing.T, h tool) map[string]string {
	t.Helper()
	var record struct {
		Hooks []struct {
			Name    string
			LastRun struct {
				Phase   string
				Started string `json:"started_at"`
				Ended   string `json:"completed_at"`
			} `json:"last_run"`
		}
	}
	decode(t, h.must(t, "status", "web", "-o", "json"), &record)
	out := map[string]string{}
	for _, k := range record.Hooks {
		if k.LastRun.Started != "" && k.LastRun.Ended != "" {
			out[k.Name] = k.LastRun.Phase
		}
	}
	return out
}

// unknownToHelm3 is what Helm 4 prints and Helm 3 does not.
var unknownToHelm3 = regexp.MustCompile(`,"rollback_revision":\d+|(?m:^DESCRIPTION: .*\n)`)

// look requires the objects of the chart with a colour. tool is the binary that made the last
// change: Helm does not remove keys of a Secret that were in stringData.
func look(t *testing.T, s space, by tool, colour string, old bool) {
	t.Helper()
	a, w := s.object(t, "ConfigMap", "a"), s.object(t, "Deployment", "w")
	if got := at(a, "data", "colour"); got != colour {
		t.Errorf("ConfigMap a has the colour %v, want %s", got, colour)
	}
	pod := at(w, "spec", "template", "spec", "containers", 0)
	if got := at(pod, "image"); got != "nowhere/image:"+colour {
		t.Errorf("Deployment w has the image %v, want %s", got, colour)
	}
	if there := at(s.object(t, "Secret", "s"), "data", "old") != nil; there != old && by.name == "ours" {
		t.Errorf("the key old of Secret s: %t, want %t", there, old)
	}
	for what, there := range map[string]bool{
		"ConfigMap b":                s.object(t, "ConfigMap", "b") != nil,
		"the key old of ConfigMap a": at(a, "data", "old") != nil,
		"the label of ConfigMap a":   at(a, "metadata", "labels", "old") != nil,
		"the variable OLD":           at(pod, "env", 1) != nil,
		"no ConfigMap c":             s.object(t, "ConfigMap", "c") == nil,
	} {
		if there != old {
			t.Errorf("%s: %t, want %t", what, there, old)
		}
	}
}
