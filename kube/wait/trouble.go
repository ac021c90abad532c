// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// trouble is something that keeps an object from becoming ready, and may pass
// or not.
type trouble struct {
	class     class
	container string // "" where it is about the pod, or the object itself
	pod       string
	text      string
	// since is when it was first seen. It shows after quiet, and is certain to
	// stay after grace, or never by time alone where that is negative.
	since        time.Time
	quiet, grace time.Duration
}

// class is what kind of trouble it is, worst last.
type class int

const (
	unscheduled class = iota
	crashing
	unmade   // pods cannot be made
	unstarts // a container cannot be started
	condemned
)

func (t trouble) certain(now time.Time) bool {
	return t.grace >= 0 && !now.Before(t.since.Add(t.grace))
}

func (t trouble) shows(now time.Time) bool { return !now.Before(t.since.Add(t.quiet)) }

// restartsEnough is how often a container has been restarted when it counts as
// crashing again and again.
const restartsEnough = 3

const never = time.Duration(-1)

// troublesOf returns what is wrong with a pod. Only facts count: what the containers
// wait for and how they ended, not what events say. patient is for pods of
// which their controller decides how often they may crash.
func troublesOf(p *api.Pod, grace Grace, patient bool) []trouble {
	if p.Metadata.Deletion != "" || p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
		return nil
	}
	var out []trouble
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" && c.Reason == "Unschedulable" {
			// A node may be on its way: this is never certain.
			out = append(out,
				trouble{class: unscheduled, text: fmt.Sprintf("pod %s finds no node: %s", p.Metadata.Name, c.Message),
					quiet: 3 * time.Second, grace: never})
		}
	}
	for _, s := range p.Containers() {
		if t, ok := containerTrouble(s, p.Metadata.Name, grace, patient); ok {
			out = append(out, t)
		}
	}
	for i := range out {
		out[i].pod, out[i].text = p.Metadata.Name, beginning(out[i].text, 1000)
	}
	return out
}

func containerTrouble(s api.ContainerStatus, pod string, grace Grace, patient bool) (trouble, bool) {
	wait := s.State.Waiting
	if wait == nil {
		return crashOf(s, pod, grace, patient)
	}
	t := trouble{container: s.Name, class: unstarts, grace: grace.Start}
	switch wait.Reason {
	case "InvalidImageName":
		t.grace = 0
		t.text = fmt.Sprintf("container %s of pod %s cannot start: its image has no valid name: %q", s.Name, pod, s.Image)
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed":
		// A kubelet alternates between reasons and messages: it is one trouble.
		t.text = fmt.Sprintf("container %s of pod %s cannot start: its image %s cannot be pulled", s.Name, pod, s.Image)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CreatePodSandboxError",
		"PreCreateHookError", "PreStartHookError", "PostStartHookError":
		t.text = fmt.Sprintf("container %s of pod %s cannot start: %s", s.Name, pod, wait.Words())
	default:
		return crashOf(s, pod, grace, patient)
	}
	return t, true
}

// crashOf is about a container that has ended badly and is not ready since.
func crashOf(s api.ContainerStatus, pod string, grace Grace, patient bool) (trouble, bool) {
	end := s.LastState.Terminated
	if s.State.Terminated != nil {
		end = s.State.Terminated
	}
	if end == nil || s.Ready || s.State.Terminated != nil && end.ExitCode == 0 {
		return trouble{}, false
	}
	t := trouble{class: crashing, container: s.Name, grace: never}
	how := end.Ending()
	if s.RestartCount > 0 {
		how += ", " + times(s.RestartCount, "restart")
	}
	verb, often := "crashed", "crashes again and again"
	if end.ExitCode == 0 {
		verb, often = "ended", "ends again and again"
	}
	if s.RestartCount >= restartsEnough {
		verb = often
	}
	t.text = fmt.Sprintf("container %s of pod %s %s (%s)", s.Name, pod, verb, how)
	backsOff := s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" || s.State.Terminated != nil
	if s.RestartCount >= restartsEnough && backsOff && !patient {
		t.grace = grace.Crash
	}
	return t, true
}

func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// podTrouble is what is wrong with one pod of an object.
type podTrouble struct {
	uid      string
	maker    string // the uid of what made it
	set      string // the ReplicaSet that made it for a Deployment
	labels   map[string]string
	troubles []trouble
}

// carry keeps from when on a trouble has been there already.
func carry(old, now []trouble, at time.Time) {
	for i := range now {
		now[i].since = at
		for _, o := range old {
			if o.class == now[i].class && o.container == now[i].container {
				now[i].since = o.since
			}
		}
	}
}

// note keeps the troubles of the object itself.
func (a *awaited) note(now time.Time, grace Grace, v verdict) {
	var own []trouble
	if v.shaky != "" {
		own = append(own, trouble{class: condemned, text: v.shaky, grace: grace.Condition})
	}
	for _, c := range api.ConditionsOf(a.live) {
		if a.HasPods() && c["type"] == "ReplicaFailure" && c["status"] == "True" {
			own = append(own, trouble{class: unmade, text: brief(api.Reason(c)), grace: refusalGrace(c, grace)})
		}
	}
	if a.IsPod() {
		if p, err := podOf(a.live); err == nil {
			own = append(own, troublesOf(p, grace, false)...)
		}
	}
	carry(a.own, own, now)
	a.own = own
}

// refusalGrace is how long pods may be refused: what a quota or a policy forbids
// stays forbidden, while a webhook that does not answer may be about to start.
func refusalGrace(condition map[string]any, grace Grace) time.Duration {
	if message, _ := condition["message"].(string); strings.Contains(message, "is forbidden") {
		return grace.Start
	}
	return never
}

// worst is the trouble to speak of, nil for none, and how long until another
// look is worth while, 0 for as long as nothing happens.
func (a *awaited) worst(now time.Time, newest func(*awaited, *podTrouble) bool) (*trouble, time.Duration) {
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
		if t.shows(now) {
			shown = append(shown, t)
		}
	}
	if len(shown) == 0 {
		return nil, next
	}
	worst := slices.MaxFunc(shown, func(x, y trouble) int {
		return cmp.Or(rank(x.certain(now))-rank(y.certain(now)), cmp.Compare(x.class, y.class), cmp.Compare(y.pod, x.pod),
			cmp.Compare(y.container, x.container))
	})
	return &worst, next
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
