// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"strings"
	"testing"
	"time"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
)

// living returns an object as the API server would send it, with its target.
func living(t testing.TB, text string) (*api.Target, map[string]any) {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := k8sjson.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	tg := api.NewTarget("a.yaml", o)
	tg.Resource = &kube.Resource{Kind: tg.Kind, APIVersion: api.String(o, "apiVersion")}
	return tg, o
}

func (v verdict) String() string {
	switch {
	case v.ready:
		return "ready"
	case v.failed != "":
		return "failed: " + v.failed
	case v.shaky != "":
		return "shaky: " + v.shaky
	}
	return v.missing
}

func TestReadinessRules(t *testing.T) {
	const (
		dep      = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, generation: 2}\n"
		sts      = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x, generation: 2}\n"
		ds       = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x, generation: 2}\n"
		job      = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x, generation: 1}\n"
		pod      = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
		service  = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n"
		claim    = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\n"
		rc       = "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: x, generation: 2}\n"
		thing    = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x, generation: 2}\n"
		rolling  = "conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'True', reason: NewReplicaSetAvailable}]"
		exceeded = "conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: too slow}]"
	)
	same := "="
	for _, test := range []struct {
		name, object     string
		watching, legacy string
	}{
		{"a deployment that no controller has observed", dep + "status: {}", notObserved, same},
		{"a deployment seen before its change", dep + "spec: {replicas: 1}\nstatus: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, " + rolling + "}", notObserved, same},
		{"a deployment without pods", dep + "spec: {replicas: 3, progressDeadlineSeconds: 600}\nstatus: {observedGeneration: 2}", "0 of 3 pods created", "0 of 3 pods ready"},
		{"a deployment that misses one of four, as it may", dep + "spec: {replicas: 4, progressDeadlineSeconds: 600, strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 25%, maxSurge: 25%}}}\nstatus: {observedGeneration: 2, replicas: 4, updatedReplicas: 4, readyReplicas: 3, availableReplicas: 3, " + rolling + "}", "3 of 4 pods available", "ready"},
		{"a deployment of one, which rounds down to none that may miss", dep + "spec: {replicas: 1, progressDeadlineSeconds: 600, strategy: {rollingUpdate: {maxUnavailable: 25%, maxSurge: 25%}}}\nstatus: {observedGeneration: 2, replicas: 1, updatedReplicas: 1}", "0 of 1 pods available", "0 of 1 pods ready"},
		{"a deployment whose ready pods are the old ones", dep + "spec: {replicas: 2, progressDeadlineSeconds: 600, strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2, " + rolling + "}", "1 of 2 pods updated", "0 of 2 pods ready"},
		{"a deployment whose old pods are going", dep + "spec: {replicas: 1, progressDeadlineSeconds: 600, strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2, " + rolling + "}", "1 old pod to go", "ready"},
		{"a deployment rolled out", dep + "spec: {replicas: 1, progressDeadlineSeconds: 600}\nstatus: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, " + rolling + "}", "ready", same},
		{"a deployment over its deadline", dep + "spec: {replicas: 1}\nstatus: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, " + exceeded + "}", "shaky: ProgressDeadlineExceeded: too slow", same},
		{"a deployment that recreates", dep + "spec: {replicas: 2, strategy: {type: Recreate}}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1, " + rolling + "}", "1 of 2 pods available", "1 of 2 pods ready"},
		{"a paused deployment", dep + "spec: {paused: true, replicas: 2}\nstatus: {observedGeneration: 2}", "ready", same},
		{"a deployment that is being deleted", strings.Replace(dep, "generation", "deletionTimestamp: '2026-01-01T00:00:00Z', generation", 1), "is being deleted", same},

		{"a stateful set on the way", sts + "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}\nstatus: {observedGeneration: 2, replicas: 3, readyReplicas: 3, currentReplicas: 1, updatedReplicas: 2, currentRevision: a, updateRevision: b}", "2 of 3 pods updated", same},
		{"a stateful set updated down to its partition", sts + "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}}\nstatus: {observedGeneration: 2, replicas: 3, readyReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}", "ready", same},
		{"a stateful set short of its partition", sts + "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}\nstatus: {observedGeneration: 2, replicas: 3, readyReplicas: 3, currentReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}", "1 of 2 pods updated", same},
		{"a stateful set that others roll out", sts + "spec: {replicas: 3, updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 2}", "ready", same},
		{"a stateful set that is not seen", sts + "spec: {replicas: 0}\nstatus: {replicas: 0}", notObserved, same},
		{"a stateful set rolled out", sts + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, currentRevision: b, updateRevision: b}", "ready", same},

		{"a daemon set on the way", ds + "status: {observedGeneration: 2, desiredNumberScheduled: 10, currentNumberScheduled: 10, updatedNumberScheduled: 10, numberAvailable: 9, numberReady: 9}\nspec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}", "9 of 10 pods available", "ready"},
		{"a daemon set that rounds up", ds + "status: {observedGeneration: 2, desiredNumberScheduled: 10, currentNumberScheduled: 10, updatedNumberScheduled: 10, numberAvailable: 8, numberReady: 8}\nspec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 15%}}}", "8 of 10 pods available", "ready"},
		{"a daemon set not updated", ds + "status: {observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2, numberReady: 2}", "1 of 2 pods updated", same},

		{"a job that has begun", job + "status: {startTime: '2026-01-01T00:00:00Z', active: 1}", "0 of 1 completed", same},
		{"a job that has failed", job + "status: {startTime: '2026-01-01T00:00:00Z', conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}", "failed: BackoffLimitExceeded", same},
		{"a job that is about to fail", job + "status: {startTime: '2026-01-01T00:00:00Z', conditions: [{type: FailureTarget, status: 'True', reason: DeadlineExceeded}]}", "failed: DeadlineExceeded", same},
		{"a job that is complete", job + "status: {conditions: [{type: Complete, status: 'True'}]}", "ready", same},
		{"a suspended job", job + "spec: {suspend: true}", "ready", same},

		{"a pod that runs", pod + "status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}", "running, not ready", same},
		{"a pod that crashes may recover", pod + "status: {phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}}]}", "running, not ready", same},
		{"a pod without a node may find one", pod + "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}", "pending", same},
		{"a pod that is ready", pod + "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}", "ready", same},
		{"a pod that was evicted", pod + "status: {phase: Failed, reason: Evicted, message: no memory}", "failed: Evicted: no memory", same},
		{"a pod of which the node is lost", pod + "status: {phase: Unknown}", "unknown", same},

		{"a service", service + "spec: {type: ClusterIP, clusterIP: 10.0.0.1}", "ready", same},
		{"a service elsewhere", service + "spec: {type: ExternalName, externalName: x}", "ready", same},
		{"a load balancer without address", service + "spec: {type: LoadBalancer, clusterIP: 10.0.0.1}\nstatus: {loadBalancer: {}}", "ready", "to get the load balancer's address"},
		{"a load balancer with address", service + "spec: {type: LoadBalancer, clusterIP: 10.0.0.1}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}", "ready", same},
		{"a load balancer with a given address", service + "spec: {type: LoadBalancer, clusterIP: 10.0.0.1, externalIPs: [1.2.3.4]}", "ready", same},
		{"a claim that waits", claim + "status: {phase: Pending}", "not bound yet: it is Pending", same},
		{"a claim that is bound", claim + "status: {phase: Bound}", "ready", same},
		{"a replication controller", rc + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, readyReplicas: 1}", "1 of 2 pods ready", same},

		{"a custom resource that is not ready", thing + "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'False', reason: Nope, message: not yet}]}", "Nope: not yet", "ready"},
		{"a custom resource seen before its change", thing + "status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}", notObserved, same},
		{"a custom resource whose condition is old", thing + "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}", notObserved, same},
		{"a custom resource that is stuck", thing + "status: {observedGeneration: 2, conditions: [{type: Stalled, status: 'True', reason: Broken, message: for good}]}", "shaky: Broken: for good", "ready"},
		{"a custom resource that says nothing", thing + "status: {}", "ready", same},
		{"a custom resource with a status of its own kind", thing + "status: {conditions: {a: b}}", "ready", same},
	} {
		t.Run(test.name, func(t *testing.T) {
			tg, o := living(t, test.object)
			r := rollout{jobs: true, silence: time.Second, begun: time.Now()}
			if got := r.evaluate(tg, o).String(); got != test.watching {
				t.Errorf("%s, watching: %q, want %q", test.name, got, test.watching)
			}
			want := test.legacy
			if want == same {
				want = test.watching
			}
			if got := r.legacy(tg, o).String(); got != want {
				t.Errorf("%s, legacy: %q, want %q", test.name, got, want)
			}
		})
	}
	tg, o := living(t, job+"status: {startTime: '2026-01-01T00:00:00Z', active: 1}")
	if got := (rollout{}).evaluate(tg, o).String(); got != "ready" {
		t.Errorf("a job that has begun is %q where jobs are not awaited", got)
	}
}

func TestWithReadyPods(t *testing.T) {
	for counts, want := range map[string]string{
		"replicas: 2, readyReplicas: 1": "1 of 2 pods ready, 1 old pod to go",
		"replicas: 2, readyReplicas: 2": "1 old pod to go",
		"replicas: 1, readyReplicas: 0": "other",
	} {
		tg, o := living(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 1}\nstatus: {"+counts+"}")
		v := noOldPods(api.Int(o, "status", "replicas") - 1)
		if v.ready {
			v = verdict{missing: "other"}
		}
		if got := withReadyPods(tg, o, v).missing; got != want {
			t.Errorf("%s: got %q, want %q", counts, got, want)
		}
	}
}

// expressionObject is an object with what expressions ask for.
const expressionObject = `
apiVersion: example.com/v1
kind: Thing
metadata: {name: x, labels: {tier: gold, example.com/a: '1'}}
spec: {replicas: 3}
status:
  phase: Ready
  count: 3
  share: 0.5
  done: true
  spec: {a: b}
  none: null
  nodes: [{name: a, load: 1}, {name: b, load: 5}]
  conditions: [{type: Ready, status: "True"}, {type: Degraded, status: "False"}]
`

// expressionCase is an expression and whether it is true of expressionObject.
type expressionCase struct {
	expression string
	want       bool
}

func (c expressionCase) check(t *testing.T) {
	_, o := living(t, expressionObject)
	x, err := parseExpression(c.expression)
	if err != nil {
		t.Fatal(err)
	}
	if got, value := x.isTrue(o); got != c.want {
		t.Errorf("got %v (%q), want %v", got, value, c.want)
	}
}

func TestExpressions(t *testing.T) {
	for _, c := range []expressionCase{
		{`{.phase} == Ready`, true},
		{`{.phase}==Ready`, true},
		{`{.phase} == "Ready"`, true},
		{`{.phase} == 'Ready'`, true},
		{`{ .phase } == Ready`, true},
		{`{$.phase} == Ready`, true},
		{`{['phase']} == Ready`, true},
		{`{.status.phase} == Ready`, true},
		{`{.spec.replicas} >= 3`, true},
		{`{.metadata.labels.tier} != silver`, true},
		{`{.specific} == 3`, false}, // a field of status, of an object without it
		{`{.phase} != Ready`, false},
		{`{.phase} == ready`, false},
		{`{.count} == 3`, true},
		{`{.count} == 3.0`, true},
		{`{.count} < 3`, false},
		{`{.count} <= 3`, true},
		{`{.count} > 2.5`, true},
		{`{.share} >= 0.5`, true},
		{`{.done} == true`, true},
		{`{.phase} > 3`, false},
		{`{.ghost} == 1`, false},
		{`{.ghost} != 1`, false},
		{`{.none} != 1`, false},
		{`{.*} == Ready`, true},
		{`{.phase[0]} == Ready`, false},
		{`{.metadata.labels.example\.com/a} == 1`, true},
		{`{.metadata.labels['example\.com/a']} == 1`, true},
	} {
		t.Run(c.expression, c.check)
	}
}

func TestExpressionsOfLists(t *testing.T) {
	for _, c := range []expressionCase{
		{`{.nodes} == a`, false},
		{`{.nodes[1].load} == 5`, true},
		{`{.nodes[-1].load} == 5`, true},
		{`{.nodes[7].load} == 5`, false},
		{`{.nodes[*].load} == 5`, true},
		{`{.nodes[*].load} > 5`, false},
		{`{.nodes[*].load} != 5`, false},
		{`{.nodes[*].load} != 7`, true},
		{`{.conditions[?(@.type=="Ready")].status} == True`, true},
		{`{.conditions[?(@.type=="Degraded")].status} == True`, false},
		{`{..load} == 5`, true},
		{`{.nodes[?(@.load>1)].name} == b`, true},
		{`{.nodes[?(@.load>1)].name} == a`, false},
		{`{.nodes[?(@.heavy)].name} == a`, false},
		{`{.nodes[?(@.name != "a")].load} == 5`, true},
		{`{.nodes.load} == 1`, false},
	} {
		t.Run(c.expression, c.check)
	}
}

func TestCheckReadinessErrors(t *testing.T) {
	for _, test := range []struct{ name, annotation, want string }{
		{"not JSON", `helm.sh/readiness-success: "{.phase} == Ready"`, "want a JSON list of strings"},
		{"empty list", `helm.sh/readiness-success: "[]"`, "want a JSON list of strings"},
		{"list of numbers", `helm.sh/readiness-failure: '[1]'`, "want a JSON list of strings"},
		{"path without braces", `helm.sh/readiness-failure: '["phase == Ready"]'`,
			`"phase == Ready": want a JSONPath in braces`},
		{"open brace", `helm.sh/readiness-failure: '["{.phase"]'`, "want a JSONPath in braces"},
		{"field without dot", `helm.sh/readiness-failure: '["{phase} == Ready"]'`, "want a path of fields"},
		{"range", `helm.sh/readiness-failure: '["{range .a} == Ready"]'`, "want a path of fields"},
		{"two recursive descents", `helm.sh/readiness-failure: '["{..a..b} == Ready"]'`,
			"more than one recursive descent (..)"},
		{"unions of too many values", `helm.sh/readiness-failure: '["{.spec.a` + strings.Repeat("[0,0]", 40) + `} == 1"]'`,
			"unions select more than 256 values"},
		{"open bracket", `helm.sh/readiness-failure: '["{.a[} == Ready"]'`, "is not a JSONPath"},
		{"assignment", `helm.sh/readiness-failure: '["{.phase} = Ready"]'`, "want one of =="},
		{"path alone", `helm.sh/readiness-failure: '["{.phase}"]'`, "want one of =="},
		{"no value", `helm.sh/readiness-failure: '["{.phase} =="]'`, "the value after == is missing"},
		{"order of a word", `helm.sh/readiness-failure: '["{.phase} >= Ready"]'`,
			`only numbers can be compared with >=, and "Ready" is not a number`},
		{"too long", `helm.sh/readiness-failure: '["{.` + strings.Repeat("a", 1100) + `} == 1"]'`, "the limit is 1024"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := apitest.Parse(t, "apiVersion: v1\nkind: Thing\nmetadata:\n  name: x\n  annotations:\n    "+test.annotation)
			err := CheckReadiness(objects)
			var wrong *ReadinessError
			if !errors.As(err, &wrong) || wrong.Object != "Thing/x" || !strings.HasPrefix(wrong.Annotation, "helm.sh/readiness-") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", test.annotation, err)
			}
		})
	}
	good := apitest.Parse(t, "apiVersion: v1\nkind: Thing\nmetadata:\n  name: x\n  annotations: {helm.sh/readiness-success: '[\"{.a} == b\"]'}")
	if err := CheckReadiness(append(good, apitest.ConfigMaps(t, "a")...)); err != nil {
		t.Error(err)
	}
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{`{.phase} == Ready`, `{.a[?(@.b=="c")].d} >= 1`, `{..a} != 'x'`, `{.a[0:2]} < 3`, `{['a','b']} == 1`} {
		f.Add(s)
	}
	_, o := living(f, "status: {a: [{b: c, d: 1}, {b: e}], phase: Ready, n: {a: {a: 1}}}")
	f.Fuzz(func(t *testing.T, s string) {
		if x, err := parseExpression(s); err == nil {
			x.isTrue(o)
		}
	})
}

func TestTroublesOfPods(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: "
	for _, test := range []struct {
		name, status string
		patient      bool
		want         string        // text of the worst verdict, "" for none
		grace        time.Duration // until certain
	}{
		{"all is well", "{phase: Running, containerStatuses: [{name: a, ready: true, state: {running: {}}}]}", false, "", 0},
		{"it is being made", "{phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}", false, "", 0},
		{"it has recovered", "{phase: Running, containerStatuses: [{name: a, ready: true, restartCount: 5, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}]}", false, "", 0},
		{"it runs again after a crash", "{phase: Running, containerStatuses: [{name: a, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}", false, "container a of pod p crashed (exit code 137, OOMKilled, 1 restart)", never},
		{"it crashes often, and runs for a moment", "{phase: Running, containerStatuses: [{name: a, restartCount: 4, state: {running: {}}, lastState: {terminated: {exitCode: 1}}}]}", false, "container a of pod p crashes again and again (exit code 1, 4 restarts)", never},
		{"it crashes often", "{phase: Running, containerStatuses: [{name: a, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}}]}", false, "container a of pod p crashes again and again (exit code 1, 4 restarts)", time.Minute},
		{"it crashes often, as its job allows", "{phase: Running, containerStatuses: [{name: a, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1}}}]}", true, "container a of pod p crashes again and again (exit code 1, 4 restarts)", never},
		{"it ends well, which it should not", "{phase: Running, containerStatuses: [{name: a, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 0, reason: Completed}}}]}", false, "container a of pod p ends again and again (exit code 0, 3 restarts)", time.Minute},
		{"an init container has done its work", "{phase: Running, initContainerStatuses: [{name: i, ready: true, state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: a, state: {running: {}}}]}", false, "", 0},
		{"its image is not there", "{phase: Pending, containerStatuses: [{name: a, image: x, state: {waiting: {reason: ErrImagePull, message: long story}}}]}", false, "container a of pod p cannot start: its image x cannot be pulled", time.Second},
		{"its image is not there, and has a long name", "{phase: Pending, containerStatuses: [{name: a, image: " + strings.Repeat("long/", 40) + ", state: {waiting: {reason: ErrImagePull}}}]}", false, "container a of pod p cannot start: its image " + strings.Repeat("long/", 40) + " cannot be pulled", time.Second},
		{"its image has no name", "{phase: Pending, containerStatuses: [{name: a, image: X, state: {waiting: {reason: InvalidImageName}}}]}", false, `container a of pod p cannot start: invalid image name "X"`, 0},
		{"its secret is missing", "{phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: CreateContainerConfigError, message: 'secret \"s\" not found'}}}]}", false, `container a of pod p cannot start: CreateContainerConfigError: secret "s" not found`, time.Second},
		{"no node has room", "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}]}", false, "pod p cannot be scheduled: 0/3 nodes", never},
		{"it is over", "{phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 1}}}]}", false, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, o := living(t, pod+test.status)
			p, err := podOf(o)
			if err != nil {
				t.Fatal(err)
			}
			got := troublesOf(p, Grace{Start: time.Second, Crash: time.Minute}, test.patient)
			switch {
			case len(got) == 0 && test.want == "":
			case len(got) != 1 || got[0].text != test.want || got[0].grace != test.grace:
				t.Errorf("%s: %+v", test.name, got)
			}
		})
	}
}

// A condition that reports a failure has a problem of a pod as its root.
func TestWorstTrouble(t *testing.T) {
	now := time.Now()
	condition := trouble{class: conditionFailed, text: "ProgressDeadlineExceeded", since: now}
	crash := trouble{class: crashing, text: "crashed", pod: "p", since: now, grace: never}
	image := trouble{class: notStarted, text: "no image", pod: "p", since: now, grace: time.Minute}
	for _, test := range []struct {
		name      string
		own, pods []trouble
		want      string
	}{
		{"nothing", nil, nil, ""},
		{"a condition", []trouble{condition}, nil, "ProgressDeadlineExceeded"},
		{"a condition with pods", []trouble{condition}, []trouble{crash, image}, "ProgressDeadlineExceeded, no image"},
		{"pods", nil, []trouble{crash, image}, "no image"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &awaited{own: test.own, pods: map[string]*podTrouble{"p": {troubles: test.pods}}}
			worst, _ := a.findWorst(now, func(*awaited, *podTrouble) bool { return true })
			got := ""
			if worst != nil {
				got = worst.text
				if worst.root != nil {
					got += ", " + worst.root.text
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRefusalGrace(t *testing.T) {
	for message, want := range map[string]time.Duration{
		`pods "x" is forbidden: exceeded quota: q`:                                    time.Second,
		`Internal error occurred: failed calling webhook "inject": no endpoints`:      never,
		`pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged`: time.Second,
	} {
		if got := refusalGrace(map[string]any{"message": message}, Grace{Start: time.Second}); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
}
