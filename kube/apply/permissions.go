// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// Permission is a permission that an operation needs.
type Permission struct {
	Verb string // as in a Role: "create", "patch", "delete", ...
	// Resource is the plural with its group and subresource: "secrets", "deployments.apps",
	// "pods/log". If it is empty, APIVersion and Kind determine it; a kind that the cluster
	// does not serve needs no permission.
	Resource         string
	APIVersion, Kind string
	// Namespace is empty for a cluster-wide permission.
	Namespace string
	// Name is the name of the object, or "" for any object.
	Name string
}

func (r Permission) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s in the whole cluster", r.Verb, r.Resource)
	}
	return fmt.Sprintf("%s %s in namespace %q", r.Verb, r.Resource, r.Namespace)
}

// A PermissionError is returned when the user lacks permissions. Missing has no duplicates and
// no object names.
type PermissionError struct{ Missing []Permission }

func (e *PermissionError) Error() string { return "nothing was changed: " + e.List() }

// List formats the missing permissions.
func (e *PermissionError) List() string {
	if len(e.Missing) == 1 {
		return "the permission to " + e.Missing[0].String() + " is missing"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d permissions are missing", len(e.Missing))
	for _, r := range e.Missing {
		b.WriteString("\n  " + r.String())
	}
	return b.String()
}

// CheckPermissions returns a [*PermissionError] if the user lacks the permission for verb on
// one of the objects, or one of the permissions in also. Objects without a namespace are in the
// given one. If the cluster does not support access reviews, it returns nil.
func (c *Applier) CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, namespace string,
	also ...Permission) error {
	all, err := api.ParseTargets(objects)
	if err != nil {
		return err
	}
	targets, _, err := c.api.ResolveTargets(ctx, all, namespace)
	if err != nil {
		return err
	}
	permissions := make([]Permission, len(targets))
	for i, t := range targets {
		permissions[i] = permissionFor(verb, t)
	}
	permissions = append(permissions, also...)
	return c.newReview(ctx, permissions).check(ctx, permissions)
}

func permissionFor(verb string, t *api.Target) Permission {
	return Permission{Verb: verb, Resource: t.Resource.Name(), Namespace: t.Namespace, Name: t.Name}
}

// review determines the user's permissions with few requests: one for a user who may do
// everything, otherwise one for each namespace. It checks single permissions only if these
// rules do not grant them.
type review struct {
	client      *Applier
	done        chan struct{}
	all         bool // everything is allowed
	unavailable bool // access reviews are not available
	rules       map[string]*ruleSet
}

type ruleSet struct {
	Rules []struct {
		Verbs         []string `json:"verbs"`
		APIGroups     []string `json:"apiGroups"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
	} `json:"resourceRules"`
}

// newReview returns a review that loads the rules of the permissions' namespaces in the
// background.
func (c *Applier) newReview(ctx context.Context, permissions []Permission) *review {
	v := &review{client: c.WithClient(c.api.WithoutRetry().WithProgress(nil)), done: make(chan struct{}),
		rules: map[string]*ruleSet{}}
	for _, r := range permissions {
		if r.Namespace != "" {
			v.rules[r.Namespace] = nil
		}
	}
	go func() {
		defer close(v.done)
		v.load(ctx)
	}()
	return v
}

func (v *review) load(ctx context.Context) {
	allowed, err := v.access(ctx, Permission{Verb: "*", Resource: "*.*"})
	v.all, v.unavailable = allowed, err != nil
	if v.all || v.unavailable {
		return
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	var mu sync.Mutex
	// v.rules is written while the keys are iterated, hence the copy.
	for _, namespace := range slices.Collect(maps.Keys(v.rules)) {
		group.Go(func() error {
			// If this fails, check asks for each permission.
			set, err := v.rulesIn(ctx, namespace)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				v.rules[namespace] = set
			}
			return nil
		})
	}
	_ = group.Wait()
}

// check returns a [*PermissionError] with the missing ones of permissions.
func (v *review) check(ctx context.Context, permissions []Permission) error {
	<-v.done
	if v.all || v.unavailable || len(permissions) == 0 {
		return context.Cause(ctx)
	}
	permissions, err := v.client.resolvePermissions(ctx, permissions)
	if err != nil {
		return err
	}
	var doubtful []Permission
	names := map[Permission][]string{} // keys have no object name
	for _, r := range permissions {
		allowed, named := v.rules[r.Namespace].allow(r)
		if allowed {
			continue
		}
		name := r.Name
		r.Name, r.APIVersion, r.Kind = "", "", ""
		if _, seen := names[r]; !seen {
			names[r] = nil
			doubtful = append(doubtful, r)
		}
		if named && name != "" && !slices.Contains(names[r], name) {
			names[r] = append(names[r], name)
		}
	}
	missing := make([]bool, len(doubtful))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	for i, r := range doubtful {
		group.Go(func() error {
			missing[i] = v.isDenied(gctx, r, names[r])
			return nil
		})
	}
	_ = group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	e := &PermissionError{}
	for i, r := range doubtful {
		if missing[i] {
			e.Missing = append(e.Missing, r)
		}
	}
	if len(e.Missing) == 0 {
		return nil
	}
	slices.SortFunc(e.Missing, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return e
}

// isDenied reports whether the cluster denies r, for any object and for at least one of names.
// A failed request does not count as denial.
func (v *review) isDenied(ctx context.Context, r Permission, names []string) bool {
	allowed, err := v.access(ctx, r)
	if allowed || err != nil || len(names) == 0 {
		return !allowed && err == nil
	}
	for _, r.Name = range names {
		if allowed, err := v.access(ctx, r); !allowed && err == nil {
			return true
		}
	}
	return false
}

// resolvePermissions sets the resources of permissions that have a kind.
func (c *Applier) resolvePermissions(ctx context.Context, permissions []Permission) ([]Permission, error) {
	var wanted []kube.Kind
	for _, r := range permissions {
		if r.Resource == "" {
			wanted = append(wanted, kube.Kind{APIVersion: r.APIVersion, Kind: r.Kind})
		}
	}
	if len(wanted) == 0 {
		return permissions, nil
	}
	found, err := c.api.Resolve(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var out []Permission
	for _, r := range permissions {
		if r.Resource == "" {
			res := found[kube.Kind{APIVersion: r.APIVersion, Kind: r.Kind}]
			if res == nil {
				continue
			}
			r.Resource = res.Name()
			if !res.Namespaced {
				r.Namespace = ""
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// allow reports whether the rules allow r. named reports whether a rule allows it for some
// object names. A nil set allows nothing.
func (s *ruleSet) allow(r Permission) (allowed, named bool) {
	if s == nil {
		return false, true
	}
	plural, group, _ := strings.Cut(r.Resource, ".")
	for _, rule := range s.Rules {
		if !matches(rule.Verbs, r.Verb) || !matches(rule.APIGroups, group) || !matches(rule.Resources, plural) {
			continue
		}
		if len(rule.ResourceNames) == 0 || r.Name != "" && slices.Contains(rule.ResourceNames, r.Name) {
			return true, false
		}
		named = true
	}
	return false, named
}

func matches(list []string, s string) bool {
	return slices.Contains(list, s) || slices.Contains(list, "*")
}

const reviews = "/apis/authorization.k8s.io/v1/"

// access sends a SelfSubjectAccessReview for one permission.
func (v *review) access(ctx context.Context, r Permission) (bool, error) {
	plural, group, _ := strings.Cut(r.Resource, ".")
	plural, sub, _ := strings.Cut(plural, "/")
	attributes := map[string]any{"verb": r.Verb, "group": group, "resource": plural}
	if sub != "" {
		attributes["subresource"] = sub
	}
	if r.Namespace != "" {
		attributes["namespace"] = r.Namespace
	}
	if r.Name != "" {
		attributes["name"] = r.Name
	}
	var status struct {
		Allowed bool `json:"allowed"`
	}
	err := v.post(ctx, "SelfSubjectAccessReview", map[string]any{"resourceAttributes": attributes}, &status)
	return status.Allowed, err
}

func (v *review) rulesIn(ctx context.Context, namespace string) (*ruleSet, error) {
	var status ruleSet
	err := v.post(ctx, "SelfSubjectRulesReview", map[string]any{"namespace": namespace}, &status)
	return &status, err
}

// post creates a review object and decodes the status of the response.
func (v *review) post(ctx context.Context, kind string, spec map[string]any, status any) error {
	body, err := json.Marshal(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec})
	if err != nil {
		return err
	}
	body, err = v.client.api.Call(ctx, http.MethodPost, reviews+strings.ToLower(kind)+"s", nil,
		http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, &struct {
		Status any `json:"status"`
	}{status})
}

// Hint returns advice for the user of the command line.
func (e *PermissionError) Hint() string { return (*kube.ForbiddenError)(nil).Hint() }
