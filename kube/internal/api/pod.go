// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
)

// Pod is the part of a pod that tells how it fares.
type Pod struct {
	Metadata struct {
		Name     string            `json:"name"`
		UID      string            `json:"uid"`
		Labels   map[string]string `json:"labels"`
		Created  string            `json:"creationTimestamp"`
		Deletion string            `json:"deletionTimestamp"`
		Owners   []OwnerRef        `json:"ownerReferences"`
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
		InitContainerStatuses []ContainerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []ContainerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// OwnerRef is what made an object.
type OwnerRef struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// ContainerStatus is how a container is.
type ContainerStatus struct {
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

// Words tell why a container waits.
func (s containerState) Words() string {
	return Reason(map[string]any{"reason": s.Reason, "message": strings.TrimSpace(s.Message)})
}

// Ending tells how a container ended.
func (s containerState) Ending() string {
	out := fmt.Sprintf("exit code %d", s.ExitCode)
	if s.Reason != "" && s.Reason != "Error" && s.Reason != "Completed" {
		out += ", " + s.Reason
	}
	if s.Message != "" {
		out += ": " + strings.TrimSpace(s.Message)
	}
	return out
}

// Containers are the init containers, then the others.
func (p *Pod) Containers() []ContainerStatus {
	return append(slices.Clip(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...)
}

// Maker is the object that made the pod and looks after it.
func (p *Pod) Maker() OwnerRef {
	for _, o := range p.Metadata.Owners {
		if o.Controller {
			return o
		}
	}
	return OwnerRef{}
}

// PodPlace is where the pods of a namespace live.
func PodPlace(namespace string) Place {
	return Place{&kube.Resource{Kind: "Pod", Plural: "pods", Namespaced: true, APIVersion: "v1"}, namespace}
}

// JobPods selects the pods of a job, by the label that they have always had.
func JobPods(job string) url.Values { return url.Values{"labelSelector": {"job-name=" + job}} }

// PodSelector is the label selector of the pods that a workload makes, as its
// manifest says it, "" for kinds that make none. A Job's manifest has none, so
// its pods are not shown, as Helm does not show them.
func PodSelector(kind string, object map[string]any) string {
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
