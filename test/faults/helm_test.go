// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/peertest"
)

// helm runs the program in a namespace of a cluster.
type helm struct {
	*cluster
	bin, home, namespace string
	direct               string // the kubeconfig for the API server
	gate                 *gate
	gated                string // the kubeconfig for the gate
	chart                string
	user                 string // the user of a command, "" for the admin
}

func newHelm(t *testing.T, c *cluster) *helm {
	t.Helper()
	h := &helm{cluster: c, bin: peertest.Moonhelm(t, filepath.Join("..", "..")), home: t.TempDir(), chart: writeChart(t), gate: newGate(t, c)}
	h.direct, h.gated = c.kubeconfig(t, c.Base), c.kubeconfig(t, h.gate.server.URL)
	h.namespace = c.Namespace(t, "faults")
	return h
}

// result is the output and the error of a command.
type result struct {
	stdout, stderr string
	err            error
}

func (r result) String() string { return fmt.Sprintf("%v\n%s%s", r.err, r.stdout, r.stderr) }

// ok reports whether the command succeeded, or failed with one of the given messages.
func (r result) ok(unless ...string) bool {
	if r.err == nil {
		return true
	}
	for _, u := range unless {
		if strings.Contains(r.stderr, u) {
			return true
		}
	}
	return false
}

func (h *helm) command(kubeconfig string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	cmd := exec.Command(h.bin, append(args, "--namespace", h.namespace)...)
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "KUBECONFIG=" + kubeconfig}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, &stdout, &stderr
}

// run runs helm without faults.
func (h *helm) run(args ...string) result { return h.runAt(h.direct, args...) }

func (h *helm) runAt(kubeconfig string, args ...string) result {
	cmd, stdout, stderr := h.command(kubeconfig, args...)
	err := cmd.Run()
	return result{stdout.String(), stderr.String(), err}
}

// runGated runs helm through the gate and returns when all its requests have ended.
func (h *helm) runGated(t *testing.T, rule rule, args ...string) result {
	t.Helper()
	h.gate.reset(rule)
	cmd, stdout, stderr := h.command(h.gated, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.gate.process <- cmd.Process
	err := cmd.Wait()
	h.gate.quiet()
	<-h.gate.process
	return result{stdout.String(), stderr.String(), err}
}

func (h *helm) must(t *testing.T, args ...string) string {
	t.Helper()
	r := h.run(args...)
	if r.err != nil {
		t.Fatalf("helm %s: %s", strings.Join(args, " "), r)
	}
	return r.stdout
}

// writeChart writes a chart of several kinds whose objects have a label colour. The value
// "more" adds an object, and "less" removes one. The value "hooks" adds a hook for each event,
// which is deleted when it has succeeded.
func writeChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	meta := func(name string) string {
		return "metadata:\n  name: " + name + "\n  labels: {colour: {{ .Values.colour }}}\n"
	}
	hook := func(name, events string) string {
		return "{{ if .Values.hooks }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name +
			"\n  annotations: {helm.sh/hook: \"" + events + "\", helm.sh/hook-delete-policy: \"before-hook-creation,hook-succeeded\"}\n{{ end }}\n"
	}
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: faults\nversion: 1.0.0\n",
		"values.yaml": "colour: red\nmore: false\nless: false\nhooks: false\nreplicas: 0\nmany: 0\n",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\n" + meta("a") + "data: {colour: {{ .Values.colour }}}\n---\n" +
			"apiVersion: v1\nkind: ServiceAccount\n" + meta("s") + "---\n" +
			"apiVersion: v1\nkind: Secret\n" + meta("p") + "stringData: {colour: {{ .Values.colour }}}\n---\n" +
			"apiVersion: v1\nkind: Service\n" + meta("w") + "spec: {selector: {app: w}, ports: [{port: 80}]}\n",
		"templates/b.yaml": "{{ if not .Values.less }}\napiVersion: v1\nkind: ConfigMap\n" + meta("b") + "{{ end }}\n",
		"templates/c.yaml": "{{ if .Values.more }}\napiVersion: v1\nkind: ConfigMap\n" + meta("c") + "{{ end }}\n",
		"templates/many.yaml": "{{ range until (int .Values.many) }}\n---\napiVersion: v1\nkind: ConfigMap\n" +
			"metadata:\n  name: many-{{ . }}\n  labels: {colour: {{ $.Values.colour }}}\n{{ end }}\n",
		"templates/d.yaml": "apiVersion: apps/v1\nkind: Deployment\n" + meta("w") +
			"spec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: w}}\n  template:\n    metadata: {labels: {app: w}, annotations: {colour: {{ .Values.colour }}}}\n" +
			"    spec: {terminationGracePeriodSeconds: 0, containers: [{name: w, image: \"nowhere/image:1\"}]}\n",
		"templates/before.yaml": hook("hook-before", "pre-install,pre-upgrade,pre-rollback,pre-delete"),
		"templates/after.yaml":  hook("hook-after", "post-install,post-upgrade,post-rollback,post-delete"),
	})
	return dir
}

// wanted returns the objects of the chart with the given colour.
func wanted(colour string, others ...string) map[string]string {
	out := map[string]string{}
	for _, name := range append(others, "ConfigMap/a", "ServiceAccount/s", "Secret/p", "Service/w", "Deployment/w") {
		out[name] = colour
	}
	return out
}

// sound fails the test unless the release has exactly the wanted objects, only the last
// revision is deployed, and there is no lock.
func (h *helm) sound(t *testing.T, when string, want map[string]string) {
	t.Helper()
	if got := h.objects(t, h.namespace); !maps.Equal(got, want) {
		t.Errorf("%s: the objects are\n    %s\nand not\n    %s", when, lines(got), lines(want))
	}
	records := h.records(t, h.namespace)
	if len(records) == 0 || records[len(records)-1] != "deployed" {
		t.Errorf("%s: the history is %v", when, records)
	}
	for _, r := range records[:max(0, len(records)-1)] {
		if r == "deployed" || strings.HasPrefix(r, "pending-") || r == "uninstalling" {
			t.Errorf("%s: the history is %v", when, records)
		}
	}
	h.unlocked(t, when)
}

func (h *helm) unlocked(t *testing.T, when string) {
	t.Helper()
	if locks := h.locks(t, h.namespace); len(locks) > 0 {
		t.Errorf("%s: locks are left: %v", when, locks)
	}
}

// nothing fails the test if an object, a record or a lock of the release exists.
func (h *helm) nothing(t *testing.T, when string) {
	t.Helper()
	if !apiserver.Eventually(func() bool { return len(h.objects(t, h.namespace)) == 0 }) {
		t.Errorf("%s: left behind:\n    %s", when, lines(h.objects(t, h.namespace)))
	}
	if records := h.records(t, h.namespace); len(records) > 0 {
		t.Errorf("%s: records are left: %v", when, records)
	}
	h.unlocked(t, when)
}

// end upgrades and uninstalls the release, which must still be possible after a fault.
func (h *helm) end(t *testing.T) {
	t.Helper()
	h.must(t, "upgrade", "--install", "web", h.chart, "--set", "colour=last,more=true,less=true")
	h.sound(t, "after one more upgrade", wanted("last", "ConfigMap/c"))
	h.remove(t)
}

// remove uninstalls the release and requires that nothing is left.
func (h *helm) remove(t *testing.T) {
	t.Helper()
	h.must(t, "uninstall", "web", "--ignore-not-found")
	h.nothing(t, "after uninstall")
}

func lines(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+" "+m[k])
	}
	return strings.Join(out, "\n    ")
}
