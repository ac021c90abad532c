// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// transfer is a command that changes which release objects belong to.
type transfer struct {
	name string
	args []string
	// owners are the releases that the objects of [transferPaths] belong to afterwards, "" for none.
	// An interrupted transfer that was undone leaves those of before.
	before, after map[string]string
	// done are errors that are expected if the first run has completed the transfer.
	done []string
	// other is the namespace of release db, "" for that of the others.
	other bool
}

func transfers() []transfer {
	moved := func(owner string) map[string]string {
		return map[string]string{"Deployment/w": owner, "Service/w": owner, "PersistentVolumeClaim/v": owner, "ConfigMap/a": "web",
			"ConfigMap/b": "db"}
	}
	with := func(m map[string]string, pairs ...string) map[string]string {
		m = maps.Clone(m)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	objects := []string{"deployment/w", "svc/w", "pvc/v"}
	gone := []string{`release "web" has no`}
	return []transfer{
		{name: "adopt", args: append([]string{"adopt", "db"}, objects...), before: moved(""), after: moved("db")},
		{name: "disown", args: append([]string{"disown", "web"}, objects...), before: moved("web"), after: moved(""), done: gone},
		{name: "mv", args: append(append([]string{"mv", "web"}, objects...), "db"), before: moved("web"), after: moved("db"), done: gone},
		{name: "mv across namespaces", args: append(append([]string{"mv", "web"}, objects...), "db", "--to-namespace", "OTHER"),
			before: moved("web"), after: moved("db"), done: gone, other: true},
		{name: "rename", args: []string{"rename", "web", "shop"}, before: moved("web"),
			after: with(moved("shop"), "ConfigMap/a", "shop"), done: []string{"not found"}},
	}
}

// transferPaths are the paths of the objects in their namespaces.
var transferPaths = map[string]string{
	"Deployment/w": "/apis/apps/v1/namespaces/%s/deployments/w", "Service/w": "/api/v1/namespaces/%s/services/w",
	"PersistentVolumeClaim/v": "/api/v1/namespaces/%s/persistentvolumeclaims/v",
	"ConfigMap/a":             "/api/v1/namespaces/%s/configmaps/a", "ConfigMap/b": "/api/v1/namespaces/%s/configmaps/b",
}

const movables = `apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  replicas: 0
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec: {containers: [{name: w, image: "nowhere/image:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: w}
spec: {selector: {app: w}, ports: [{port: 80}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: v}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// mover runs a transfer again and again in one pair of namespaces.
type mover struct {
	*helm
	op       transfer
	web, db  string // charts
	other    string // the namespace of release db
	uids     map[string]string
	releases map[string]string // namespaces of the releases by name
}

func newMover(t *testing.T, c *cluster, op transfer) *mover {
	t.Helper()
	dir := t.TempDir()
	configMap := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n---\n"
	}
	guarded := "{{ if .Values.all }}\n" + movables + "{{ end }}\n"
	for name, own := range map[string]string{"web": "a", "db": "b"} {
		filetest.Write(t, filepath.Join(dir, name), map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n", "values.yaml": "all: false\n",
			"templates/all.yaml": configMap(own) + guarded,
		})
	}
	m := &mover{helm: newHelm(t, c), op: op, web: filepath.Join(dir, "web"), db: filepath.Join(dir, "db")}
	m.other = m.namespace
	if op.other {
		m.other = c.Namespace(t, "faults-other")
	}
	for i := range m.op.args {
		if m.op.args[i] == "OTHER" {
			m.op.args[i] = m.other
		}
	}
	m.op.args = append(slices.Clip(m.op.args), "--yes")
	m.releases = map[string]string{"web": m.namespace, "db": m.other, "shop": m.namespace}
	return m
}

// in runs a command on a release, in its namespace.
func (m *mover) in(t *testing.T, verb, name string, args ...string) string {
	t.Helper()
	h := *m.helm
	h.namespace = m.releases[name]
	return h.must(t, append([]string{verb, name}, args...)...)
}

// prepare installs both releases. If the objects are to be adopted, they belong to none.
func (m *mover) prepare(t *testing.T) {
	t.Helper()
	m.in(t, "install", "web", m.web, "--set", "all=true")
	m.in(t, "install", "db", m.db)
	if m.op.name == "adopt" {
		m.in(t, "disown", "web", "deployment/w", "service/w", "pvc/v", "--yes")
	}
	m.uids = map[string]string{}
	for name := range transferPaths {
		m.uids[name] = m.read(t, name).UID
	}
}

// ownedObject is what the test reads of an object.
type ownedObject struct {
	UID                 string
	Labels, Annotations map[string]string
	exists              bool
}

func (m *mover) read(t *testing.T, name string) (o ownedObject) {
	t.Helper()
	namespace := m.namespace
	if name == "ConfigMap/b" {
		namespace = m.other
	}
	text, code, err := m.call(t.Context(), http.MethodGet, fmt.Sprintf(transferPaths[name], namespace), "")
	var object struct{ Metadata ownedObject }
	if err != nil || code != http.StatusOK && code != http.StatusNotFound || json.Unmarshal(text, &object) != nil {
		t.Fatalf("read %s: %d %s, %v", name, code, text, err)
	}
	object.Metadata.exists = code == http.StatusOK
	return object.Metadata
}

// owners returns the release that each object belongs to by its annotations, and fails the test if an
// object was created again, or its annotations contradict each other.
func (m *mover) owners(t *testing.T, when string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range transferPaths {
		o := m.read(t, name)
		if !o.exists || o.UID != m.uids[name] {
			t.Errorf("%s: %s has the UID %q, and had %q", when, name, o.UID, m.uids[name])
		}
		owner := o.Annotations["meta.helm.sh/release-name"]
		out[name] = owner
		if namespace := o.Annotations["meta.helm.sh/release-namespace"]; namespace != m.releases[owner] {
			t.Errorf("%s: %s belongs to %q in %q", when, name, owner, namespace)
		}
		if managed := o.Labels["app.kubernetes.io/managed-by"]; (managed == "Helm") != (owner != "") {
			t.Errorf("%s: %s of %q is managed by %q", when, name, owner, managed)
		}
	}
	return out
}

// recorded returns the release in whose deployed record each object is, and fails the test if two have
// it.
func (m *mover) recorded(t *testing.T, when string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range transferPaths {
		out[name] = ""
	}
	for name, namespace := range m.releases {
		h := *m.helm
		h.namespace = namespace
		r := h.run("status", name, "--output", "json")
		if r.err != nil {
			continue
		}
		var record struct {
			Info     struct{ Status, Description string }
			Manifest string
		}
		if err := json.Unmarshal([]byte(r.stdout), &record); err != nil {
			t.Fatalf("%s: the status of release %s: %v in %s", when, name, err, r)
		}
		if record.Info.Status != "deployed" && !strings.Contains(record.Info.Description, "Undone, nothing has changed") {
			t.Errorf("%s: release %s is %s: %s", when, name, record.Info.Status, record.Info.Description)
		}
		for object := range transferPaths {
			kind, short, _ := strings.Cut(object, "/")
			if !strings.Contains(record.Manifest, "kind: "+kind+"\nmetadata: {name: "+short+"}") &&
				!strings.Contains(record.Manifest, "kind: "+kind+"\nmetadata:\n  name: "+short+"\n") &&
				!strings.Contains(record.Manifest, "kind: "+kind+"\nmetadata: {name: "+short+", namespace") {
				continue
			}
			if out[object] != "" {
				t.Errorf("%s: %s is in the records of %s and %s", when, object, out[object], name)
			}
			out[object] = name
		}
	}
	return out
}

// check checks that each object belongs to the release whose record has it, as want says.
func (m *mover) check(t *testing.T, when string, want map[string]string) {
	t.Helper()
	if got := m.owners(t, when); !maps.Equal(got, want) {
		t.Errorf("%s: the objects belong to\n    %s\nand not to\n    %s", when, lines(got), lines(want))
	}
	if got := m.recorded(t, when); !maps.Equal(got, want) {
		t.Errorf("%s: the records have\n    %s\nand not\n    %s", when, lines(got), lines(want))
	}
}

// unlocked fails the test if a lock is left.
func (m *mover) unlocked(t *testing.T, when string) {
	t.Helper()
	for _, namespace := range []string{m.namespace, m.other} {
		if locks := m.locks(t, namespace); len(locks) > 0 {
			t.Errorf("%s: locks are left: %v", when, locks)
		}
	}
}

// end uninstalls the releases and requires that only objects without a release are left.
func (m *mover) end(t *testing.T, when string) {
	t.Helper()
	left := m.owners(t, when)
	for _, name := range []string{"web", "shop", "db"} {
		m.in(t, "uninstall", name, "--ignore-not-found")
	}
	for name, owner := range left {
		if !apiserver.Eventually(func() bool { return m.read(t, name).exists == (owner == "") }) {
			t.Errorf("%s: after the uninstall %s of %q is %v", when, name, owner, m.read(t, name))
		}
		if owner == "" {
			_, _, _ = m.call(t.Context(), http.MethodDelete, fmt.Sprintf(transferPaths[name], m.namespace), "")
			apiserver.Eventually(func() bool { return !m.read(t, name).exists })
		}
	}
	for _, namespace := range []string{m.namespace, m.other} {
		for _, o := range m.list(t, "/api/v1/namespaces/"+namespace+"/secrets") {
			if o.Type == "helm.sh/release.v1" {
				t.Errorf("%s: record %s is left", when, o.Metadata.Name)
			}
		}
	}
}

// every reports whether the tests disturb every write of the transfers.
func every() bool { return all() || os.Getenv("MOONHELM_TRANSFERS") != "" }

// undisturbed runs the transfer without faults, and returns the kinds of its writes.
func (m *mover) undisturbed(t *testing.T) []string {
	t.Helper()
	m.prepare(t)
	if r := m.runGated(t, nil, m.op.args...); r.err != nil {
		t.Fatalf("undisturbed: %s", r)
	}
	kinds := withoutHeartbeats(m.gate.made())
	m.check(t, "undisturbed", m.op.after)
	m.end(t, "undisturbed")
	return kinds
}

// turns returns every second of n indices, beginning with the first for every second transfer: adopt
// and disown make the same writes, and so do both kinds of mv. It returns all if every write is disturbed.
func turns(op, n int) (out []int) {
	for i := range n {
		if every() || (i+op)%2 == 0 {
			out = append(out, i)
		}
	}
	return out
}

// TestTransferKilled kills helm at the writes of the transfers, before a write reaches the API server
// or after it. Then the same command must succeed; or another command that changes one of the releases
// must finish or undo the transfer. By default one of both is tried at a point, by turns.
func TestTransferKilled(t *testing.T) {
	c := connect(t)
	for op, transfer := range transfers() {
		t.Run(transfer.name, func(t *testing.T) {
			t.Parallel()
			m := newMover(t, c, transfer)
			points := kills(m.undisturbed(t), nil, every())
			t.Logf("%d points:\n    %s", len(points), text(points))
			for _, i := range turns(op, len(points)) {
				if every() || i/2%2 == 0 {
					m.killAt(t, points[i], "", m.again)
				}
				if !t.Failed() && (every() || i/2%2 == 1) {
					m.killAt(t, points[i], ", then another command", m.another)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// killAt kills the transfer at a point, and calls then.
func (m *mover) killAt(t *testing.T, p point, what string, then func(t *testing.T, when string)) {
	t.Helper()
	when := p.String() + what
	m.prepare(t)
	first := m.runGated(t, p.rule(), m.op.args...)
	if strings.Contains(first.stderr, "panic:") || strings.Contains(first.stderr, "goroutine ") {
		t.Fatalf("%s: %s", when, first)
	}
	if !m.gate.reached(p) && p.nth == 1 {
		t.Errorf("%s: there was no such write: %s", when, first)
	}
	log := m.gate.kept()
	then(t, when)
	m.end(t, when)
	t.Log(when)
	if t.Failed() {
		t.Logf("%s: the writes were\n    %s\nand it said %s", when, log, first)
	}
}

func (m *mover) again(t *testing.T, when string) {
	t.Helper()
	r := m.run(m.op.args...)
	if !r.ok(m.op.done...) {
		t.Fatalf("%s: the same command again: %s", when, r)
	}
	m.check(t, when, m.op.after)
	m.unlocked(t, when)
	if t.Failed() {
		t.Logf("the same command again said %s", r)
	}
}

// another runs a command that changes the records of both releases, and no object.
func (m *mover) another(t *testing.T, when string) {
	t.Helper()
	for _, name := range []string{"db", "web"} {
		h := *m.helm
		h.namespace = m.releases[name]
		if r := h.run("test", name); !r.ok("not found") {
			t.Fatalf("%s: helm test %s: %s", when, name, r)
		}
	}
	if got := m.owners(t, when); !maps.Equal(got, m.op.before) {
		m.check(t, when, m.op.after)
	} else {
		m.check(t, when, m.op.before)
	}
}

// TestTransferTrouble loses the answer of a write, refuses it, or answers with an error. The transfer
// succeeds, or it fails, and then it is undone. By default one of these is done to a write, by turns.
func TestTransferTrouble(t *testing.T) {
	c := connect(t)
	fates := []fate{drop, refuse, mishap}
	for op, transfer := range transfers() {
		t.Run(transfer.name, func(t *testing.T) {
			t.Parallel()
			m := newMover(t, c, transfer)
			kinds := m.undisturbed(t)
			for _, i := range turns(op, len(kinds)) {
				for j, f := range fates {
					if every() || j == i/2%len(fates) {
						m.troubleAt(t, point{kinds[i], count(kinds[:i+1], kinds[i]), f})
					}
				}
			}
		})
	}
}

// troubleAt disturbs the transfer at a point.
func (m *mover) troubleAt(t *testing.T, p point) {
	t.Helper()
	m.prepare(t)
	r := m.runGated(t, p.rule(), m.op.args...)
	if r.err == nil || m.owners(t, p.String())["Deployment/w"] == m.op.after["Deployment/w"] {
		m.again(t, p.String())
	} else if p.fate == refuse {
		m.check(t, p.String(), m.op.before)
	}
	if p.fate == drop && r.err != nil {
		t.Errorf("%s: %s", p, r)
	}
	m.end(t, p.String())
	t.Log(p)
	if t.Failed() {
		t.Fatalf("%s: %s\n    %s", p, r, m.gate.kept())
	}
}
