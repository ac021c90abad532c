// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// cancellations is the number of operations that are canceled, each at another time.
const cancellations = 60

// mostTime limits the time until an operation returns after its context is canceled: the
// documented second, and as much again for each of two busy cores.
const mostTime = 3 * time.Second

// stuck are the values of a release with an object that is not gone when it is deleted.
var stuck = map[string]any{"stuck": true, "replicas": 1}

// cancelledOperations are the operations to cancel.
var cancelledOperations = []struct {
	name, verb string
	values     map[string]any
	atomic     bool
}{
	{name: "install", verb: "install", values: map[string]any{"replicas": 1}},
	{name: "atomic install", verb: "install", values: stuck, atomic: true},
	{name: "install with a hook", verb: "install", values: map[string]any{"hook": true}},
	{name: "upgrade", verb: "upgrade", values: map[string]any{"replicas": 2, "greeting": "good night"}},
	{name: "atomic upgrade", verb: "upgrade", values: stuck, atomic: true},
	{name: "uninstall", verb: "uninstall"},
}

// A canceled operation returns, and leaves neither a pending record nor a lock.
func TestCancellation(t *testing.T) {
	c := connect(t)
	app, err := loader.Load("testdata/app")
	if err != nil {
		t.Fatal(err)
	}
	installKinds(t, c)
	namespace := c.Namespace(t, "sdk-cancel")
	config, err := action.NewConfig(action.KubeSettings{Kubeconfig: c.kubeconfig, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
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
			op := cancelledOperations[i%len(cancelledOperations)]
			x := &cancelled{t: t, config: config, what: op.name, request: action.DeployRequest{
				Chart: app, Name: fmt.Sprintf("app-%d", i), Namespace: namespace, Values: op.values, Atomic: op.atomic,
				WaitOptions: action.WaitOptions{Wait: true},
			}}
			took, err := x.run(op.verb, time.Duration(i)*50*time.Millisecond)
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
	if cut < cancellations/4 {
		t.Errorf("%d operations were cut off, want more", cut)
	}
	checkLeases(t, c, namespace)
}

// cancelled is an operation on its own release.
type cancelled struct {
	t       *testing.T
	config  *action.Config
	what    string
	request action.DeployRequest
}

// run cancels the operation after a while, and returns the time until it returned and its
// error.
func (x *cancelled) run(verb string, after time.Duration) (took time.Duration, failed error) {
	if verb != "install" {
		first := x.request
		first.Wait, first.Atomic, first.Values = false, false, map[string]any{"replicas": 1}
		if _, err := (action.Install{Config: x.config}).Run(x.t.Context(), first); err != nil {
			x.t.Errorf("install %s: %v", first.Name, err)
			return 0, nil
		}
	}
	ctx, cancel := context.WithCancel(x.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- x.do(ctx, verb) }()
	time.Sleep(after)
	cancel()
	at := time.Now()
	failed = <-done
	if took = time.Since(at); took > mostTime {
		x.t.Errorf("%s took %v to return after its context had ended: %v", x.what, took, failed)
	}
	x.check(failed)
	return took, failed
}

func (x *cancelled) do(ctx context.Context, verb string) (err error) {
	switch verb {
	case "install":
		_, err = action.Install{Config: x.config}.Run(ctx, x.request)
	case "upgrade":
		_, err = action.Upgrade{Config: x.config}.Run(ctx, x.request)
	case "uninstall":
		_, err = action.Uninstall{Config: x.config}.Run(ctx, action.UninstallRequest{Name: x.request.Name, Wait: true})
	}
	return err
}

// check returns the records with a pending status.
func (x *cancelled) check(failed error) {
	name := x.request.Name
	found, err := action.List{Releases: x.config.Releases}.Run(x.t.Context(), action.ListRequest{Filter: storage.Filter{
		Name: func(n string) bool { return n == name }, AllRevisions: true,
		Statuses: []release.Status{release.PendingInstall, release.PendingUpgrade, release.PendingRollback, release.Uninstalling},
	}})
	if err != nil {
		x.t.Errorf("list %s: %v", name, err)
	}
	for _, r := range found {
		x.t.Errorf("%s of %s (%v): revision %d stays %s: %s", x.what, name, failed, r.Revision, r.Status, r.Description)
	}
}

// checkLeases returns the locks that are held.
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
