// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
)

// Pod is the part of a pod that determines its state.
type Pod struct {
	Metadata struct {
		Name     string            `json:"name"`
		UID      string            `json:"uid"`
		Labels   map[string]string `json:"labels"`
		Created  string            `json:"creationTimestamp"`
		Deletion string            `json:"deletionTimestamp"`
		Owners   []OwnerRef        `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Volumes []struct {
			Claim *struct {
				Name string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		Reason     string `json:"reason"`
		Message    string `json:"message"`
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
			Since   string `json:"lastTransitionTime"`
		} `json:"conditions"`
		InitContainerStatuses []ContainerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []ContainerStatus `json:"containerStatuses"`
	} `json:"status"`
}

// OwnerRef is an owner reference.
type OwnerRef struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// ContainerStatus is the status of a container.
type ContainerStatus struct {
	Name         string `json:"name"`
	Image        string `json:"image"`
	Ready        bool   `json:"ready"`
	RestartCount int    `json:"restartCount"`
	State        struct {
		Waiting    *containerState `json:"waiting"`
		Running    *runningState   `json:"running"`
		Terminated *containerState `json:"terminated"`
	} `json:"state"`
	// LastState is the state at the end of the previous run.
	LastState struct {
		Terminated *containerState `json:"terminated"`
	} `json:"lastState"`
}

type runningState struct {
	Since string `json:"startedAt"`
}

type containerState struct {
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal"`
	Since    string `json:"startedAt"` // of a container that has ended
}

// Describe returns the reason and message of a waiting container.
func (s containerState) Describe() string {
	return Reason(map[string]any{"reason": s.Reason, "message": strings.TrimSpace(s.Message)})
}

// DescribeExit describes the termination of a container: "exit code 1, OOMKilled".
func (s containerState) DescribeExit() string {
	out := fmt.Sprintf("exit code %d", s.ExitCode)
	if s.Reason != "" && s.Reason != "Error" && s.Reason != "Completed" {
		out += ", " + s.Reason
	}
	if s.Message != "" {
		out += ": " + strings.TrimSpace(s.Message)
	}
	return out
}

// Containers returns the statuses of the init containers, then of the others.
func (p *Pod) Containers() []ContainerStatus {
	return append(slices.Clip(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...)
}

// Controller returns the controller of the pod, or the zero value if it has none.
func (p *Pod) Controller() OwnerRef {
	for _, o := range p.Metadata.Owners {
		if o.Controller {
			return o
		}
	}
	return OwnerRef{}
}

// PodCollection returns the collection of the pods of a namespace.
func PodCollection(namespace string) Collection {
	return Collection{&kube.Resource{Kind: "Pod", Plural: "pods", Namespaced: true, APIVersion: "v1"}, namespace}
}

// JobPods returns the query for the pods of a job. It uses the label that all versions of
// Kubernetes set.
func JobPods(job string) url.Values { return url.Values{"labelSelector": {"job-name=" + job}} }

// PodSelector returns the label selector of a workload's pods from its manifest, or "" for
// other kinds. The manifest of a Job has no selector, so its pods are not shown, as in Helm.
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
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
