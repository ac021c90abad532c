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

// Permission is what the user must be allowed to do.
type Permission struct {
	Verb string // as in a Role: "create", "patch", "delete", ...
	// Resource is what it is about: "secrets", "deployments.apps", "pods/log".
	// Where it is empty, APIVersion and Kind say it; a kind that the cluster does not serve
	// needs none.
	Resource         string
	APIVersion, Kind string
	// Namespace is "" for what is a matter of the whole cluster.
	Namespace string
	// Name is the object, "" for any.
	Name string
}

func (r Permission) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s in the whole cluster", r.Verb, r.Resource)
	}
	return fmt.Sprintf("%s %s in namespace %q", r.Verb, r.Resource, r.Namespace)
}

// A PermissionError is returned when the user lacks permissions. It lists each once,
// without the names of objects.
type PermissionError struct{ Missing []Permission }

func (e *PermissionError) Error() string { return "nothing was changed: " + e.List() }

// List names the permissions that are missing.
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

// CheckPermissions returns a [*PermissionError] where the user may not do verb with each
// of the objects, which live in namespace unless they say otherwise, or lacks
// one of the other permissions. Where the cluster does not tell, it returns nil.
func (c *Applier) CheckPermissions(ctx context.Context, verb string, objects []*manifest.Object, namespace string,
	also ...Permission) error {
	all, err := api.Unplaced(objects)
	if err != nil {
		return err
	}
	targets, _, err := c.api.Place(ctx, all, namespace)
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

// review is what the cluster says of the user's permissions. It asks as little as
// it can: a user who may do everything is known with one question, others with
// one for each namespace, and single permissions are asked for only where the rules
// say no, or cannot say.
type review struct {
	client *Applier
	done   chan struct{}
	all    bool // everything is allowed
	blind  bool // the cluster does not tell
	rules  map[string]*ruleSet
}

type ruleSet struct {
	Rules []struct {
		Verbs         []string `json:"verbs"`
		APIGroups     []string `json:"apiGroups"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
	} `json:"resourceRules"`
}

// newReview begins to ask about the namespaces of the given permissions.
func (c *Applier) newReview(ctx context.Context, permissions []Permission) *review {
	v := &review{client: c.On(c.api.WithoutRetry().WithProgress(nil)), done: make(chan struct{}),
		rules: map[string]*ruleSet{}}
	for _, r := range permissions {
		if r.Namespace != "" {
			v.rules[r.Namespace] = nil
		}
	}
	go func() {
		defer close(v.done)
		v.ask(ctx)
	}()
	return v
}

func (v *review) ask(ctx context.Context) {
	allowed, err := v.access(ctx, Permission{Verb: "*", Resource: "*.*"})
	v.all, v.blind = allowed, err != nil
	if v.all || v.blind {
		return
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(kube.Parallel)
	var mu sync.Mutex
	// The first answers come while the last questions are asked.
	for _, namespace := range slices.Collect(maps.Keys(v.rules)) {
		group.Go(func() error {
			// Without an answer the single questions decide.
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

// check returns a [*PermissionError] that lists what is missing.
func (v *review) check(ctx context.Context, permissions []Permission) error {
	<-v.done
	if v.all || v.blind || len(permissions) == 0 {
		return context.Cause(ctx)
	}
	permissions, err := v.client.placePermissions(ctx, permissions)
	if err != nil {
		return err
	}
	var doubtful []Permission
	names := map[Permission][]string{} // by the permission without a name
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
			missing[i] = v.refused(gctx, r, names[r])
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

// refused reports whether the cluster says no to r, for any object and for one of
// those named. An answer that does not come is not a refusal.
func (v *review) refused(ctx context.Context, r Permission, names []string) bool {
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

// placePermissions finds the resources of permissions that name a kind.
func (c *Applier) placePermissions(ctx context.Context, permissions []Permission) ([]Permission, error) {
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

// allow reports whether the rules allow r. named reports that some rule allows it
// for some objects by name. A nil set allows nothing.
func (s *ruleSet) allow(r Permission) (allowed, named bool) {
	if s == nil {
		return false, true
	}
	plural, group, _ := strings.Cut(r.Resource, ".")
	for _, rule := range s.Rules {
		if !covers(rule.Verbs, r.Verb) || !covers(rule.APIGroups, group) || !covers(rule.Resources, plural) {
			continue
		}
		if len(rule.ResourceNames) == 0 || r.Name != "" && slices.Contains(rule.ResourceNames, r.Name) {
			return true, false
		}
		named = true
	}
	return false, named
}

func covers(list []string, s string) bool {
	return slices.Contains(list, s) || slices.Contains(list, "*")
}

const reviews = "/apis/authorization.k8s.io/v1/"

// access asks for one permission.
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
	err := v.question(ctx, "SelfSubjectAccessReview", map[string]any{"resourceAttributes": attributes}, &status)
	return status.Allowed, err
}

func (v *review) rulesIn(ctx context.Context, namespace string) (*ruleSet, error) {
	var status ruleSet
	err := v.question(ctx, "SelfSubjectRulesReview", map[string]any{"namespace": namespace}, &status)
	return &status, err
}

// question asks the review API, and reads the status of its answer.
func (v *review) question(ctx context.Context, kind string, spec map[string]any, status any) error {
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

// Hint says what a user of the command line can do about it.
func (e *PermissionError) Hint() string { return (*kube.ForbiddenError)(nil).Hint() }
