// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// movedCase is a release whose chart moves its objects: a ConfigMap keeps its name, a Deployment is
// recreated, a Service is deleted before the one with its port is created, an object of a subchart
// belongs to another, and a definition moves from templates/ to crds/, which the chart upgrades.
type movedCase struct {
	*helm
	before, after string // the charts
	crd           string // name of the definition
	kind          string
}

func newMovedCase(t *testing.T, c *cluster, port int) *movedCase {
	t.Helper()
	h := newHelm(t, c)
	suffix := strings.ReplaceAll(h.namespace, "-", "")
	m := &movedCase{helm: h, crd: suffix + "s.faults.example.com", kind: "K" + suffix}
	definition := fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %ss.faults.example.com}
spec:
  group: faults.example.com
  scope: Namespaced
  names: {plural: %ss, singular: %s, kind: %s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}MORE}}}}
`, suffix, suffix, suffix, m.kind)
	objects := func(name string) string {
		return fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: keep-%[1]s, labels: {colour: red}}
---
apiVersion: v1
kind: Service
metadata: {name: port-%[1]s, labels: {colour: red}}
spec: {type: NodePort, selector: {app: w}, ports: [{port: 80, nodePort: %[2]d}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: new-%[1]s, labels: {colour: red}}
spec:
  replicas: 0
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec: {containers: [{name: w, image: "nowhere/image:1", envFrom: [{configMapRef: {name: keep-%[1]s}}]}]}
`, name, port)
	}
	shared := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, labels: {colour: red}}\n"
	sub := func(name string) string { return "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n" }
	m.before, m.after = filepath.Join(t.TempDir(), "moves"), filepath.Join(t.TempDir(), "moves")
	filetest.Write(t, m.before, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: moves\nversion: 1.0.0\n", "templates/all.yaml": objects("old"),
		"templates/crd.yaml":    strings.Replace(definition, "MORE", "", 1),
		"charts/one/Chart.yaml": sub("one"), "charts/one/templates/s.yaml": shared,
	})
	filetest.Write(t, m.after, map[string]string{
		"Chart.yaml": `apiVersion: v2
name: moves
version: 2.0.0
annotations: {moonhelm.github.io/crds: upgrade}
moved:
- {kind: ConfigMap, from: {name: keep-old}, to: {name: keep-new}, recreate: false}
- {kind: Service, from: {name: port-old}, to: {name: port-new}, recreate: true}
- {kind: Deployment, from: {name: new-old}, to: {name: new-new}, recreate: true}
- {from: {chart: one}, to: {chart: two}}
- {from: {directory: templates}, to: {directory: crds}}
`, "templates/all.yaml": objects("new"), "crds/crd.yaml": strings.Replace(definition, "MORE", ", b: {type: string}", 1),
		"charts/two/Chart.yaml": sub("two"), "charts/two/templates/s.yaml": shared,
	})
	return m
}

// install installs the chart and a custom resource, and returns the UIDs that must stay.
func (m *movedCase) install(t *testing.T) map[string]string {
	t.Helper()
	m.must(t, "install", "web", m.before)
	plural, _, _ := strings.Cut(m.crd, ".")
	text := fmt.Sprintf(`{"apiVersion":"faults.example.com/v1","kind":%q,"metadata":{"name":"x"},"a":"b"}`, m.kind)
	if out, code, err := m.Call(t.Context(), "POST", "/apis/faults.example.com/v1/namespaces/"+m.namespace+"/"+plural, "", text); err != nil || code != http.StatusCreated {
		t.Fatalf("create a custom resource: %d %s, %v", code, out, err)
	}
	return m.uids(t)
}

func (m *movedCase) uids(t *testing.T) map[string]string {
	t.Helper()
	plural, _, _ := strings.Cut(m.crd, ".")
	out := map[string]string{}
	for name, path := range map[string]string{
		"definition":      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + m.crd,
		"custom resource": "/apis/faults.example.com/v1/namespaces/" + m.namespace + "/" + plural + "/x",
		"kept":            "/api/v1/namespaces/" + m.namespace + "/configmaps/keep-old",
		"shared":          "/api/v1/namespaces/" + m.namespace + "/configmaps/shared",
	} {
		text, _, err := m.Call(t.Context(), "GET", path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Metadata struct{ UID, DeletionTimestamp string }
		}
		if json.Unmarshal(text, &o) != nil {
			t.Fatalf("read %s: %s", path, text)
		}
		out[name] = o.Metadata.UID + o.Metadata.DeletionTimestamp
	}
	return out
}

// check checks the release after an upgrade, and removes it.
func (m *movedCase) check(t *testing.T, when string, uids map[string]string) {
	t.Helper()
	m.sound(t, when, map[string]string{"ConfigMap/keep-old": "red", "Service/port-new": "red", "Deployment/new-new": "red", "ConfigMap/shared": "red"})
	if got := m.uids(t); !maps.Equal(got, uids) {
		t.Errorf("%s: the UIDs are %v, were %v", when, got, uids)
	}
	if text, _, err := m.Call(t.Context(), "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+m.crd, "", ""); err != nil || !strings.Contains(string(text), `"b":{"type":"string"}`) {
		t.Errorf("%s: the definition is not upgraded: %s", when, text)
	}
	if text, _, err := m.Call(t.Context(), "GET", "/apis/apps/v1/namespaces/"+m.namespace+"/deployments/new-new", "", ""); err != nil || !strings.Contains(string(text), `"name":"keep-old"`) {
		t.Errorf("%s: the reference to the kept object is not kept: %s", when, text)
	}
	m.remove(t)
	if got := m.uids(t); got["definition"] != uids["definition"] || got["custom resource"] != uids["custom resource"] {
		t.Errorf("%s: uninstall has deleted the definition: %v", when, got)
	}
	m.discard(t)
}

// discard deletes the definition.
func (m *movedCase) discard(t *testing.T) {
	t.Helper()
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + m.crd
	for i := 0; ; i++ {
		_, code, err := m.Call(t.Context(), "DELETE", path, "", "")
		if code == http.StatusNotFound {
			return
		}
		if err != nil || i == 600 {
			t.Fatalf("delete %s: %d, %v", m.crd, code, err)
		}
	}
}

// TestKilledMoving kills an upgrade that moves objects at its writes: the same command must then finish
// it, and what stays must stay the same objects.
func TestKilledMoving(t *testing.T) {
	c := connect(t)
	first := newMovedCase(t, c, 32100)
	uids := first.install(t)
	if r := first.runGated(t, nil, "upgrade", "web", first.after); r.err != nil {
		t.Fatalf("undisturbed: %s", r)
	}
	points := kills(withoutHeartbeats(first.gate.made()), nil, all())
	t.Logf("the writes:\n    %s\n%d points:\n    %s", first.gate.kept(), len(points), text(points))
	first.check(t, "undisturbed", uids)
	const parts = 6 // the cases mostly wait
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			m := newMovedCase(t, c, 32101+part)
			for i := part; i < len(points) && !t.Failed(); i += parts {
				m.killUpgradeAt(t, points[i])
			}
		})
	}
}

// killUpgradeAt kills an upgrade at a write, and upgrades again.
func (m *movedCase) killUpgradeAt(t *testing.T, p point) {
	t.Helper()
	uids := m.install(t)
	m.runGated(t, p.rule(), "upgrade", "web", m.after)
	if !m.gate.reached(p) && p.nth == 1 {
		t.Errorf("%s: there was no such write", p)
	}
	if r := m.run("upgrade", "web", m.after); r.err != nil {
		t.Fatalf("%s: %s\nthe writes were\n    %s", p, r, m.gate.kept())
	}
	m.check(t, p.String(), uids)
}
