// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"
) // pod is the part of a pod that tells how it fares.
type pod struct {
	Metadata struct {
		Name     string            `json:"name"`
		UID      string            `json:"uid"`
		Labels   map[string]string `json:"labels"`
		Created  string            `json:"creationTimestamp"`
		Deletion string            `json:"deletionTimestamp"`
		Owners   []ownerRef        `json:"ownerReferences"`
	} `json:"metadata"`
	Status struct {
		Phase      string `json:"phase"`
		Reason     string `json:"reason"`
		Message    string `json:"message"`
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type ownerRef struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

type containerStatus struct {
	Name         string `json:"name"`
	Image        string `json:"image"`
	Ready        bool   `json:"ready"`
	RestartCount int    `json:"restartCount"`
	State        struct {
		Waiting    *containerState `json:"waiting"`
		Running    *struct{}       `json:"running"`
		Terminated *containerState `json:"terminated"`
	} `json:"state"`
	// LastState is how the run before this one ended.
	LastState struct {
		Terminated *containerState `json:"terminated"`
	} `json:"lastState"`
}

type containerState struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal"`
}

// words tell why a container waits.
func (s containerState) words() string {
	return reason(map[string]any{"reason": s.Reason, "message": strings.TrimSpace(s.Message)})
}

// end tells how a container ended.
func (s containerState) end() string {
	out := fmt.Sprintf("exit code %d", s.ExitCode)
	if s.Reason != "" && s.Reason != "Error" && s.Reason != "Completed" {
		out += ", " + s.Reason
	}
	if s.Message != "" {
		out += ": " + strings.TrimSpace(s.Message)
	}
	return out
}

// containers are the init containers, then the others.
func (p *pod) containers() []containerStatus {
	return append(slices.Clip(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...)
}

// maker is the object that made the pod and looks after it.
func (p *pod) maker() ownerRef {
	for _, o := range p.Metadata.Owners {
		if o.Controller {
			return o
		}
	}
	return ownerRef{}
}

func podPlace(namespace string) placeKey {
	return placeKey{&resource{Kind: "Pod", Plural: "pods", Namespaced: true, apiVersion: "v1"}, namespace}
}

// jobPods selects the pods of a job, by the label that they have always had.
func jobPods(job string) url.Values { return url.Values{"labelSelector": {"job-name=" + job}} }

// podSelector is the label selector of the pods that a workload makes, as its
// manifest says it, "" for kinds that make none. A Job's manifest has none, so
// its pods are not shown, as Helm does not show them.
func podSelector(kind string, object map[string]any) string {
	spec, _ := object["spec"].(map[string]any)
	selector, _ := spec["selector"].(map[string]any)
	labels, _ := selector["matchLabels"].(map[string]any)
	switch kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job":
	case "ReplicationController":
		labels = selector
	default:
		return ""
	}
	var parts []string
	for k, v := range labels {
		parts = append(parts, fmt.Sprintf("%s=%v", k, v))
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}
