// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prefix begins the names of the annotations that control a pod's lifecycle. The README has a
// list.
const prefix = "moonhelm.test/"

// podStatus returns the status of a pod after a step, as JSON. The templates of the stages call
// it, with an untyped pod.
func podStatus(step string, object any, hostIP, podIP string) (string, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("read the pod: %w", err)
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(data, pod); err != nil {
		return "", fmt.Errorf("read the pod: %w", err)
	}
	p := player{Pod: pod, now: metav1.Now()}
	switch step {
	case "start":
		p.start(hostIP, podIP)
	case "init":
		p.initialize()
	case "restart-init":
		p.restartInit()
	case "ready":
		p.setReady(true)
	case "exit":
		p.exit()
	case "restart":
		p.restart()
	default:
		return "", fmt.Errorf("no step %q", step)
	}
	data, err = json.Marshal(p.Status)
	return string(data), err
}

// player changes a pod's status like a kubelet.
type player struct {
	*corev1.Pod
	now metav1.Time
}

func (p player) note(name string) string { return p.Annotations[prefix+name] }

// start sets the addresses of the pod and the waiting state of its containers.
func (p player) start(hostIP, podIP string) {
	s := &p.Status
	s.StartTime = &p.now
	s.HostIP, s.PodIP = hostIP, podIP
	s.HostIPs = []corev1.HostIP{{IP: hostIP}}
	s.PodIPs = []corev1.PodIP{{IP: podIP}}
	s.Phase = corev1.PodPending
	s.ContainerStatuses = p.each(p.Spec.Containers, waiting("PodInitializing"))
	s.InitContainerStatuses = p.each(p.Spec.InitContainers, waiting("PodInitializing"))
	p.setReady(false)
	p.condition("PodReadyToStartContainers", true, "", "")

	if reason := p.note("waiting"); reason != "" {
		for i := range s.ContainerStatuses {
			s.ContainerStatuses[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: reason, Message: "the pod asks for it by annotation"}}
		}
		// Without the condition Initialized, no further stage applies.
		p.condition(corev1.PodInitialized, true, "", "")
		return
	}
	if len(p.Spec.InitContainers) == 0 {
		p.run()
		return
	}
	p.restartInit()
}

// restartInit runs the init containers again.
func (p player) restartInit() {
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		if c.LastTerminationState.Terminated != nil {
			c.RestartCount++
		}
		c.State, c.Started = running(p.now), ptr(true)
	}
	p.condition(corev1.PodInitialized, false, "ContainersNotInitialized", "containers with incomplete status")
}

// initialize ends the init containers: sidecars keep running, and the others complete or all
// fail with the exit code of the pod's annotation.
func (p player) initialize() {
	code := p.code("init-exit-code")
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		if p.sidecar(c.Name) {
			c.Ready = code == 0
			continue
		}
		c.State, c.Started, c.Ready = p.terminated(c, code), ptr(false), code == 0
		if code != 0 && p.Spec.RestartPolicy != corev1.RestartPolicyNever {
			p.backOff(c)
		}
	}
	switch {
	case code == 0:
		p.run()
	case p.Spec.RestartPolicy == corev1.RestartPolicyNever:
		p.Status.Phase = corev1.PodFailed
	}
}

// run starts the main containers. Those that crash or wait are never ready.
func (p player) run() {
	p.Status.Phase = corev1.PodRunning
	p.condition(corev1.PodInitialized, true, "", "")
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		c.State, c.Started = running(p.now), ptr(true)
	}
	p.setReady(p.note("never-ready") != "true" && p.note("ready-after") == "" && p.note("exit-code") == "")
}

// exit ends the main containers.
func (p player) exit() {
	code := p.code("exit-code")
	if times := p.note("exit-times"); times != "" && p.restarts() >= number(times) {
		code = 0
	}
	p.setReady(false)
	again := p.Spec.RestartPolicy == corev1.RestartPolicyAlways ||
		p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && code != 0
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		exitCode := code
		if only := p.note("exit-container"); only != "" && only != c.Name {
			exitCode = 0
		}
		c.State, c.Started = p.terminated(c, exitCode), ptr(false)
		if again {
			p.backOff(c)
		}
	}
	if again {
		return
	}
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		if p.sidecar(c.Name) {
			c.State, c.Started, c.Ready = p.terminated(c, 0), ptr(false), false
		}
	}
	p.Status.Phase = corev1.PodSucceeded
	reason := "PodCompleted"
	if code != 0 {
		p.Status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	p.condition(corev1.PodReady, false, reason, "")
	p.condition(corev1.ContainersReady, false, reason, "")
}

// restart runs the main containers again after a crash.
func (p player) restart() {
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].RestartCount++
	}
	p.run()
	if times := p.note("exit-times"); times != "" && p.restarts() >= number(times) {
		p.setReady(p.note("never-ready") != "true" && p.note("ready-after") == "")
	}
}

func (p player) restarts() int32 {
	var most int32
	for _, c := range p.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	return most
}

// setReady sets the readiness of the main containers and of the pod.
func (p player) setReady(ready bool) {
	var names []string
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].Ready = ready
		names = append(names, p.Status.ContainerStatuses[i].Name)
	}
	reason, message := "", ""
	if !ready {
		reason = "ContainersNotReady"
		message = "containers with unready status: [" + strings.Join(names, " ") + "]"
	}
	p.condition(corev1.ContainersReady, ready, reason, message)
	p.condition(corev1.PodReady, ready, reason, message)
	for _, gate := range p.Spec.ReadinessGates {
		p.condition(gate.ConditionType, ready, reason, "")
	}
}

func (p player) condition(kind corev1.PodConditionType, value bool, reason, message string) {
	status := corev1.ConditionFalse
	if value {
		status = corev1.ConditionTrue
	}
	next := corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: p.now}
	for i, c := range p.Status.Conditions {
		if c.Type == kind {
			if c.Status == status {
				next.LastTransitionTime = c.LastTransitionTime
			}
			p.Status.Conditions[i] = next
			return
		}
	}
	p.Status.Conditions = append(p.Status.Conditions, next)
}

func (p player) each(containers []corev1.Container, state corev1.ContainerState) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range containers {
		out = append(out, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, Started: ptr(false), State: state,
			ContainerID: "moonhelm://" + string(p.UID) + "/" + c.Name,
		})
	}
	return out
}

// terminated returns the state of a container that has just ended.
func (p player) terminated(c *corev1.ContainerStatus, code int32) corev1.ContainerState {
	started, reason := p.now, "Completed"
	if c.State.Running != nil {
		started = c.State.Running.StartedAt
	}
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: p.note("message"),
		StartedAt: started, FinishedAt: p.now, ContainerID: c.ContainerID,
	}}
}

// backOff sets the state of an ended container that waits for its restart.
func (p player) backOff(c *corev1.ContainerStatus) {
	c.LastTerminationState = c.State
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off restarting failed container=" + c.Name + " pod=" + p.Name,
	}}
}

func (p player) sidecar(name string) bool {
	for _, c := range p.Spec.InitContainers {
		if c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

func (p player) code(name string) int32 { return number(p.note(name)) }

// number returns the number in an annotation: 0 if there is no annotation, and 1 if its value
// is not a number.
func number(s string) int32 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 1
	}
	return int32(n)
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func running(since metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
}

func ptr[T any](v T) *T { return &v }
