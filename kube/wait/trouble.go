// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// trouble is a problem that keeps an object from becoming ready. It may be temporary.
type trouble struct {
	class     class
	container string // "" for a problem of the pod or the object itself
	pod       string
	text      string
	// since is when it was first seen. It is reported after quiet, and counts as permanent
	// after grace, unless that is negative.
	since        time.Time
	quiet, grace time.Duration
	// root is the problem of a pod behind a condition that reports a failure, or nil.
	root *trouble
	// rule describes what grace is for: "a container that cannot start".
	rule string
}

// class is the kind of a trouble, in increasing severity.
type class int

const (
	unscheduled class = iota
	crashing
	notCreated      // pods cannot be created
	notStarted      // a container cannot be started
	conditionFailed // a condition reports a failure
)

// isShared reports whether problems of this class in the same words have the same cause.
func (c class) isShared() bool { return c == unscheduled || c == notCreated || c == notStarted }

func (t trouble) isPermanent(now time.Time) bool {
	return t.grace >= 0 && !now.Before(t.since.Add(t.grace))
}

func (t trouble) isVisible(now time.Time) bool { return !now.Before(t.since.Add(t.quiet)) }

// minRestarts is the number of restarts after which a container counts as crashing
// repeatedly.
const minRestarts = 3

const never = time.Duration(-1)

// troublesOf returns the problems of a pod. It uses only the statuses of its containers and no
// events. patient is set for pods whose controller limits their crashes.
func troublesOf(p *api.Pod, grace Grace, patient bool) []trouble {
	if p.Metadata.Deletion != "" || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
		return nil
	}
	var out []trouble
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" && c.Reason == "Unschedulable" {
			// An autoscaler may add a node, so this is never permanent.
			out = append(out,
				trouble{class: unscheduled, text: fmt.Sprintf("pod %s cannot be scheduled: %s", p.Metadata.Name, brief(c.Message)),
					quiet: 3 * time.Second, grace: never})
		}
	}
	for _, s := range p.Containers() {
		if t, ok := containerTrouble(s, p.Metadata.Name, grace, patient); ok {
			out = append(out, t)
		}
	}
	for i := range out {
		out[i].pod, out[i].text = p.Metadata.Name, truncate.Line(out[i].text, 1000, "…")
	}
	return out
}

func containerTrouble(s api.ContainerStatus, pod string, grace Grace, patient bool) (trouble, bool) {
	wait := s.State.Waiting
	if wait == nil {
		return crashOf(s, pod, grace, patient)
	}
	t := trouble{container: s.Name, class: notStarted, grace: grace.Start, rule: "a container that cannot start"}
	switch wait.Reason {
	case "InvalidImageName":
		t.grace = 0
		t.text = fmt.Sprintf("container %s of pod %s cannot start: invalid image name %q", s.Name, pod, s.Image)
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed":
		// The kubelet alternates between these reasons and their messages for one problem.
		t.text = fmt.Sprintf("container %s of pod %s cannot start: its image %s cannot be pulled", s.Name, pod, s.Image)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CreatePodSandboxError",
		"PreCreateHookError", "PreStartHookError", "PostStartHookError":
		t.text = fmt.Sprintf("container %s of pod %s cannot start: %s", s.Name, pod, wait.Describe())
	default:
		return crashOf(s, pod, grace, patient)
	}
	return t, true
}

// crashOf returns the problem of a container that has failed and is not ready since.
func crashOf(s api.ContainerStatus, pod string, grace Grace, patient bool) (trouble, bool) {
	end := s.LastState.Terminated
	if s.State.Terminated != nil {
		end = s.State.Terminated
	}
	if end == nil || s.Ready || s.State.Terminated != nil && end.ExitCode == 0 {
		return trouble{}, false
	}
	t := trouble{class: crashing, container: s.Name, grace: never}
	how := end.DescribeExit()
	if s.RestartCount > 0 {
		how += ", " + plural.Count(s.RestartCount, "restart")
	}
	verb, often := "crashed", "crashes again and again"
	if end.ExitCode == 0 {
		verb, often = "ended", "ends again and again"
	}
	if s.RestartCount >= minRestarts {
		verb = often
	}
	t.text = fmt.Sprintf("container %s of pod %s %s (%s)", s.Name, pod, verb, how)
	backsOff := s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" || s.State.Terminated != nil
	if s.RestartCount >= minRestarts && backsOff && !patient {
		t.grace, t.rule = grace.Crash, "a container that keeps crashing"
	}
	return t, true
}

// podTrouble contains the problems of one pod of an object.
type podTrouble struct {
	uid      string
	maker    string // the UID of its controller
	set      string // the ReplicaSet, for a pod of a Deployment
	labels   map[string]string
	troubles []trouble
}

// keepSince sets since of the problems in now to that of the same problem in old, or to at.
func keepSince(old, now []trouble, at time.Time) {
	for i := range now {
		now[i].since = at
		for _, o := range old {
			if o.class == now[i].class && o.container == now[i].container {
				now[i].since = o.since
			}
		}
	}
}

// updateOwn updates the problems of the object itself.
func (a *awaited) updateOwn(now time.Time, grace Grace, v verdict) {
	var own []trouble
	if v.shaky != "" {
		own = append(own, trouble{class: conditionFailed, text: v.shaky, grace: grace.Condition})
	}
	for _, c := range api.ConditionsOf(a.live) {
		if a.HasPods() && c["type"] == "ReplicaFailure" && c["status"] == "True" {
			own = append(own, trouble{class: notCreated, text: shortLine(api.Reason(c)), grace: refusalGrace(c, grace),
				rule: "a pod that cannot be created"})
		}
	}
	if a.IsPod() {
		if p, err := podOf(a.live); err == nil {
			own = append(own, troublesOf(p, grace, false)...)
		}
	}
	keepSince(a.own, own, now)
	a.own = own
}

// refusalGrace returns the grace for pods that are refused. A quota or a policy is permanent; a
// webhook that does not answer may be starting.
func refusalGrace(condition map[string]any, grace Grace) time.Duration {
	if message, _ := condition["message"].(string); strings.Contains(message, "is forbidden") {
		return grace.Start
	}
	return never
}

// findWorst returns the most severe problem to report, or nil, and the time until the result may
// change without an event, or 0.
func (a *awaited) findWorst(now time.Time, newest func(*awaited, *podTrouble) bool) (*trouble, time.Duration) {
	all := slices.Clone(a.own)
	for _, p := range a.pods {
		if newest(a, p) {
			all = append(all, p.troubles...)
		}
	}
	var next time.Duration
	var shown []trouble
	for _, t := range all {
		for _, at := range []time.Duration{t.quiet, t.grace} {
			if d := t.since.Add(at).Sub(now); d > 0 && (next == 0 || d < next) {
				next = d
			}
		}
		if t.isVisible(now) {
			shown = append(shown, t)
		}
	}
	if len(shown) == 0 {
		return nil, next
	}
	compare := func(x, y trouble) int {
		return cmp.Or(rank(x.isPermanent(now))-rank(y.isPermanent(now)), cmp.Compare(x.class, y.class), cmp.Compare(y.pod,
			x.pod),
			cmp.Compare(y.container, x.container))
	}
	worst := slices.MaxFunc(shown, compare)
	if worst.class == conditionFailed {
		shown = slices.DeleteFunc(shown, func(t trouble) bool { return t.class == conditionFailed })
		if len(shown) > 0 {
			root := slices.MaxFunc(shown, compare)
			worst.root = &root
		}
	}
	return &worst, next
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
