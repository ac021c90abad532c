// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/progress"
)

const podTemplate = `{metadata: {labels: {app: %s}}, spec: {restartPolicy: %s, containers: [{name: c, image: %s}]}}`

// fixed are objects in two states, of which the second cannot be reached by an update, with the
// immutable field.
var fixed = []struct{ kind, field, from, to string }{
	{"Job", "spec.template", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {template: " + fmt.Sprintf(podTemplate, "x", "Never", "a") + "}",
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {template: " + fmt.Sprintf(podTemplate, "x", "Never", "b") + "}"},
	{"Deployment", "spec.selector", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 0, selector: {matchLabels: {app: a}}, template: " + fmt.Sprintf(podTemplate, "a", "Always", "a") + "}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {replicas: 0, selector: {matchLabels: {app: b}}, template: " + fmt.Sprintf(podTemplate, "b", "Always", "a") + "}"},
	{"StatefulSet", "spec.serviceName", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, template: " + fmt.Sprintf(podTemplate, "a", "Always", "a") + "}",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {replicas: 0, serviceName: b, selector: {matchLabels: {app: a}}, template: " + fmt.Sprintf(podTemplate, "a", "Always", "b") + "}"},
	{"Service", "spec.clusterIP", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {clusterIP: None, ports: [{port: 80}]}"},
	{"ConfigMap", "data", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: true\ndata: {a: b}",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: true\ndata: {a: c}"},
	{"Secret", "type", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ntype: one", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ntype: two"},
	{"RoleBinding", "roleRef", "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: x}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}"},
	{"Pod", "spec.nodeSelector", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: a}]}",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {nodeSelector: {a: b}, containers: [{name: c, image: a}]}"},
	{"PersistentVolumeClaim", "spec.accessModes", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\nspec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}"},
	{"StorageClass", "parameters", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NS}\nprovisioner: a.example.com\nparameters: {a: b}",
		"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: NS}\nprovisioner: a.example.com\nparameters: {a: c}"},
	{"PriorityClass", "value", "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NS}\nvalue: 1",
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: NS}\nvalue: 2"},
}

func TestImmutableFields(t *testing.T) {
	for _, f := range fixed {
		for _, serverSide := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s server side %v", f.kind, serverSide), func(t *testing.T) {
				t.Parallel()
				s := newReleaseCase(t)
				s.ServerSide = serverSide
				from, to := strings.Replace(f.from, "NS", s.ns, 1), strings.Replace(f.to, "NS", s.ns, 1)
				s.to(from)
				t.Cleanup(func() { _ = s.c.Delete(t.Context(), s.New, s.Owner, Background) })
				for _, s.ServerDryRun = range []bool{false, true} {
					var fixed *ImmutableError
					err := s.fails(to)
					if !errors.As(err, &fixed) || !apierrors.IsInvalid(err) {
						t.Fatalf("predict %v: %v", s.ServerDryRun, err)
					}
					if !slices.Contains(fixed.Fields, f.field) {
						t.Errorf("blamed %v, want %s: %v", fixed.Fields, f.field, fixed.Err)
					}
					for _, text := range []string{f.kind + "/", "chart/templates/a.yaml", f.field, "--force-replace", `helm.sh/replace: "true"`} {
						if !strings.Contains(err.Error(), text) {
							t.Errorf("%q is missing in: %v", text, err)
						}
					}
				}
				replaces(t, s, f.kind, to)
			})
		}
	}
}

// replaces requires that an object is deleted and recreated, with the flag or, if data would be
// lost, only with its annotation.
func replaces(t *testing.T, s *releaseCase, kind, to string) {
	s.ForceReplace = true
	name := "x"
	if strings.Contains(to, "{name: "+s.ns) {
		name = s.ns
	}
	apiVersion := s.New[0].APIVersion
	before := api.String(s.get(apiVersion, kind, name), "metadata", "uid")
	if kind == "PersistentVolumeClaim" {
		if err := s.fails(to); !strings.Contains(err.Error(), "--force-replace alone does not") {
			t.Errorf("the flag: %v", err)
		}
		s.ForceReplace = false
		to = strings.Replace(to, "{name: x}", `{name: x, annotations: {helm.sh/replace: "true"}}`, 1)
	}
	s.ServerDryRun = kind != "Job" // with and without a dry run
	says := s.to(to)
	action := plan.Update
	if s.ServerDryRun {
		action = plan.Replace
	}
	apitest.Want(t, "plan", says, string(action)+" "+kind+"/"+name)
	if kind == "PersistentVolumeClaim" {
		_ = s.c.Delete(t.Context(), s.New, s.Owner, Background)
	}
	apitest.Want(t, "told", s.rec.Of(progress.Deleted)+" "+s.rec.Of(progress.Created), kind+"/"+name+" "+kind+"/"+name)
	after := s.get(apiVersion, kind, name)
	if uid := api.String(after, "metadata", "uid"); kind != "PersistentVolumeClaim" && (uid == before || uid == "") {
		t.Errorf("it is the same object: %s", uid)
	}
}

func TestInvalidObjectsAreNotReplaced(t *testing.T) {
	s := newReleaseCase(t)
	s.ForceReplace = true
	s.to(fixed[0].from)
	before := s.versions()
	err := s.fails(strings.Replace(fixed[0].to, "image: b", "image: ''", 1))
	var no *ImmutableError
	if errors.As(err, &no) || !strings.Contains(err.Error(), "image") {
		t.Errorf("%v", err)
	}
	if uid, now := before, s.versions(); strings.Split(uid, "@")[0] != strings.Split(now, "@")[0] || strings.HasSuffix(now, "@") {
		t.Errorf("it is gone: %s, %s", uid, now)
	}
}
