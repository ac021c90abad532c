// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/kube/internal/apitest"
	"github.com/moonhelm/moonhelm/kube/wait"
	"github.com/moonhelm/moonhelm/manifest"
)

func TestHookPermanentFailure(t *testing.T) {
	for _, test := range []struct{ name, hook, want string }{
		{"image", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: h}\nspec: {template: {metadata: {annotations: {moonhelm.test/waiting: ErrImagePull}}, spec: {restartPolicy: Never, containers: [{name: main, image: nowhere}]}}}", "its image nowhere cannot be pulled"},
		{"crash", "apiVersion: v1\nkind: Pod\nmetadata: {name: h, annotations: {moonhelm.test/exit-code: \"5\", moonhelm.test/restart-after: 300ms}}\nspec: {restartPolicy: OnFailure, containers: [{name: main, image: a}]}", "crashes again and again (exit code 5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _ := quickClient(t)
			ns := namespace(t, c)
			hook := apitest.Parse(t, test.hook)[0]
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := c.CreateHook(ctx, hook, ns); err != nil {
				t.Fatal(err)
			}
			err := c.Finish(ctx, wait.Request{Objects: []*manifest.Object{hook}, Namespace: ns})
			var failed *wait.FailedError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Finish: %v", err)
			}
		})
	}
}

func TestHookDeletedWhileRunning(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	hook := apitest.Parse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: h, annotations: {moonhelm.test/run-forever: \"true\"}}\nspec: {restartPolicy: Never, containers: [{name: main, image: a}]}")[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.CreateHook(ctx, hook, ns); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Second, func() { _ = c.DeleteHook(context.Background(), hook, ns, "") })
	if err := c.Finish(ctx, wait.Request{Objects: []*manifest.Object{hook}, Namespace: ns}); err == nil || !strings.Contains(err.Error(), "was deleted before it finished") {
		t.Errorf("Finish: %v", err)
	}
}

// A hook's object is changed and deleted by its UID: a new object of the same name stays.
func TestHookUIDs(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	o := apitest.ConfigMaps(t, "a")[0]
	first, err := c.CreateHook(t.Context(), o, ns)
	if err != nil || first == "" {
		t.Fatalf("uid %q, %v", first, err)
	}
	if err := c.UpdateHook(t.Context(), o, ns, first); err != nil {
		t.Errorf("update: %v", err)
	}
	if err := removeHook(t.Context(), c, o, ns, first); err != nil {
		t.Fatal(err)
	}
	second, err := c.CreateHook(t.Context(), o, ns)
	if err != nil || second == first {
		t.Fatalf("uid %q, %v", second, err)
	}
	if err := c.UpdateHook(t.Context(), o, ns, first); err == nil {
		t.Error("another object was changed")
	}
	if err := removeHook(t.Context(), c, o, ns, first); err != nil {
		t.Errorf("delete of another object: %v", err)
	}
	live, err := c.LiveHook(t.Context(), o, ns)
	if err != nil || api.String(live, "metadata", "uid") != second {
		t.Errorf("%v, %v", live, err)
	}
}

// Metadata of a list does not apply to its items.
func TestHookRejectsLists(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	ns := namespace(t, c)
	two := apitest.Parse(t, "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}")[0]
	_, create := c.CreateHook(t.Context(), two, ns)
	_, place := c.PlaceHook(t.Context(), two, ns)
	_, live := c.LiveHook(t.Context(), two, ns)
	for what, err := range map[string]error{
		"create": create, "place": place, "live": live,
		"update": c.UpdateHook(t.Context(), two, ns, ""), "delete": c.DeleteHook(t.Context(), two, ns, ""), "wait": c.WaitHookGone(t.Context(), two, ns, ""),
	} {
		if err == nil || !strings.Contains(err.Error(), "contains 2 objects, want one") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestPlaceHook(t *testing.T) {
	t.Parallel()
	c, _ := quickClient(t)
	for _, test := range []struct {
		text string
		want HookPlace
	}{
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", HookPlace{Served: true, Namespace: "web"}},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}", HookPlace{Served: true, Namespace: "b"}},
		{"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, namespace: b}}", HookPlace{Served: true}},
		{"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}", HookPlace{Served: true, Definition: true}},
		{"{apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: a}}", HookPlace{}},
	} {
		t.Run(test.text, func(t *testing.T) {
			if got, err := c.PlaceHook(t.Context(), apitest.Parse(t, test.text)[0], "web"); err != nil || got != test.want {
				t.Errorf("%s: got %+v, want %+v; %v", test.text, got, test.want, err)
			}
		})
	}
}
