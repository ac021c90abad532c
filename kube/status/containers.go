// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// addContainers adds the containers of a pod, and completes its state by theirs.
func (n *Node) addContainers() {
	var p api.Pod
	if runtime.DefaultUnstructuredConverter.FromUnstructured(n.object, &p) != nil {
		return
	}
	n.Children = append(n.containers("InitContainer", "initContainers", p.Status.InitContainerStatuses),
		n.containers("Container", "containers", p.Status.ContainerStatuses)...)
	ready, all := 0, 0
	for _, child := range n.Children {
		n.Restarts += child.Restarts
		if child.Kind == "Container" {
			all++
			if child.State == Ready {
				ready++
			}
		}
	}
	n.Ready = fmt.Sprintf("%d/%d", ready, all)
	switch {
	case p.Status.Phase == "Succeeded":
		n.State, n.Ready = Completed, ""
	case n.State == Progressing && p.Metadata.Deletion == "":
		n.explain(&p)
	}
}

// explain sets the reason of a pod that is not ready: that it cannot be scheduled, or the first of
// its containers that fails.
func (n *Node) explain(p *api.Pod) {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			message := line(c.Message)
			if _, why, ok := strings.Cut(message, " nodes are available: "); ok {
				message = why
			}
			n.Reason = "not scheduled: " + message
			if c.Reason == "Unschedulable" {
				n.State = Failing
			}
			return
		}
	}
	for _, child := range n.Children {
		if child.State == Failing {
			n.State, n.Reason = Failing, child.Name+": "+child.Reason
			return
		}
	}
}

// containers returns the nodes of the containers in a field of the pod's spec.
func (n *Node) containers(kind, field string, statuses []api.ContainerStatus) []*Node {
	var out []*Node
	specs, _ := api.Field(n.object, "spec", field).([]any)
	for _, s := range specs {
		spec, _ := s.(map[string]any)
		child := &Node{Kind: kind, Name: api.String(spec, "name"), State: Progressing, Reason: "not started"}
		for _, status := range statuses {
			if status.Name == child.Name {
				child.setContainer(status, api.String(spec, "restartPolicy") == "Always")
			}
		}
		out = append(out, child)
	}
	return out
}

// setContainer sets the state of a container. sidecar is set for an init container that keeps
// running.
func (n *Node) setContainer(s api.ContainerStatus, sidecar bool) {
	n.Restarts = s.RestartCount
	wait, end, before := s.State.Waiting, s.State.Terminated, s.LastState.Terminated
	switch {
	case s.Ready && end != nil, end != nil && end.ExitCode == 0:
		n.State, n.Reason = Completed, ""
	case s.Ready:
		n.State, n.Reason = Ready, ""
	case end != nil:
		n.State, n.Reason = Failing, "ended with "+line(end.DescribeExit())
	case before != nil && before.ExitCode != 0:
		n.State, n.Reason = Failing, "crashed: "+line(before.DescribeExit())
		if wait != nil && wait.Reason != "" {
			n.Reason = wait.Reason + ", " + n.Reason
		}
	case wait != nil:
		n.setWaiting(s.Image, wait.Reason, wait.Describe())
	case s.State.Running != nil && n.Kind == "InitContainer" && !sidecar:
		n.Reason = "running"
	case s.State.Running != nil:
		n.Reason = "running, not ready"
	}
}

func (n *Node) setWaiting(image, reason, text string) {
	switch reason {
	case "", "ContainerCreating", "PodInitializing":
		n.Reason = "not started"
		if reason != "" {
			n.Reason = reason
		}
		return
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		text = fmt.Sprintf("%s: its image %s cannot be pulled", reason, image)
	}
	n.State, n.Reason = Failing, line(text)
}

// maxLine is the maximum length of a reason, in characters.
const maxLine = 300

// line returns the first line of a message.
func line(text string) string {
	return truncate.Line(text, maxLine, "…")
}
