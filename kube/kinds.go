// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
)

// shortNames returns kubectl's short names of the built-in kinds.
func shortNames() map[string]string {
	return map[string]string{
		"cm": "configmaps", "cj": "cronjobs", "deploy": "deployments", "ds": "daemonsets", "ep": "endpoints",
		"hpa": "horizontalpodautoscalers", "ing": "ingresses", "limits": "limitranges", "netpol": "networkpolicies",
		"ns": "namespaces", "pc": "priorityclasses", "pdb": "poddisruptionbudgets", "po": "pods",
		"pv": "persistentvolumes", "pvc": "persistentvolumeclaims", "quota": "resourcequotas",
		"rc": "replicationcontrollers", "rs": "replicasets", "sa": "serviceaccounts", "sc": "storageclasses",
		"sts": "statefulsets", "svc": "services", "crd": "customresourcedefinitions", "crds": "customresourcedefinitions",
	}
}

// FindKind returns the resource that word names as kubectl's users do: "Deployment", "deployment",
// "deployments", "deploy" or "deployments.apps". If several groups have the kind, the built-in one
// is meant. The error is a [*KindError] if the cluster serves no such kind, and otherwise that of
// [Client.Call].
func (c *Client) FindKind(ctx context.Context, word string) (*Resource, error) {
	served, err := c.currentKinds(ctx)
	if err != nil {
		return nil, err
	}
	name, group, hasGroup := strings.Cut(strings.ToLower(word), ".")
	if plural := shortNames()[name]; plural != "" {
		name = plural
	}
	var known []string
	for _, list := range [][]groupVersion{served.CoreVersions, served.GroupVersions} {
		for _, gv := range list {
			if hasGroup && gv.Group != group {
				continue
			}
			for i := range gv.Resources {
				r := &gv.Resources[i]
				if name == strings.ToLower(r.Kind) || name == r.Plural {
					return r, nil
				}
				known = append(known, strings.ToLower(r.Kind), r.Plural)
			}
		}
	}
	if !hasGroup {
		known = slices.AppendSeq(known, maps.Keys(shortNames()))
	}
	slices.Sort(known)
	return nil, &KindError{Word: word, Similar: suggest.Nearest(slices.Compact(known), word)}
}

// A KindError is returned for a word that names no kind that the cluster serves.
type KindError struct {
	Word    string
	Similar []string
}

func (e *KindError) Error() string { return fmt.Sprintf("the cluster serves no kind %q", e.Word) }

// Hint returns advice for the user of the command line.
func (e *KindError) Hint() string {
	if len(e.Similar) > 0 {
		return "did you mean: " + strings.Join(e.Similar, ", ")
	}
	return "kubectl api-resources lists the kinds of the cluster"
}
