// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// reference returns the verdict of kstatus as one of this package.
func reference(t testing.TB, o map[string]any) verdict {
	t.Helper()
	res, err := kstatus.Compute(&unstructured.Unstructured{Object: o})
	if err != nil {
		t.Fatal(err)
	}
	switch res.Status {
	case kstatus.CurrentStatus:
		return verdict{ready: true}
	case kstatus.FailedStatus:
		other := "its controller has given up"
		if condition(o, "Stalled")["status"] != "True" {
			other = "its names are not accepted"
		}
		return verdict{shaky: referenceReason(res, other)}
	case kstatus.TerminatingStatus:
		return verdict{missing: "is being deleted"}
	}
	return verdict{missing: referenceMissing(res, o)}
}

func referenceMissing(res *kstatus.Result, o map[string]any) string {
	word, numbers, _ := strings.Cut(res.Message, ": ")
	have, want, _ := strings.Cut(numbers, "/")
	switch word {
	case "Replicas", "Current", "Labelled":
		return have + " of " + want + " pods created"
	case "Updated", "updated", "current":
		return have + " of " + want + " pods updated"
	case "Available":
		return have + " of " + want + " pods available"
	case "Ready":
		return have + " of " + want + " pods ready"
	case "Pending termination":
		return noOldPods(int64(numbers[0] - '0')).missing
	case "PVC is not Bound. phase":
		return strings.TrimSuffix("not bound yet: it is "+numbers, ": it is unknown")
	case "ClusterIP not set. Service type":
		return "to get a cluster address"
	case "Install in progress":
		return "to be established"
	case "ReplicaSet not Available", "Waiting for updated revision to match current":
		return "its controller has not reported the rollout complete yet"
	case "Deployment not Available":
		return "its controller has not reported it available yet"
	case "Missing .status.desiredNumberScheduled":
		return notObserved
	case "Replica Failure condition. Check Pods":
		return reasonOr(condition(o, "ReplicaFailure"), "its pods cannot be created")
	}
	if strings.Contains(res.Message, "observedGeneration") || strings.Contains(res.Message, "observed generation") {
		return notObserved
	}
	if v := readyCondition(o); !v.ready {
		return v.missing
	}
	return referenceReason(res, "its controller is at work")
}

// referenceReason returns the condition by which kstatus explains a status.
func referenceReason(res *kstatus.Result, other string) string {
	c := map[string]any{}
	for _, first := range res.Conditions {
		c["reason"], c["message"] = first.Reason, first.Message
		break
	}
	return reasonOr(c, other)
}

// compareWithReference fails the test if the verdict on o differs from that of kstatus.
func compareWithReference(t testing.TB, o map[string]any) {
	t.Helper()
	got, want := verdictOn(o), reference(t, o).String()
	if got == want {
		return
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Fatalf("got %q, kstatus says %q of:\n%s", got, want, text)
}

func verdictOn(o map[string]any) string {
	tg := api.NewTarget("a.yaml", o)
	tg.Resource = &kube.Resource{Kind: tg.Kind, APIVersion: api.String(o, "apiVersion")}
	return rollout{jobs: true}.evaluate(tg, o).String()
}

func TestStatusOfObjectsFromClusters(t *testing.T) {
	file := filepath.Join("testdata", "statuses.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, doc := range strings.Split(string(text), "\n---\n")[1:] {
		comment, doc, _ := strings.Cut(strings.TrimPrefix(doc, "# "), "\n")
		want, kstatusWant, differs := strings.Cut(strings.TrimSuffix(comment, ")"), " (kstatus: ")
		if !differs {
			want, kstatusWant = comment, comment
		}
		tg, o := living(t, doc)
		t.Run(fmt.Sprintf("%d %s", i+1, tg.Kind), func(t *testing.T) {
			if got := verdictOn(o); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := reference(t, o).String(); got != kstatusWant {
				t.Errorf("kstatus says %q, want %q", got, kstatusWant)
			}
		})
	}
}

// A statusForm has the possible fields of a kind's status.
type statusForm struct {
	apiVersion, kind string
	counters         []string
	conditions       []string
	reasons          []string
}

// statusForms are the kinds for which [status] has rules.
var statusForms = []statusForm{
	{"apps/v1", "Deployment",
		[]string{"replicas", "readyReplicas", "updatedReplicas", "availableReplicas"},
		[]string{"Available", "Progressing", "ReplicaFailure"},
		[]string{"NewReplicaSetAvailable", "NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded"}},
	{"apps/v1", "StatefulSet",
		[]string{"replicas", "readyReplicas", "updatedReplicas", "currentReplicas", "availableReplicas"}, nil, nil},
	{"apps/v1", "DaemonSet",
		[]string{"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable",
			"numberReady"}, nil, nil},
	{"apps/v1", "ReplicaSet",
		[]string{"replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"},
		[]string{"ReplicaFailure"}, []string{"FailedCreate"}},
	{"policy/v1", "PodDisruptionBudget",
		[]string{"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"},
		[]string{"DisruptionAllowed"}, []string{"InsufficientPods"}},
	{"v1", "PersistentVolumeClaim", nil, []string{"Resizing"}, nil},
	{"v1", "Service", nil, nil, nil},
	{"v1", "ConfigMap", nil, nil, nil},
	{"batch/v1", "CronJob", nil, nil, nil},
	{"autoscaling/v2", "HorizontalPodAutoscaler", nil, []string{"AbleToScale", "ScalingActive", "Ready"}, nil},
	{"apiregistration.k8s.io/v1", "APIService", nil, []string{"Available"}, nil},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", nil,
		[]string{"Established", "NamesAccepted"}, []string{"Installing", "InitialNamesAccepted", "NotAccepted"}},
	{"example.com/v1", "Thing", []string{"replicas", "readyReplicas"}, []string{"Ready", "Synced"}, nil},
	{"example.com/v1", "Deployment", []string{"replicas", "readyReplicas"}, []string{"Ready"}, nil},
}

// statusMaker generates objects with any status that their kind may have.
type statusMaker struct{ *rand.Rand }

// object generates an object that is mostly nearly ready: the rules differ at the end of a
// rollout.
func (m statusMaker) object(form statusForm) map[string]any {
	state := map[string]any{}
	for _, name := range form.counters {
		m.set(state, name, oneOf[int64](m, 2, 2, 2, 2, 2, 2, 3, 1, 0))
	}
	m.set(state, "conditions", m.conditions(form))
	m.set(state, "phase", oneOf(m, "Bound", "Pending", "Lost"))
	m.set(state, "currentRevision", oneOf(m, "a", "b"))
	m.set(state, "updateRevision", oneOf(m, "a", "b"))
	state["observedGeneration"] = oneOf[int64](m, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1)

	strategy, rolling := map[string]any{}, map[string]any{}
	m.set(rolling, "partition", oneOf[int64](m, 0, 1, 2, 3))
	m.set(strategy, "type", oneOf(m, "RollingUpdate", "RollingUpdate", "OnDelete"))
	m.set(strategy, "rollingUpdate", rolling)
	spec := map[string]any{}
	m.set(spec, "updateStrategy", strategy)
	m.set(spec, "replicas", oneOf[int64](m, 2, 2, 2, 3, 1, 0))
	m.set(spec, "type", oneOf(m, "ClusterIP", "LoadBalancer", "ExternalName"))
	m.set(spec, "clusterIP", oneOf(m, "10.0.0.1", "None", ""))
	m.set(spec, "progressDeadlineSeconds", oneOf[int64](m, 600, math.MaxInt32))

	meta := map[string]any{"name": "x", "generation": int64(2)}
	if m.IntN(50) == 0 {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	return map[string]any{"apiVersion": form.apiVersion, "kind": form.kind, "metadata": meta, "spec": spec,
		"status": state}
}

func (m statusMaker) conditions(form statusForm) []any {
	types := form.conditions
	if m.IntN(4) == 0 {
		types = slices.Concat(types, []string{"Reconciling", "Stalled"})
	}
	var out []any
	for _, i := range m.Perm(len(types)) {
		c := map[string]any{"type": types[i], "status": oneOf(m, "True", "True", "False", "Unknown")}
		m.set(c, "reason", oneOf(m, append(form.reasons, "Other")...))
		m.set(c, "message", oneOf(m, "one thing\nand another", "many words"))
		if m.IntN(4) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// set usually sets a field.
func (m statusMaker) set(o map[string]any, field string, v any) {
	if m.IntN(8) > 0 {
		o[field] = v
	}
}

func oneOf[T any](m statusMaker, all ...T) T { return all[m.IntN(len(all))] }

func TestStatusIsThatOfKstatus(t *testing.T) {
	for _, form := range statusForms {
		t.Run(form.apiVersion+" "+form.kind, func(t *testing.T) {
			m := statusMaker{rand.New(rand.NewPCG(1, 2))}
			for range 5000 {
				compareWithReference(t, m.object(form))
			}
		})
	}
}

func FuzzStatus(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		m := statusMaker{rand.New(rand.NewPCG(a, b))}
		for range 100 {
			compareWithReference(t, m.object(oneOf(m, statusForms...)))
		}
	})
}
