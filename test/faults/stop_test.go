// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// TestStoppedAndTakenOver stops an upgrade (SIGSTOP) while a write is in progress, lets another
// client take over the release, and continues the upgrade (SIGCONT): it must make no further
// write and must report the reason. This holds with the permission for Leases and without it.
func TestStoppedAndTakenOver(t *testing.T) {
	c := connect(t)
	upgrade := func(h *helm) { h.must(t, h.as("upgrade", "web", h.chart, "--set", "colour=green")...) }
	anew := func(h *helm) {
		h.must(t, h.as("uninstall", "web")...)
		h.must(t, h.as("install", "web", h.chart, "--set", "colour=green")...)
	}
	for _, test := range []struct {
		name    string
		leases  bool
		others  func(*helm)
		at      string // the kind of the object whose write is stopped
		records int
	}{
		{"without leases", false, upgrade, "serviceaccounts", 3},
		{"without leases, at the end", false, upgrade, "deployments", 3},
		{"without leases, installed again", false, anew, "serviceaccounts", 1},
		{"with leases", true, upgrade, "serviceaccounts", 3},
		{"with leases, at the end", true, upgrade, "deployments", 3},
		{"with leases, installed again", true, anew, "serviceaccounts", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t, c)
			if !test.leases {
				h.user = h.withoutLeases(t, h.namespace)
			}
			args := h.as("upgrade", "web", h.chart, "--set", "colour=blue,many=20")
			h.must(t, h.as("install", "web", h.chart)...)
			var stopped atomic.Bool
			h.gate.reset(func(q request) fate {
				if q.write && strings.Contains(q.URL.Path, "/"+test.at) && stopped.CompareAndSwap(false, true) {
					return stop
				}
				return pass
			})
			cmd, stdout, stderr := h.command(h.gated, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			h.gate.process <- cmd.Process
			if !apiserver.Eventually(stopped.Load) {
				t.Fatalf("it was not stopped: %s%s", stdout, stderr)
			}
			test.others(h)
			before, records := h.changes(), h.records(t, h.namespace)
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			var err error
			select {
			case err = <-done:
			case <-time.After(2 * time.Minute):
				t.Fatalf("it goes on: %s%s", stdout, stderr)
			}
			h.gate.quiet()
			<-h.gate.process
			var exit *exec.ExitError
			if exit, _ = err.(*exec.ExitError); exit == nil || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), `the lock of release "web" was lost`) {
				t.Errorf("it ended with %v: %s%s", err, stdout, stderr)
			}
			if after := h.changes(); len(after) != len(before) {
				t.Errorf("woken up, it wrote\n    %s", strings.Join(after[len(before):], "\n    "))
			}
			if got := h.records(t, h.namespace); fmt.Sprint(got) != fmt.Sprint(records) || len(got) != test.records {
				t.Errorf("the history is %v, and was %v", got, records)
			}
			h.sound(t, "afterwards", wanted("green", "ConfigMap/b"))
			h.remove(t)
		})
	}
}

// as returns a command of the current user.
func (h *helm) as(args ...string) []string {
	if h.user == "" {
		return args
	}
	return append(args[:len(args):len(args)], "--kube-as-user", h.user)
}

// changes returns the writes that passed the gate, except those of Leases.
func (h *helm) changes() []string {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	var out []string
	for _, w := range h.gate.log {
		if !strings.Contains(w, "/leases") {
			out = append(out, w)
		}
	}
	return out
}

// withoutLeases creates a user with the permissions that the chart needs in a namespace, and
// without any for Leases.
func (c *cluster) withoutLeases(t *testing.T, namespace string) string {
	t.Helper()
	user := "no-leases"
	for path, body := range map[string]string{
		"roles": `{"metadata":{"name":"most"},"rules":[
			{"apiGroups":[""],"resources":["secrets","configmaps","services","serviceaccounts"],"verbs":["*"]},
			{"apiGroups":["apps"],"resources":["deployments"],"verbs":["*"]}]}`,
		"rolebindings": `{"metadata":{"name":"most"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"most"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"` + user + `"}]}`,
	} {
		text, code, err := c.call(t.Context(), http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/namespaces/"+namespace+"/"+path, body)
		if err != nil || code != http.StatusCreated {
			t.Fatalf("create %s: %d %s, %v", path, code, text, err)
		}
	}
	// The server's authorizer sees them with a delay.
	review := `{"spec":{"user":"` + user + `","resourceAttributes":{"namespace":"` + namespace + `","verb":"list","resource":"secrets"}}}`
	if !apiserver.Eventually(func() bool {
		text, _, err := c.call(t.Context(), http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
		return err == nil && bytes.Contains(text, []byte(`"allowed":true`))
	}) {
		t.Fatalf("%s still may not list secrets", user)
	}
	return user
}
