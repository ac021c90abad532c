// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/manifest"
)

func TestPlanChecksPermissions(t *testing.T) {
	s := newReleaseCase(t)
	s.to(configMapsText("a", "gone") + "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")
	old := s.Old
	next := strings.Replace(configMapsText("a", "new"), "a: b", "a: c", 1) +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {a: b}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + s.ns + "}\n"
	admin := s.c
	s.Permissions = []Permission{{Verb: "create", Resource: "secrets", Namespace: s.ns}, {Verb: "delete", APIVersion: "batch/v1", Kind: "Job", Namespace: s.ns},
		{Verb: "delete", APIVersion: "no/v1", Kind: "No", Namespace: s.ns}, {Verb: "create", Resource: "pods/exec", Namespace: s.ns}, {Verb: "get", Resource: "pods/log", Namespace: s.ns}}
	all := []string{
		`create clusterroles.rbac.authorization.k8s.io in the whole cluster`,
		`create configmaps in namespace "NS"`, `delete configmaps in namespace "NS"`, `patch configmaps in namespace "NS"`,
		`create deployments.apps in namespace "NS"`, `delete jobs.batch in namespace "NS"`, `create pods/exec in namespace "NS"`,
		`create secrets in namespace "NS"`, `patch secrets in namespace "NS"`,
	}
	read := `{apiGroups: ["", apps], resources: ["*"], verbs: [get, list]}`
	s.allowCluster(admin)
	for _, test := range []struct{ name, rules, may string }{
		{"only read", "[" + read + ", {apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [get]}]", ""},
		{"one resource", "[" + read + `, {apiGroups: [""], resources: [configmaps], verbs: ["*"]}]`, "configmaps"},
		{"one object", "[" + read + `, {apiGroups: [""], resources: [secrets], resourceNames: [s], verbs: [patch]},` +
			` {apiGroups: [apps], resources: [deployments], verbs: [create]}]`, "patch secrets|deployments"},
		{"another object", "[" + read + `, {apiGroups: [""], resources: [secrets], resourceNames: [other], verbs: [patch]}]`,
			""},
		{"everything in the namespace", `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`, "in namespace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.c = as(t, admin, s.ns, test.rules)
			s.Old, s.New = old, manifest.ApplyOrder(apitest.Parse(t, next))
			_, err := s.c.Plan(t.Context(), s.Request)
			var permissions *PermissionError
			if !errors.As(err, &permissions) {
				t.Fatalf("%s: %v", test.rules, err)
			}
			var missing []string
			for _, line := range all {
				may := false
				for part := range strings.SplitSeq(test.may, "|") {
					may = may || part != "" && strings.Contains(line, part)
				}
				if !may {
					missing = append(missing, strings.ReplaceAll(line, "NS", s.ns))
				}
			}
			var got []string
			for _, r := range permissions.Missing {
				got = append(got, r.String())
			}
			apitest.Want(t, test.rules, strings.Join(got, "\n"), strings.Join(missing, "\n"))
		})
	}
	s.c = admin
	apitest.Want(t, "for who may do all", s.to(next),
		"create ClusterRole/"+s.ns+", create ConfigMap/new, create Deployment/d, delete ConfigMap/gone, update ConfigMap/a, update Secret/s")
	if err := admin.Delete(t.Context(), s.New, s.Owner, Background); err != nil {
		t.Error(err)
	}
}

// allowCluster lets the restricted user read cluster-scoped objects.
func (s *releaseCase) allowCluster(admin *Client) {
	s.Helper()
	name, owner := "read-"+s.ns, kube.Owner{Release: "rbac", Namespace: s.ns}
	objects := apitest.Parse(s, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: moon-%[2]s}]
`, name, s.ns))
	if err := admin.Apply(s.Context(), objects, owner); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := admin.Delete(context.Background(), objects, owner, Background); err != nil {
			s.Error(err)
		}
	})
}

func TestCheckPermissionsOfUninstall(t *testing.T) {
	s := newReleaseCase(t)
	poor := as(t, s.c, s.ns, `[{apiGroups: [""], resources: [configmaps], verbs: [delete]}]`)
	objects := append(apitest.ConfigMaps(t, "a", "b"), apitest.Parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\napiVersion: no/v1\nkind: No\nmetadata: {name: x}")...)
	var permissions *PermissionError
	if err := poor.CheckPermissions(t.Context(), "delete", objects, s.ns); !errors.As(err, &permissions) || len(permissions.Missing) != 1 || !strings.Contains(err.Error(), "delete secrets in namespace") {
		t.Errorf("restricted: %v", err)
	}
	if err := poor.CheckPermissions(t.Context(), "delete", objects[:2], s.ns); err != nil {
		t.Errorf("with the permissions: %v", err)
	}
	if err := s.c.CheckPermissions(t.Context(), "delete", objects, s.ns); err != nil {
		t.Errorf("admin: %v", err)
	}
	// Without permission to create access reviews, missing permissions are found later.
	config := rest.CopyConfig(apitest.RESTConfig(t))
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:anonymous", Groups: []string{"system:unauthenticated"}}
	cache := t.TempDir()
	get(t, newClient(kube.Options{REST: func() (*rest.Config, error) { return apitest.RESTConfig(t), nil }, CacheDir: cache}), "v1", "Namespace", "", "default")
	nobody := newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, CacheDir: cache})
	if err := nobody.CheckPermissions(t.Context(), "delete", objects[:3], s.ns); err != nil && errors.As(err, &permissions) {
		t.Errorf("without reviews: %v", err)
	}
}
