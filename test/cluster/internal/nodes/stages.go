// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
)

// A stage determines when a pod changes: it has a jq condition, a delay and the name of a step,
// for which podStatus computes the change. At most one stage may apply to a pod, since kwok
// would choose one at random.

// definitions are the jq functions of the conditions.
const definitions = `
def note(n): (.metadata.annotations // {})["moonhelm.test/" + n];
def leaving: .metadata.deletionTimestamp != null;
def phase: .status.phase // "Pending";
def begun: .status.startTime != null;
def initialized: any(.status.conditions[]?; .type == "Initialized" and .status == "True");
def ready: any(.status.conditions[]?; .type == "Ready" and .status == "True");
def inits: .status.initContainerStatuses // [];
def mains: .status.containerStatuses // [];
def waits(l): any(l[]; .state.waiting.reason == "CrashLoopBackOff");
def up: phase == "Running" and (waits(mains) | not);
def restarts: [mains[].restartCount] | max // 0;
def crashes: note("exit-code") != null and (note("exit-times") == null or restarts < (note("exit-times") | tonumber));
def ends: note("run-forever") != "true" and (crashes or .spec.restartPolicy != "Always");
def held: note("never-ready") == "true";
def pends: note("waiting") != null;
def fresh: phase == "Pending" and (begun | not);
`

func podStages() []*internalversion.Stage {
	const (
		alive      = "(leaving | not) and "
		startDelay = `note("start-after") // "0s"`
	)
	begin := patch(`{{ PodStatus "start" . (NodeIPWith .spec.nodeName) (PodIPWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid "") (or .metadata.name "") (or .metadata.namespace "")) }}`)
	return []*internalversion.Stage{
		stage("Pod", "delete", `leaving and ((.metadata.finalizers // []) | length) == 0`,
			`note("terminate-after") // "0s"`, internalversion.StageStep{Delete: true}),
		stage("Pod", "start", alive+`fresh and (held or pends | not)`, startDelay,
			event("Normal", "Started", "Started container"), begin),
		stage("Pod", "start-unready", alive+`fresh and held and (pends | not)`, startDelay,
			event("Normal", "Started", "Started container"),
			event("Warning", "Unhealthy", "Readiness probe failed: the pod is never ready"), begin),
		stage("Pod", "start-waiting", alive+`fresh and pends`, startDelay,
			event("Warning", "Failed", "Error: the container cannot be started"), begin),
		stage("Pod", "init", alive+`phase == "Pending" and begun and (initialized | not) and (waits(inits) | not)`,
			`note("init-after") // "0s"`, step("init")),
		stage("Pod", "restart-init", alive+`phase == "Pending" and begun and (initialized | not) and waits(inits)`,
			`note("restart-after") // "1s"`, event("Warning", "BackOff", "Back-off restarting failed container"), step("restart-init")),
		stage("Pod", "ready", alive+`up and (ends | not) and (ready | not) and (held | not)`,
			`note("ready-after") // "0s"`, step("ready")),
		stage("Pod", "exit", alive+`up and ends`,
			`note("exit-after") // "200ms"`, step("exit")),
		stage("Pod", "restart", alive+`phase == "Running" and waits(mains)`,
			`note("restart-after") // "1s"`, event("Warning", "BackOff", "Back-off restarting failed container"), step("restart")),
	}
}

// nodeStages has one stage: the status updates that a kubelet sends in addition to its lease.
func nodeStages() []*internalversion.Stage {
	return []*internalversion.Stage{
		stage("Node", "heartbeat", `true`, `"300s"`, patch(`{{ NodeStatus }}`)),
	}
}

func nodeStatus(now time.Time) (string, error) {
	data, err := json.Marshal(map[string][]corev1.NodeCondition{"conditions": nodeConditions(metav1.NewTime(now))})
	return string(data), err
}

func stage(kind, name, condition, delay string, steps ...internalversion.StageStep) *internalversion.Stage {
	return &internalversion.Stage{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: internalversion.StageSpec{
			ResourceRef: internalversion.StageResourceRef{APIGroup: "v1", Kind: kind},
			Selector: &internalversion.StageSelector{MatchExpressions: []internalversion.MatchExpression{{
				JQ: &internalversion.SelectorJQ{Key: definitions + condition, Operator: internalversion.SelectorOpIn, Values: []string{"true"}},
			}}},
			Delay: &internalversion.StageDelay{
				DurationFrom: &internalversion.ExpressionFrom{JQ: &internalversion.ExpressionJQ{Expression: definitions + delay}},
			},
			Steps: steps,
		},
	}
}

// step returns a step that sets the pod's status to the result of podStatus.
func step(name string) internalversion.StageStep {
	return patch(`{{ PodStatus "` + name + `" . "" "" }}`)
}

func patch(template string) internalversion.StageStep {
	merge := internalversion.StagePatchTypeMergePatch
	return internalversion.StageStep{Patch: &internalversion.StagePatch{
		Subresource: "status", Root: "status", Type: &merge, Template: template,
	}}
}

func event(kind, reason, message string) internalversion.StageStep {
	return internalversion.StageStep{Event: &internalversion.StageEvent{Type: kind, Reason: reason, Message: message}}
}
