// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// cancellations is how many operations are cancelled, each at another time.
const cancellations = 50

// An operation whose context ends returns, and leaves neither a pending record nor a lock.
func TestCancellation(t *testing.T) {
	c := connect(t)
	app, err := loader.Load("testdata/app")
	if err != nil {
		t.Fatal(err)
	}
	installKinds(t, c)
	namespace := fmt.Sprintf("sdk-cancel-%d", os.Getpid())
	newNamespace(t, c, namespace)
	config, err := action.NewConfig(action.KubeSettings{Kubeconfig: c.kubeconfig, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	verbs := []string{"install", "upgrade", "uninstall"}
	var (
		wg            sync.WaitGroup
		mu            sync.Mutex
		longest       time.Duration
		cut, finished int
		four          = make(chan struct{}, 4)
	)
	for i := range cancellations {
		wg.Go(func() {
			four <- struct{}{}
			defer func() { <-four }()
			x := &cancelled{t: t, config: config, chart: app, namespace: namespace, name: fmt.Sprintf("app-%d", i)}
			took, err := x.run(verbs[i%len(verbs)], time.Duration(i)*60*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, took)
			if err != nil {
				cut++
			} else {
				finished++
			}
		})
	}
	wg.Wait()
	t.Logf("%d were cut off, %d had finished; the longest took %v to return", cut, finished, longest)
	if longest > 10*time.Second { // a second on a machine that does nothing else
		t.Errorf("an operation took %v to return after its context had ended", longest)
	}
	if cut < cancellations/4 {
		t.Errorf("%d operations were cut off, want more", cut)
	}
	checkLeases(t, c, namespace)
}

// cancelled is one operation on a release of its own.
type cancelled struct {
	t               *testing.T
	config          *action.Config
	chart           *chart.Chart
	namespace, name string
}

// run cancels the operation after a while, and returns how long that took, and its error.
func (x *cancelled) run(verb string, after time.Duration) (took time.Duration, failed error) {
	req := action.DeployRequest{Chart: x.chart, Name: x.name, Namespace: x.namespace, Values: map[string]any{"replicas": 1}}
	req.Wait = true
	if verb != "install" {
		first := req
		first.Wait = false
		if _, err := (action.Install{Config: x.config}).Run(x.t.Context(), first); err != nil {
			x.t.Errorf("install %s: %v", x.name, err)
			return 0, nil
		}
	}
	ctx, cancel := context.WithCancel(x.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- x.do(ctx, verb, req) }()
	time.Sleep(after)
	cancel()
	at := time.Now()
	failed = <-done
	took = time.Since(at)
	x.check(verb, failed)
	return took, failed
}

func (x *cancelled) do(ctx context.Context, verb string, req action.DeployRequest) (err error) {
	switch verb {
	case "install":
		_, err = action.Install{Config: x.config}.Run(ctx, req)
	case "upgrade":
		req.Values = map[string]any{"replicas": 2, "greeting": "good night"}
		_, err = action.Upgrade{Config: x.config}.Run(ctx, req)
	case "uninstall":
		_, err = action.Uninstall{Config: x.config}.Run(ctx, action.UninstallRequest{Name: x.name, Wait: true})
	}
	return err
}

// check reports records that say that an operation is in progress.
func (x *cancelled) check(verb string, failed error) {
	found, err := action.List{Releases: x.config.Releases}.Run(x.t.Context(), action.ListRequest{Filter: storage.Filter{
		Name: func(name string) bool { return name == x.name }, AllRevisions: true,
		Statuses: []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback, release.Uninstalling},
	}})
	if err != nil {
		x.t.Errorf("list %s: %v", x.name, err)
	}
	for _, r := range found {
		x.t.Errorf("%s %s (%v): revision %d stays %s: %s", verb, x.name, failed, r.Revision, r.Status, r.Description)
	}
}

// checkLeases reports locks that are held.
func checkLeases(t *testing.T, c *client, namespace string) {
	t.Helper()
	var leases struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ HolderIdentity string }
		}
	}
	if err := c.do(t.Context(), "GET", "/apis/coordination.k8s.io/v1/namespaces/"+namespace+"/leases", nil, &leases); err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Items {
		if l.Spec.HolderIdentity != "" {
			t.Errorf("lease %s is held by %s", l.Metadata.Name, l.Spec.HolderIdentity)
		}
	}
}
