// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

func podOf(o map[string]any) (*api.Pod, error) {
	var p api.Pod
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &p)
	return &p, err
}

// podQuery returns a query for the pods of all makers. It selects by the labels that all their
// pod templates have in common, to get few others.
func podQuery(makers []*api.Target) url.Values {
	if len(makers) == 1 && makers[0].Kind == "Job" {
		return api.JobPods(makers[0].Name)
	}
	var common map[string]any
	for i, t := range makers {
		labels, _ := api.Field(t.Object, "spec", "template", "metadata", "labels").(map[string]any)
		if i == 0 {
			common = map[string]any{}
			for k, v := range labels {
				common[k] = v
			}
		}
		for k, v := range common {
			if labels[k] != v {
				delete(common, k)
			}
		}
	}
	var parts []string
	for k, v := range common {
		if s, ok := v.(string); ok {
			parts = append(parts, k+"="+s)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	slices.Sort(parts)
	return url.Values{"labelSelector": {strings.Join(parts, ",")}}
}

// updatePod updates the state of a pod; w.mu must be held.
func (w *waiting) updatePod(namespace, name string, raw json.RawMessage) {
	if raw == nil {
		for _, a := range w.owners {
			if _, ok := a.pods[name]; ok && a.Namespace == namespace {
				delete(a.pods, name)
				w.evaluate(a)
			}
			if a.known[name] != nil && a.Namespace == namespace {
				delete(a.known, name)
				w.watch.pods--
			}
		}
		return
	}
	var p api.Pod
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	made := p.Controller()
	a, set := w.owners[ownerKey{made.Kind, namespace, made.Name}], ""
	if a == nil && made.Kind == "ReplicaSet" {
		// The name of a ReplicaSet is the Deployment's name and the label's value.
		set = made.Name
		a = w.owners[ownerKey{"Deployment", namespace, strings.TrimSuffix(set, "-"+p.Metadata.Labels["pod-template-hash"])}]
	}
	if a == nil {
		a = w.byName[involved{"Pod", namespace, name}]
		if a != nil && a.beside {
			w.seePod(a, &p, "")
		}
		return
	}
	w.seePod(a, &p, set)
	found := troublesOf(&p, w.grace, a.Kind == "Job")
	old := a.pods[name]
	if len(found) == 0 {
		if old != nil {
			delete(a.pods, name)
			w.evaluate(a)
		}
		return
	}
	var before []trouble
	if old != nil && old.uid == p.Metadata.UID {
		before = old.troubles
	}
	keepSince(before, found, time.Now())
	a.pods[name] = &podTrouble{uid: p.Metadata.UID, maker: made.UID, set: set, labels: p.Metadata.Labels, troubles: found}
	w.evaluate(a)
}

// replicaSet is the cached result of isLatestSet for a ReplicaSet of a Deployment.
type replicaSet struct {
	// revision is the revision of the Deployment at the time of the request.
	revision string
	// known is set when the request was answered, and newest if the ReplicaSet has that revision.
	known, newest bool
}

const revisionNote = "deployment.kubernetes.io/revision"

// isLatest reports whether a pod belongs to the latest revision of the object. If that takes a
// request, it starts one in the background and returns false; w.mu must be held.
func (w *waiting) isLatest(a *awaited, p *podTrouble) bool {
	if isStale(a.Target, a.live) {
		return false
	}
	switch {
	case p.set != "":
		return w.isLatestSet(a, p)
	case p.maker != api.String(a.live, "metadata", "uid"):
		return false
	case a.Kind == "StatefulSet":
		return p.labels["controller-revision-hash"] == api.String(a.live, "status", "updateRevision")
	case a.Kind == "DaemonSet":
		generation := api.String(a.live, "metadata", "annotations", "deprecated.daemonset.template.generation")
		return generation == "" || p.labels["pod-template-generation"] == generation
	}
	return true
}

func (w *waiting) isLatestSet(a *awaited, p *podTrouble) bool {
	revision := api.String(a.live, "metadata", "annotations", revisionNote)
	if !api.PlainName(p.set) {
		return false
	}
	if known, ok := a.sets[p.set]; ok && known.revision == revision {
		return known.newest
	}
	if w.ended {
		return false
	}
	a.sets[p.set] = replicaSet{revision: revision}
	uid, path := api.String(a.live, "metadata", "uid"), a.setPath(p.set)
	w.background(func(ctx context.Context) {
		newest := w.client.isLatestSet(ctx, path, uid, revision)
		w.mu.Lock()
		defer w.mu.Unlock()
		a.sets[p.set] = replicaSet{revision: revision, known: ctx.Err() == nil, newest: newest}
		if newest {
			w.evaluate(a)
		}
	})
	return false
}

// setPath returns the API path of a ReplicaSet of a.
func (a *awaited) setPath(set string) string {
	return "/apis/apps/v1/namespaces/" + a.Namespace + "/replicasets/" + set
}

// isLatestSet reports whether a ReplicaSet belongs to a Deployment and has the given revision. It
// returns false if the ReplicaSet cannot be read.
func (c *Waiter) isLatestSet(ctx context.Context, path, deployment, revision string) bool {
	body, err := c.api.Call(ctx, http.MethodGet, path, nil, http.Header{"Accept": {api.AcceptMeta}}, nil)
	var set struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
			Owners      []api.OwnerRef    `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if err != nil || json.Unmarshal(body, &set) != nil {
		return false
	}
	return set.Metadata.Annotations[revisionNote] == revision &&
		slices.ContainsFunc(set.Metadata.Owners, func(o api.OwnerRef) bool { return o.Controller && o.UID == deployment })
}
