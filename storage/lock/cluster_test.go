// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/storagetest"
)

// nothingLeft fails the test if there is a Lease.
func nothingLeft(t *testing.T, r storagetest.Cluster, namespace string) {
	t.Helper()
	text, err := r.Call(t.Context(), http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases", nil, nil, nil)
	if err != nil || bytes.Contains(text, []byte("moonhelm.v1.")) {
		t.Errorf("left behind: %s, %v", text, err)
	}
}

func TestLockConcurrentlyOnCluster(t *testing.T) {
	r := storagetest.Open(t, apiserver.Kubeconfig)
	ns := r.Namespace(t)
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
	nothingLeft(t, r, ns)
}

// childVar makes the test's own binary acquire a lock and wait.
const childVar = "MOONHELM_TEST_LOCK_NAMESPACE"

func TestMain(m *testing.M) {
	if ns := os.Getenv(childVar); ns != "" {
		r, err := storagetest.Connect(os.Getenv(apiserver.Kubeconfig))
		if err == nil {
			_, _, err = New(r, nil, ns, Options{Who: "child"}).Lock(context.Background(), "web", "upgrade")
		}
		fmt.Println("locked", err)
		select {}
	}
	os.Exit(m.Run())
}

func TestKilledProcessOnCluster(t *testing.T) {
	r := storagetest.Open(t, apiserver.Kubeconfig)
	ns := r.Namespace(t)
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
	first := New(r, nil, ns, Options{Timeout: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, _, err := first.Lock(ctx, "web", "install"); err == nil {
		t.Fatal("pushed aside one that is alive")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	began := time.Now()
	_, k, err := first.Lock(t.Context(), "web", "install")
	if err != nil || time.Since(began) > 2*time.Second {
		t.Fatalf("after %s: %v", time.Since(began), err)
	}
	k.Unlock()
	nothingLeft(t, r, ns)
}

func TestExpiredLeaseOnCluster(t *testing.T) {
	r := storagetest.Open(t, apiserver.Kubeconfig)
	ns := r.Namespace(t)
	first := New(r, nil, ns, Options{})
	stale := newLease(ns, "web", Holder{ID: "x", Who: "bob@ci"})
	stale.Spec.LeaseDurationSeconds = 1
	if _, err := first.post(t.Context(), "web", stale); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, k := first.lock(t, "upgrade")
	if took := time.Since(began); took < time.Second || took > 10*time.Second {
		t.Errorf("after %s", took)
	}
	if !k.Leased() {
		t.Error("no lease")
	}
	k.Unlock()
	nothingLeft(t, r, ns)
}

func TestLockWithoutPermissionsOnCluster(t *testing.T) {
	admin, user := storagetest.Open(t, apiserver.Kubeconfig), storagetest.Open(t, apiserver.RestrictedKubeconfig)
	ns := admin.Namespace(t)
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
