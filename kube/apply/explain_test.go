// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
)

// The job of a hook's last run has failed; that of this run is only slow. What
// befell the first, of the same name, must not explain the second.
func TestEventsOfEarlierObjectAreIgnored(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	job := func(note string) *manifest.Object {
		return apitest.Parse(t, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {%s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: a}]}
`, note))[0]
	}
	run := func(o *manifest.Object, limit time.Duration) string {
		if _, err := c.CreateHook(t.Context(), o, ns); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err := c.Finish(ctx, wait.Request{Objects: []*manifest.Object{o}, Namespace: ns})
		if err == nil {
			t.Fatal("the job ended well")
		}
		return err.Error()
	}
	bad := job(`moonhelm.test/exit-code: "3"`)
	if got := run(bad, time.Minute); strings.Count(got, "BackoffLimitExceeded") != 1 {
		t.Errorf("the event says again what the condition has said:\n%s", got)
	}
	// Its event may come after the failure.
	told := func() bool {
		list, err := c.Lookup(t.Context(), "v1", "Event", ns, "")
		return err == nil && strings.Contains(fmt.Sprint(list["items"]), "BackoffLimitExceeded")
	}
	for until := time.Now().Add(10 * time.Second); !told(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the failed job has no event")
		}
	}
	if err := removeHook(t.Context(), c, bad, ns, ""); err != nil {
		t.Fatal(err)
	}
	if got := run(job(`moonhelm.test/exit-after: 1m`), 2*time.Second); strings.Contains(got, "BackoffLimitExceeded") {
		t.Errorf("the slow job's error tells of the failed one:\n%s", got)
	}
}
