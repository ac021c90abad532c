// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// busy starts an upgrade that waits for an object that never becomes ready, and returns when
// its record is pending.
func (h tool) busy(t *testing.T, chart string, records ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(h.bin, "upgrade", "web", chart, "--set", "ready=false,colour=slow", "--wait", "--timeout", "10m", "--namespace", h.space.name)
	cmd.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + os.Getenv("MOONHELM_TEST_KUBECONFIG")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has usually ended
	if !apiserver.Eventually(func() bool {
		return fmt.Sprint(h.records(t, "web")) == fmt.Sprint(records) && at(h.object(t, "Deployment", "w"), "spec", "template", "metadata", "annotations", "colour") == "slow"
	}) {
		t.Fatalf("the records are %q, want %q", h.records(t, "web"), records)
	}
	return cmd
}

// later runs our binary as if at a later time: through a proxy that makes the times of all
// records earlier.
func (h tool) later(t *testing.T, by time.Duration) tool {
	t.Helper()
	target, err := url.Parse(h.Base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: h.Transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("Authorization", "Bearer "+h.Token) // clients send no credentials over plain HTTP
	}}
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.Contains(r.Request.URL.Path, "/secrets") || r.Header.Get("Content-Encoding") != "" {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		text = created.ReplaceAllFunc(text, func(old []byte) []byte {
			if then, err := time.Parse(`"creationTimestamp":"`+time.RFC3339+`"`, string(old)); err == nil {
				return []byte(then.Add(-by).Format(`"creationTimestamp":"` + time.RFC3339 + `"`))
			} else if sec, err := strconv.ParseInt(string(number.Find(old)), 10, 64); err == nil {
				return number.ReplaceAll(old, []byte(strconv.FormatInt(sec-int64(by/time.Second), 10)))
			}
			return old
		})
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "%s"}}]
users: [{name: x, user: {}}]
`, server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.flags = []string{"--kubeconfig", path}
	return h
}

// created matches the times when a record was created or changed.
var created = regexp.MustCompile(`"creationTimestamp":"[^"]*"|"(createdAt|modifiedAt)":"\d+"`)

// number matches the seconds in it.
var number = regexp.MustCompile(`\d+`)

const another = "another operation (install/upgrade/rollback) is in progress"

// TestPendingRevisionsOfHelm kills Helm during an upgrade. Its record has no heartbeat, so our
// upgrade waits a quarter of an hour before it takes over, while rollback and uninstall repair
// the release at once, as in Helm.
func TestPendingRevisionsOfHelm(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	for _, name := range []string{"helm4", "helm3"} {
		t.Run(name, func(t *testing.T) {
			ns := c.namespace(t)
			all := tools(t, ns)
			we, helm := all["ours"], all[name]
			helm.must(t, "install", "web", chart)
			cmd := helm.busy(t, chart, "1 deployed", "2 pending-upgrade")
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()

			wantIn(t, "upgrade", we.fails(t, "upgrade", "web", chart), another, `release "web" is locked: revision 2 has been pending-upgrade since`,
				"from", "it counts as abandoned from", "hint: ", "helm rollback web", "helm uninstall web")
			agree(t, all, "1 deployed", "2 pending-upgrade")
			wantIn(t, "after 14 minutes", we.later(t, 14*time.Minute).fails(t, "upgrade", "web", chart), "is locked")
			wantIn(t, "helm's", helm.fails(t, "upgrade", "web", chart), another)
			we.later(t, 16*time.Minute).must(t, "upgrade", "web", chart, "--set", "colour=blue", "--wait")
			look(t, ns, we, "blue", true)
			agree(t, all, "1 superseded", "2 failed", "3 deployed")
			helm.must(t, "upgrade", "web", chart)
			agree(t, all, "1 superseded", "2 failed", "3 superseded", "4 deployed")

			cmd = helm.busy(t, chart, "1 superseded", "2 failed", "3 superseded", "4 deployed", "5 pending-upgrade")
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			we.must(t, "rollback", "web", "--wait")
			look(t, ns, we, "blue", true)
			agree(t, all, "1 superseded", "2 failed", "3 superseded", "4 superseded", "5 failed", "6 deployed")

			cmd = helm.busy(t, chart, "1 superseded", "2 failed", "3 superseded", "4 superseded", "5 failed", "6 deployed", "7 pending-upgrade")
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			we.must(t, "uninstall", "web")
			agree(t, all)
		})
	}
}

// TestHelmKeepsOffOurPendingRevisions runs Helm 3 and 4 while our upgrade is in progress, and
// after it has ended.
func TestHelmKeepsOffOurPendingRevisions(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	ns := c.namespace(t)
	all := tools(t, ns)
	we := all["ours"]
	we.must(t, "install", "web", chart)
	cmd := we.busy(t, chart, "1 deployed", "2 pending-upgrade")
	for _, name := range []string{"helm4", "helm3"} {
		wantIn(t, name, all[name].fails(t, "upgrade", "web", chart), another)
	}
	agree(t, all, "1 deployed", "2 pending-upgrade")
	ns.getReady(t)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("our upgrade: %v", err)
	}
	agree(t, all, "1 superseded", "2 deployed")
	all["helm4"].must(t, "upgrade", "web", chart, "--reset-values")
	all["helm3"].must(t, "upgrade", "web", chart)
	agree(t, all, "1 superseded", "2 superseded", "3 superseded", "4 deployed")

	// After it was killed, the record is pending, and Helm repairs it in its usual way.
	cmd = we.busy(t, chart, "1 superseded", "2 superseded", "3 superseded", "4 deployed", "5 pending-upgrade")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wantIn(t, "helm4", all["helm4"].fails(t, "upgrade", "web", chart), another)
	all["helm4"].must(t, "rollback", "web", "4")
	look(t, ns, all["helm4"], "red", true)
	we.must(t, "upgrade", "web", chart, "--set", "colour=blue")
	look(t, ns, we, "blue", true)
	// A pending revision before the last one has no effect; Helm's rollback leaves one.
	agree(t, all, "1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 pending-upgrade", "6 superseded", "7 deployed")
}

// getReady makes the pods of the chart ready.
func (s space) getReady(t *testing.T) {
	t.Helper()
	text, code, err := s.call(t.Context(), http.MethodGet, s.path("Pod", ""), "", "")
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(text, &list) != nil {
		t.Fatalf("list pods: %d %s, %v", code, text, err)
	}
	for _, p := range list.Items {
		if strings.HasPrefix(p.Metadata.Name, "w-") {
			s.patch(t, "Pod", p.Metadata.Name, `{"metadata":{"annotations":{"moonhelm.test/never-ready":"false"}}}`)
		}
	}
}
