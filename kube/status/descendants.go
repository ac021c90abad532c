// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/manifest"
)

// maxListed is the maximum number of objects that are read of one list.
const maxListed = 5000

// listing is a list of the objects of a kind in a namespace that may belong to the release.
type listing struct {
	place    api.Collection
	selector string
}

// resource returns a kind of the built-in controllers.
func resource(apiVersion, kind, plural string) kube.Resource {
	return kube.Resource{APIVersion: apiVersion, Kind: kind, Plural: plural, Namespaced: true}
}

// created returns the kinds that the built-in controllers create.
func created() []kube.Resource {
	return []kube.Resource{
		resource("apps/v1", "Deployment", "deployments"),
		resource("apps/v1", "StatefulSet", "statefulsets"),
		resource("apps/v1", "DaemonSet", "daemonsets"),
		resource("batch/v1", "Job", "jobs"),
		resource("apps/v1", "ReplicaSet", "replicasets"),
		resource("v1", "Pod", "pods"),
		resource("v1", "Service", "services"),
		resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
	}
}

// creates returns the kinds of the objects that n may own, directly or not. The controller of a
// custom resource may create any.
func (n *Node) creates() []string {
	switch {
	case n.object == nil || n.Namespace == "":
		return nil
	case n.is("apps", "Deployment"):
		return []string{"ReplicaSet", "Pod"}
	case n.is("batch", "CronJob"):
		return []string{"Job", "Pod"}
	case n.is("apps", "StatefulSet"), n.is("apps", "DaemonSet"), n.is("apps", "ReplicaSet"), n.is("batch", "Job"),
		n.is("", "ReplicationController"):
		return []string{"Pod"}
	case n.is("", "Service"):
		return []string{"EndpointSlice"}
	case n.isCustom():
		return []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "Pod", "Service"}
	}
	return nil
}

// isCustom reports whether n is of a group that is not Kubernetes' own.
func (n *Node) isCustom() bool {
	group := manifest.Group(n.APIVersion)
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io")
}

// lists returns the lists that it takes to read all that the roots own.
func (f *family) lists() []listing {
	var out []listing
	makers := map[string]map[string][]*Node{} // by namespace and created kind
	for _, n := range f.roots {
		for _, kind := range n.creates() {
			if makers[n.Namespace] == nil {
				makers[n.Namespace] = map[string][]*Node{}
			}
			makers[n.Namespace][kind] = append(makers[n.Namespace][kind], n)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(makers)) {
		for _, r := range created() {
			if by := makers[namespace][r.Kind]; by != nil {
				out = append(out, listing{api.Collection{Resource: &r, Namespace: namespace}, selectorFor(r.Kind, by)})
			}
		}
	}
	return out
}

// selectorFor returns a label selector for the objects of a kind that makers create, or "" for all.
func selectorFor(kind string, makers []*Node) string {
	if kind == "EndpointSlice" {
		return serviceSelector(makers)
	}
	var common map[string]string
	for _, n := range makers {
		labels := podLabels(n)
		if common == nil {
			common = labels
		}
		common = maps.Clone(common)
		maps.DeleteFunc(common, func(k, v string) bool { return labels[k] != v })
		if len(common) == 0 {
			return ""
		}
	}
	var parts []string
	for k, v := range common {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// maxNames is the maximum number of names in a selector.
const maxNames = 50

func serviceSelector(services []*Node) string {
	const label = "kubernetes.io/service-name"
	if len(services) > maxNames {
		return label
	}
	var names []string
	for _, n := range services {
		names = append(names, n.Name)
	}
	return label + " in (" + strings.Join(names, ",") + ")"
}

// podLabels returns labels that all pods of n have, and its ReplicaSets.
func podLabels(n *Node) map[string]string {
	selector, _ := api.Field(n.object, "spec", "selector").(map[string]any)
	if labels, ok := selector["matchLabels"].(map[string]any); ok {
		selector = labels
	} else if n.Kind != "ReplicationController" {
		return nil
	}
	out := map[string]string{}
	for k, v := range selector {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// list reads a list, or returns a note why it cannot be read.
func (c *Reader) list(ctx context.Context, l listing) (found []*Node, note string, err error) {
	query := url.Values{"limit": {strconv.Itoa(api.ListPage)}}
	if l.selector != "" {
		query.Set("labelSelector", l.selector)
	}
	r, namespace := l.place.Resource, l.place.Namespace
	for page := 1; ; page++ {
		body, err := c.api.Call(ctx, http.MethodGet, r.Path(namespace, ""), query, nil, nil)
		var forbidden *kube.ForbiddenError
		switch {
		case errors.As(err, &forbidden):
			return nil, fmt.Sprintf("you may not list %s in namespace %s", r.Plural, namespace), nil
		case apierrors.IsNotFound(err):
			return nil, "", nil // the cluster does not have the kind
		case err != nil:
			return nil, "", fmt.Errorf("list %s: %w", r.Plural, err)
		}
		items, next, err := api.DecodeList(body, false)
		if err != nil {
			return nil, "", fmt.Errorf("list %s: %w", r.Plural, err)
		}
		for _, o := range items {
			if o == nil {
				continue
			}
			o["apiVersion"], o["kind"] = r.APIVersion, r.Kind
			found = append(found, newNode(r.APIVersion, r.Kind, namespace, api.String(o, "metadata", "name"), o))
		}
		if next == "" {
			return found, "", nil
		}
		if len(found) >= maxListed || page == 2*maxListed/api.ListPage { // pages may be short, or without end
			return found, fmt.Sprintf("only %d %s in namespace %s were read", len(found), r.Plural, namespace), nil
		}
		query.Set("continue", next)
	}
}
