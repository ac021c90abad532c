// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// namespace creates a namespace that is deleted after the test.
func namespace(t testing.TB, c *Client) string {
	t.Helper()
	name := fmt.Sprintf("kube-%06x", rand.Uint32()&0xffffff)
	if err := c.CreateNamespace(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = c.Call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+name, nil, nil, nil)
	})
	return name
}

func get(t testing.TB, c *Client, apiVersion, kind, namespace, name string) map[string]any {
	t.Helper()
	m, err := c.Lookup(t.Context(), apiVersion, kind, namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Apply creates or updates objects, whoever owns them.
func (c *Client) Apply(ctx context.Context, objects []*manifest.Object, owner kube.Owner) error {
	p, err := c.Plan(ctx, Request{Owner: owner, New: objects, TakeOwnership: true})
	if err != nil {
		return err
	}
	return c.Execute(ctx, p, p.Steps)
}

// Check returns the error for a release of these objects.
func (c *Client) Check(ctx context.Context, objects []*manifest.Object, owner kube.Owner, take bool) error {
	_, err := c.Plan(ctx, Request{Owner: owner, New: objects, TakeOwnership: take})
	return err
}

// WaitReady is Await by watching.
func (c *Client) WaitReady(ctx context.Context, objects []*manifest.Object, namespace string, jobs bool) error {
	return c.Await(ctx, wait.Request{Objects: objects, Namespace: namespace, Jobs: jobs})
}

// discard deletes objects that the test has created without ownership labels.
func discard(c *Client, objects []*manifest.Object) {
	for _, o := range objects {
		_ = removeHook(context.Background(), c, o, "default", "")
	}
}

// removeHook deletes a hook's object and waits until it is gone.
func removeHook(ctx context.Context, c *Client, o *manifest.Object, namespace, uid string) error {
	if err := c.DeleteHook(ctx, o, namespace, uid); err != nil {
		return err
	}
	return c.WaitHookGone(ctx, o, namespace, uid)
}

func TestApplyCreatesLabelsAndDeletes(t *testing.T) {
	c, rec := client(t)
	ns := namespace(t, c)
	owner := kube.Owner{Release: "web", Namespace: ns}
	objects := apitest.Parse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {a: b}, annotations: {x: "y"}}
data: {a: "1"}
---
# only a comment
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: two}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: "sys:three"}
`)
	if err := c.Check(t.Context(), objects, owner, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), objects, owner); err != nil {
		t.Fatal(err)
	}
	if got := rec.Of(progress.Created); got != "ConfigMap/one Role/sys:three Secret/two" {
		t.Errorf("created %q", got)
	}
	meta := get(t, c, "v1", "ConfigMap", ns, "one")["metadata"].(map[string]any)
	labels, annotations := meta["labels"].(map[string]any), meta["annotations"].(map[string]any)
	if labels["a"] != "b" || labels[release.ManagedByLabel] != "Helm" || annotations["x"] != "y" || annotations[release.NameAnnotation] != "web" || annotations[release.NamespaceAnnotation] != ns {
		t.Errorf("marks: %v, %v", labels, annotations)
	}
	if m, _ := objects[0].Map(); m["metadata"].(map[string]any)["namespace"] != nil {
		t.Error("the manifest was changed")
	}

	// An object of the release is updated.
	objects = append(objects, apitest.ConfigMaps(t, "late")...)
	again := apitest.Parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: \"2\"}")
	if err := c.Check(t.Context(), again, owner, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), again, owner); err != nil {
		t.Fatal(err)
	}
	if data := get(t, c, "v1", "ConfigMap", ns, "one")["data"].(map[string]any); data["a"] != "2" {
		t.Errorf("not updated: %v", data)
	}

	rec.Reset()
	if err := c.Delete(t.Context(), objects, owner, Background); err != nil {
		t.Fatal(err)
	}
	if got := rec.Of(progress.Deleted); got != "ConfigMap/one Role/sys:three Secret/two" {
		t.Errorf("deleted %q", got)
	}
	if err := c.WaitGone(t.Context(), objects, owner); err != nil {
		t.Fatal(err)
	}
	if m := get(t, c, "v1", "ConfigMap", ns, "one"); len(m) != 0 {
		t.Errorf("still there: %v", m)
	}
}

func TestConflictErrorListsAllObjects(t *testing.T) {
	c, rec := client(t)
	ns := namespace(t, c)
	mine, theirs := kube.Owner{Release: "mine", Namespace: ns}, kube.Owner{Release: "theirs", Namespace: ns}
	if err := c.Apply(t.Context(), apitest.ConfigMaps(t, "a", "b"), theirs); err != nil {
		t.Fatal(err)
	}
	for _, o := range apitest.ConfigMaps(t, "plain") {
		if _, err := c.CreateHook(t.Context(), o, ns); err != nil {
			t.Fatal(err)
		}
	}
	objects := apitest.ConfigMaps(t, "a", "b", "plain", "new", "new2")
	err := c.Check(t.Context(), objects, mine, false)
	var conflict *ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 3 {
		t.Fatalf("Check: %v", err)
	}
	for _, want := range []string{"ConfigMap/a in namespace " + ns, `belongs to release "theirs"`, "plain", "not made by Helm"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if m := get(t, c, "v1", "ConfigMap", ns, "new"); len(m) != 0 {
		t.Error("Check has written")
	}

	// Uninstalling keeps objects without ownership labels, and those of others, and does
	// not wait until they are gone.
	rec.Reset()
	if err := c.Delete(t.Context(), objects, mine, Background); err != nil {
		t.Fatal(err)
	}
	if kept, deleted := rec.Of(progress.Kept), rec.Of(progress.Deleted); kept != "ConfigMap/a ConfigMap/b ConfigMap/plain" || deleted != "" {
		t.Errorf("kept %q, deleted %q", kept, deleted)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.WaitGone(ctx, objects, mine); err != nil {
		t.Errorf("WaitGone: %v", err)
	}

	if err := c.Check(t.Context(), objects, mine, true); err != nil {
		t.Fatalf("Check with take: %v", err)
	}
	if err := c.Apply(t.Context(), objects, mine); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context(), objects, mine, false); err != nil {
		t.Errorf("after taking them: %v", err)
	}
}

func TestExecuteStopsAfterFailedKind(t *testing.T) {
	c, rec := client(t)
	ns := namespace(t, c)
	err := c.with(Options{NoSchemaValidation: true}).Apply(t.Context(), apitest.Parse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: bad}
dataa: {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: Bad_Name}
---
apiVersion: v1
kind: Secret
metadata: {name: never}
`), kube.Owner{Release: "web", Namespace: ns})
	var object *kube.ObjectError
	if !errors.As(err, &object) || object.Verb != "create" || object.Source != "chart/templates/a.yaml" {
		t.Fatalf("Apply: %v", err)
	}
	for _, want := range []string{"ConfigMap/bad in namespace " + ns, `.dataa: unknown field`, "Bad_Name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if got := rec.Of(progress.Created); got != "ConfigMap/good" {
		t.Errorf("created %q", got)
	}
	if m := get(t, c, "v1", "Secret", ns, "never"); len(m) != 0 {
		t.Error("the kind after the failed one was begun")
	}
}

func TestNoMatchErrorListsAllKinds(t *testing.T) {
	c, rec := client(t)
	ns := namespace(t, c)
	objects := append(apitest.ConfigMaps(t, "a"), apitest.Parse(t, "apiVersion: nope.io/v1\nkind: Nope\nmetadata: {name: x}\n---\nkind: Pod\nmetadata: {name: p}\n---\napiVersion: nope.io/v1\nkind: Nope\nmetadata: {name: z}")...)
	err := c.Check(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}, false)
	var missing *kube.NoMatchError
	if !errors.As(err, &missing) || len(missing.Missing) != 2 || len(missing.Objects) != 3 {
		t.Fatalf("Check: %v", err)
	}
	// An uninstall ignores objects of unknown kinds.
	if err := c.Delete(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}, Background); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if rec.Of(progress.Warning); len(rec.Events) == 0 {
		t.Error("no warning")
	}
	if _, err := c.Lookup(t.Context(), "nope.io/v1", "Nope", "", ""); !errors.As(err, &missing) {
		t.Errorf("Lookup: %v", err)
	}
}

func TestDryRunDoesNotPersist(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	dry, owner := c.DryRun(), kube.Owner{Release: "web", Namespace: ns}
	if err := dry.CreateNamespace(t.Context(), ns+"-x"); err != nil {
		t.Fatal(err)
	}
	if err := dry.Apply(t.Context(), apitest.ConfigMaps(t, "a"), owner); err != nil {
		t.Fatal(err)
	}
	if err := dry.WaitReady(t.Context(), apitest.ConfigMaps(t, "a"), ns, true); err != nil {
		t.Fatal(err)
	}
	if m := get(t, c, "v1", "ConfigMap", ns, "a"); len(m) != 0 {
		t.Error("Apply has written")
	}
	if err := c.Apply(t.Context(), apitest.ConfigMaps(t, "a"), owner); err != nil {
		t.Fatal(err)
	}
	if err := dry.Delete(t.Context(), apitest.ConfigMaps(t, "a"), owner, Foreground); err != nil {
		t.Fatal(err)
	}
	if m := get(t, c, "v1", "ConfigMap", ns, "a"); len(m) == 0 || m["metadata"].(map[string]any)["deletionTimestamp"] != nil {
		t.Error("Delete has written")
	}
	if m := get(t, c, "v1", "Namespace", "", ns+"-x"); len(m) != 0 {
		t.Error("CreateNamespace has written")
	}
	bad := apitest.Parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a b}")
	if err := dry.Apply(t.Context(), bad, owner); err == nil {
		t.Error("the server's checks were not made")
	}
}

func TestLookup(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	if err := c.Apply(t.Context(), apitest.ConfigMaps(t, "a", "b"), kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name                    string
		kind, namespace, object string
		want                    string
	}{
		{"an object", "ConfigMap", ns, "a", "ConfigMap a"},
		{"no such object", "ConfigMap", ns, "ghost", ""},
		{"no namespace", "ConfigMap", "", "a", ""},
		{"cluster-scoped", "Namespace", "ignored", ns, "Namespace " + ns},
		{"list of a missing namespace", "ConfigMap", ns + "-ghost", "", "ConfigMapList "},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := get(t, c, "v1", test.kind, test.namespace, test.object)
			got := ""
			if len(m) > 0 {
				meta, _ := m["metadata"].(map[string]any)
				name, _ := meta["name"].(string)
				got = m["kind"].(string) + " " + name
			}
			if m == nil || got != test.want {
				t.Errorf("%v: got %q", test, got)
			}
		})
	}
	items := get(t, c, "v1", "ConfigMap", ns, "")["items"].([]any)
	names := ""
	for _, i := range items {
		m := i.(map[string]any)
		if m["kind"] != "ConfigMap" || m["apiVersion"] != "v1" {
			t.Errorf("an item does not say what it is: %v", m)
		}
		names += m["metadata"].(map[string]any)["name"].(string) + " "
	}
	if !strings.Contains(names, "a b ") {
		t.Errorf("listed %q", names)
	}
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.moon.example.com}
spec:
  group: moon.example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {n: {type: integer}}}}}}}
`

func TestInstallCRDs(t *testing.T) {
	config := apitest.RESTConfig(t)
	cache := t.TempDir()
	c := newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, CacheDir: cache})
	ns := namespace(t, c)
	kind := fmt.Sprintf("Crater%x", rand.Uint32())
	defs := apitest.Parse(t, fmt.Sprintf(crd, strings.ToLower(kind), kind))
	caps, err := c.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if caps.APIVersions.Has("moon.example.com/v1/"+kind) || !caps.APIVersions.Has("apps/v1/Deployment") || !caps.APIVersions.Has("v1") || !caps.APIVersions.Has("apps/v1/Scale") {
		t.Errorf("before: %v", caps.APIVersions)
	}
	if !strings.HasPrefix(caps.KubeVersion.Version, "v1.") || caps.KubeVersion.Minor == "" {
		t.Errorf("version %+v", caps.KubeVersion)
	}
	missing, err := c.MissingCRDs(t.Context(), defs)
	if err != nil || len(missing) != 1 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	// A second client has read the discovery cache before the kind existed.
	late := newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, CacheDir: cache})
	get(t, late, "v1", "Namespace", "", "default")

	if err := c.InstallCRDs(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(c, defs) })
	if caps, err := c.Capabilities(t.Context()); err != nil || !caps.APIVersions.Has("moon.example.com/v1/"+kind) {
		t.Errorf("after: %v", err)
	}
	if missing, err := c.MissingCRDs(t.Context(), defs); err != nil || len(missing) != 0 {
		t.Errorf("still missing: %v, %v", missing, err)
	}
	object := apitest.Parse(t, "apiVersion: moon.example.com/v1\nkind: "+kind+"\nmetadata: {name: x}\nspec: {n: 1}")
	for _, cl := range []*Client{c, late} { // the second time it is patched
		if err := cl.Apply(t.Context(), object, kube.Owner{Release: "web", Namespace: ns}); err != nil {
			t.Error(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(cache, "kinds-*"))
	if len(files) != 1 {
		t.Errorf("cache holds %v", files)
	}
}

func TestBrokenDiscoveryCache(t *testing.T) {
	config := apitest.RESTConfig(t)
	cache := t.TempDir()
	c := newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, CacheDir: cache})
	get(t, c, "v1", "Namespace", "", "default")
	files, err := filepath.Glob(filepath.Join(cache, "kinds-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, text := range []string{"", "{", `{"server":"elsewhere"}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }, CacheDir: cache})
		get(t, c, "v1", "Namespace", "", "default")
	}
}

// as returns a client with the permissions of a Role in a namespace.
func as(t *testing.T, c *Client, ns, rules string) *Client {
	t.Helper()
	user, mark := "moon-"+ns, fmt.Sprintf("mark%d", time.Now().UnixNano())
	objects := apitest.Parse(t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules: %s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, strings.TrimSuffix(rules, "]")+", {apiGroups: [moonhelm.test], resources: ["+mark+"], verbs: [get]}]", user))
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "rbac", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(apitest.RESTConfig(t))
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	poor := newClient(kube.Options{REST: func() (*rest.Config, error) { return config, nil }})
	// The server's authorizer sees the role with a delay.
	review := `{"spec":{"resourceAttributes":{"namespace":"` + ns + `","group":"moonhelm.test","resource":"` + mark + `","verb":"get"}}}`
	for tries := 0; ; tries++ {
		answer, err := poor.Call(t.Context(), http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil,
			http.Header{"Content-Type": {"application/json"}}, []byte(review))
		if err == nil && bytes.Contains(answer, []byte(`"allowed":true`)) {
			return poor
		}
		if tries == 100 {
			t.Fatalf("%s has no permissions yet: %s, %v", user, answer, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestForbiddenError(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	poor := as(t, c, ns, `[{apiGroups: [""], resources: [configmaps], verbs: [get]}]`)
	objects := apitest.ConfigMaps(t, "a", "b", "c", "d", "e")
	var permissions *PermissionError
	if err := poor.Check(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}, false); !errors.As(err, &permissions) {
		t.Errorf("Check must do with the permission to get, and say which is missing: %v", err)
	}
	// A permission that is revoked after planning.
	p, err := c.Plan(t.Context(), Request{Owner: kube.Owner{Release: "web", Namespace: ns}, New: objects})
	if err != nil {
		t.Fatal(err)
	}
	err = poor.Execute(t.Context(), p, p.Steps)
	var forbidden *kube.ForbiddenError
	if !errors.As(err, &forbidden) || forbidden.Verb != "create" || forbidden.Resource != "configmaps" || forbidden.Namespace != ns || !apierrors.IsForbidden(err) {
		t.Errorf("Apply: %v", err)
	}
	if err := poor.CreateNamespace(t.Context(), ns); err == nil {
		t.Error("a namespace that cannot be seen was taken for there")
	}
	// Waiting without the permission to list or watch reads each object.
	if err := c.Apply(t.Context(), objects, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := poor.WaitReady(ctx, objects, ns, false); err != nil {
		t.Errorf("WaitReady: %v", err)
	}
}

func TestTerminatingNamespaceIsNotForbiddenError(t *testing.T) {
	c, _ := client(t)
	ns := namespace(t, c)
	quota := apitest.Parse(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {count/secrets: \"0\"}}")
	if err := c.Apply(t.Context(), quota, kube.Owner{Release: "web", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // the quota controller counts first
	err := c.Apply(t.Context(), apitest.Parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}"), kube.Owner{Release: "web", Namespace: ns})
	var forbidden *kube.ForbiddenError
	if err == nil || errors.As(err, &forbidden) || !strings.Contains(err.Error(), "quota") {
		t.Errorf("Apply over quota: %v", err)
	}
}
