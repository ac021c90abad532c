// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Kubeconfigs of a cluster that tests may fill: an admin's, and that of a user
// without permissions.
const (
	kubeconfigVar = "MOONHELM_TEST_KUBECONFIG"
	restrictedVar = "MOONHELM_TEST_RESTRICTED_KUBECONFIG"
)

// real is an API server, asked with the least that there is.
type real struct {
	base   string
	client *http.Client
}

func cluster(t *testing.T, variable string) real {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skip("needs a cluster: set " + variable + " to a kubeconfig (see test/cluster)")
	}
	r, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func connect(kubeconfig string) (real, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return real{}, err
	}
	client, err := rest.HTTPClientFor(config)
	return real{strings.TrimSuffix(config.Host, "/"), client}, err
}

func (r real) Call(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = apierrors.NewGenericServerResponse(resp.StatusCode, method, leases, "", string(text), 0, true)
		if resp.StatusCode == http.StatusConflict && bytes.Contains(text, []byte(`"AlreadyExists"`)) {
			err = apierrors.NewAlreadyExists(leases, "")
		}
	}
	return text, err
}

// namespace makes one that is deleted with the test.
func (r real) namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("lock-%06x", rand.Uint32()&0xffffff)
	body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + name + `"}}`
	if _, err := r.Call(t.Context(), http.MethodPost, "/api/v1/namespaces", nil, http.Header{"Content-Type": {"application/json"}}, []byte(body)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = r.Call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+name, nil, nil, nil)
	})
	return name
}

// nothingLeft fails the test where a lease is there.
func (r real) nothingLeft(t *testing.T, namespace string) {
	t.Helper()
	text, err := r.Call(t.Context(), http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases", nil, nil, nil)
	if err != nil || bytes.Contains(text, []byte("moonhelm.v1.")) {
		t.Errorf("left behind: %s, %v", text, err)
	}
}

func TestEightTakeTheirTurnsOnARealServer(t *testing.T) {
	r := cluster(t, kubeconfigVar)
	ns := r.namespace(t)
	var now, most, done atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, k, err := New(r, nil, ns, Options{Who: fmt.Sprint("taker", i)}).Lock(t.Context(), "web", "upgrade")
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(50 * time.Millisecond)
			now.Add(-1)
			done.Add(1)
			k.Unlock()
		})
	}
	wg.Wait()
	if most.Load() != 1 || done.Load() != 8 {
		t.Errorf("%d at once, %d in all", most.Load(), done.Load())
	}
	r.nothingLeft(t, ns)
}

// childVar makes the test's own binary take a lock and stay.
const childVar = "MOONHELM_TEST_LOCK_NAMESPACE"

func TestMain(m *testing.M) {
	if ns := os.Getenv(childVar); ns != "" {
		r, err := connect(os.Getenv(kubeconfigVar))
		if err == nil {
			_, _, err = New(r, nil, ns, Options{Who: "child"}).Lock(context.Background(), "web", "upgrade")
		}
		fmt.Println("locked", err)
		select {}
	}
	os.Exit(m.Run())
}

func TestAChildThatIsKilledIsNotWaitedFor(t *testing.T) {
	r := cluster(t, kubeconfigVar)
	ns := r.namespace(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVar+"="+ns)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "locked <nil>\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	mine := New(r, nil, ns, Options{Timeout: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, _, err := mine.Lock(ctx, "web", "install"); err == nil {
		t.Fatal("pushed aside one that is alive")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	began := time.Now()
	_, k, err := mine.Lock(t.Context(), "web", "install")
	if err != nil || time.Since(began) > 2*time.Second {
		t.Fatalf("after %s: %v", time.Since(began), err)
	}
	k.Unlock()
	r.nothingLeft(t, ns)
}

func TestALeaseThatRunsOutOnARealServer(t *testing.T) {
	r := cluster(t, kubeconfigVar)
	ns := r.namespace(t)
	mine := New(r, nil, ns, Options{})
	stale := newLease(ns, "web", Holder{ID: "x", Who: "bob@ci"})
	stale.Spec.LeaseDurationSeconds = 1
	if _, err := mine.post(t.Context(), "web", stale); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, k := mine.lock(t, "upgrade")
	if took := time.Since(began); took < time.Second || took > 10*time.Second {
		t.Errorf("after %s", took)
	}
	if !k.Leased() {
		t.Error("no lease")
	}
	k.Unlock()
	r.nothingLeft(t, ns)
}

func TestARealUserWithoutRights(t *testing.T) {
	admin, user := cluster(t, kubeconfigVar), cluster(t, restrictedVar)
	ns := admin.namespace(t)
	_, k := New(user, nil, ns, Options{}).lock(t, "upgrade")
	if k.Leased() {
		t.Error("a lease without a permission to it")
	}
	k.Unlock()
	_, k = New(admin, nil, "no-such-namespace", Options{}).lock(t, "install")
	if k.Leased() {
		t.Error("a lease without a namespace")
	}
	k.Unlock()
}
