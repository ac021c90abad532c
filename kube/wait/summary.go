// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/plural"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// Summary is what a wait has seen.
type Summary struct {
	// Objects are all objects of the wait: those that became ready, in that order, then the others.
	Objects []Outcome
	// Took is the time from the begin of the wait to its end.
	Took time.Duration
}

// Outcome is the end of the wait for one object.
type Outcome struct {
	Kind, Name string
	// Namespace is "" for a cluster-scoped kind.
	Namespace string
	// State is "ready", "complete" for a Job or a Pod that has succeeded, or "" if the object is
	// not ready.
	State string
	// After is the time from the begin of the wait until the object was ready.
	After time.Duration
	// Missing is what an object that is not ready waits for, with the problem if one is known.
	Missing string
	// Pod is the pod that was ready last, and Phases what took it how long, as far as its
	// conditions say. They are in seconds. Restarts is the number of restarts of all known pods.
	Pod      string
	Phases   []Phase
	Restarts int
}

// Phase is a part of the start of a pod.
type Phase struct {
	// Name is "scheduling", "volumes and network", "init containers", "images and start" or
	// "readiness".
	Name string
	Took time.Duration
}

// Object returns the kind and the name: "Deployment/web".
func (o *Outcome) Object() string { return o.Kind + "/" + o.Name }

// Start returns the phases that took a second or more as text: "pod web-0: scheduling 2s, images
// and start 45s", or "".
func (o *Outcome) Start() string {
	var parts []string
	for _, p := range o.Phases {
		if p.Took >= time.Second {
			parts = append(parts, fmt.Sprintf("%s %s", p.Name, elapsed(p.Took)))
		}
	}
	if o.Restarts > 0 {
		parts = append(parts, plural.Count(o.Restarts, "restart"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "pod " + o.Pod + ": " + strings.Join(parts, ", ")
}

// summary returns what a wait for targets has seen, after its end.
func (w *waiting) summary(targets []*api.Target) Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Summary{Took: w.took}
	for _, t := range targets {
		a := w.byName[involved{t.Kind, t.Namespace, t.Name}]
		o := Outcome{Kind: t.Kind, Name: t.Name, Namespace: t.Namespace, State: a.state, After: a.readyAfter}
		if missing, pending := w.pending[t]; pending {
			o.State, o.After, o.Missing = "", 0, missing // it may have been ready before
			if a.worst != nil {
				o.Missing += ": " + a.worst.text
			}
		}
		a.describeStart(&o)
		s.Objects = append(s.Objects, o)
	}
	slices.SortStableFunc(s.Objects, func(x, y Outcome) int {
		if (x.State == "") != (y.State == "") {
			return rank(x.State == "") - rank(y.State == "")
		}
		return int(x.After.Milliseconds() - y.After.Milliseconds())
	})
	return s
}

// describeStart sets the fields of o about the pods of a.
func (a *awaited) describeStart(o *Outcome) {
	var last time.Time
	for _, k := range a.known {
		for _, s := range k.Containers() {
			o.Restarts += s.RestartCount
		}
		if !k.isNew {
			continue
		}
		steps := startOf(k.Pod)
		if end := steps[len(steps)-1].at; o.Pod == "" || end.After(last) {
			last, o.Pod, o.Phases = end, k.Metadata.Name, phasesOf(steps)
		}
	}
	if o.Pod == "" && o.Restarts > 0 {
		for name := range a.known {
			o.Pod = max(o.Pod, name)
		}
	}
}

// step is the end of a phase.
type step struct {
	name string
	at   time.Time
}

// startOf returns the steps of a pod's start that it has taken, the first of which is its creation.
func startOf(p *api.Pod) []step {
	parse := func(text string) time.Time { at, _ := time.Parse(time.RFC3339, text); return at }
	conditions := map[string]time.Time{}
	for _, c := range p.Status.Conditions {
		if c.Status == "True" {
			conditions[c.Type] = parse(c.Since)
		}
	}
	var started time.Time
	for _, s := range p.Status.ContainerStatuses {
		switch {
		case s.State.Running != nil:
			started = later(started, parse(s.State.Running.Since))
		case s.State.Terminated != nil:
			started = later(started, parse(s.State.Terminated.Since))
		}
	}
	steps := []step{{"", parse(p.Metadata.Created)}, {"scheduling", conditions["PodScheduled"]},
		{"volumes and network", conditions["PodReadyToStartContainers"]}}
	if len(p.Status.InitContainerStatuses) > 0 {
		steps = append(steps, step{"init containers", conditions["Initialized"]})
	}
	steps = append(steps, step{"images and start", started}, step{"readiness", conditions["Ready"]})
	return slices.DeleteFunc(steps, func(s step) bool { return s.name != "" && s.at.IsZero() })
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// phasesOf returns the times between steps. A step whose time is before that of an earlier one, such
// as that of a container that was restarted, took none.
func phasesOf(steps []step) []Phase {
	var out []Phase
	for i, s := range steps[1:] {
		out = append(out, Phase{s.name, max(s.at.Sub(steps[i].at), 0)})
	}
	return out
}
