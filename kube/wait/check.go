// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Readiness is the state of an object at one time.
type Readiness struct {
	// Ready is set if the object is ready.
	Ready bool
	// Failed is set if the object has failed, or its controller reports a failure.
	Failed bool
	// Reason says why the object is not ready; it is empty if Ready is set.
	Reason string
}

// Check returns the readiness of a live object. Its integers must be int64, as those that package
// kube decodes. The rules are those of [Waiter.Await] with Jobs: a Job has to complete. Check does
// not look at other objects, such as the pods of a workload.
func Check(object map[string]any) Readiness {
	kind, version := api.String(object, "kind"), api.String(object, "apiVersion")
	t := api.NewTarget("", object)
	t.Resource = &kube.Resource{Kind: kind, APIVersion: version}
	custom, err := expressionsOf([]*api.Target{t})
	if err != nil {
		return Readiness{Failed: true, Reason: shortLine(err.Error())}
	}
	evaluate := func() verdict { return rollout{jobs: true}.evaluate(t, object) }
	v := verdict{}
	if x := custom[t]; x != nil {
		v = x.evaluate(object, evaluate)
	} else {
		v = evaluate()
	}
	switch {
	case v.ready:
		return Readiness{Ready: true}
	case v.failed != "":
		return Readiness{Failed: true, Reason: shortLine(v.failed)}
	case v.shaky != "":
		return Readiness{Failed: true, Reason: v.shaky}
	}
	return Readiness{Reason: v.missing}
}
