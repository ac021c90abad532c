// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"regexp"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/lazy"
	"github.com/moonhelm/moonhelm/internal/truncate"
	"github.com/moonhelm/moonhelm/kube/internal/api"
)

// finding is what a wait knows about an object that is not ready.
type finding struct {
	target  *api.Target
	missing string
	trouble *trouble // nil if there is none
	details []string // see [Waiter.explainOne]
	over    Limit    // the object's own timeout, if it is over
}

// problemsOf returns the problems of a wait in namespace. A problem with a cause is followed by
// those that have the same cause or depend on its object, in the order of findings; those without
// a cause come last. No line is repeated.
func problemsOf(findings []finding, namespace string) []Problem {
	var (
		leaders   []*diagnosis
		byCause   = map[string]*diagnosis{}
		byClaim   = map[string]*diagnosis{}
		diagnoses = make([]*diagnosis, len(findings))
	)
	for i, f := range findings {
		d := diagnose(f)
		diagnoses[i] = d
		d.problem.elsewhere = f.target.Namespace != "" && f.target.Namespace != namespace
		if f.target.Is("", claimKind) {
			byClaim[f.target.Namespace+"/"+f.target.Name] = d
		}
	}
	for _, d := range diagnoses {
		leader := d.claim(byClaim)
		if leader == nil && d.shared != "" {
			leader = byCause[d.shared]
			if leader == nil {
				byCause[d.shared] = d
			} else {
				d.problem.SameAs, d.problem.Details = leader.problem.object(), nil
			}
		}
		if leader == nil {
			leaders = append(leaders, d)
		} else {
			leader.followers = append(leader.followers, d)
		}
	}
	slices.SortStableFunc(leaders, func(a, b *diagnosis) int { return rank(b.leads()) - rank(a.leads()) })
	return inOrder(leaders)
}

// diagnosis is a problem with its relations to others.
type diagnosis struct {
	problem Problem
	target  *api.Target
	// shared is the cause without the names of the object's own pods, or "" if a cause of the
	// same words is not the same cause.
	shared    string
	followers []*diagnosis
}

// leads reports whether the problem has a cause, or is one of others.
func (d *diagnosis) leads() bool { return d.problem.Cause != "" || len(d.followers) > 0 }

// diagnose returns the problem of one object.
func diagnose(f finding) *diagnosis {
	t := f.target
	d := &diagnosis{target: t, problem: Problem{Kind: t.Kind, Name: t.Name, Namespace: t.Namespace, Missing: f.missing}}
	p := &d.problem
	details := f.details
	i := slices.IndexFunc(details, func(line string) bool { return !isLogLine(line) })
	// What the pods say is closer to the cause than a Deployment's condition.
	if f.trouble != nil && (i < 0 || f.trouble.class != conditionFailed || !t.HasPods()) {
		p.Cause = f.trouble.text
		if f.trouble.class.isShared() {
			d.shared = withoutPods(p.Cause, t.Name)
		}
	} else if i >= 0 {
		p.Cause = truncate.Line(details[i], maxCause, "…")
		details = slices.Delete(slices.Clone(details), i, i+1)
		if !containerOfPod().MatchString(p.Cause) {
			d.shared = withoutPods(eventCount().ReplaceAllString(p.Cause, ""), t.Name)
		}
	}
	if p.Cause == p.Missing {
		p.Missing = ""
	}
	p.Over = f.over
	p.Details = withoutRepeated(details, p.Missing+"\n"+p.Cause)
	return d
}

// maxCause limits a cause that comes from an event.
const maxCause = 500

// withoutPods replaces the names of pods of the workload name.
func withoutPods(cause, name string) string {
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`(-[a-z0-9]+)+`).ReplaceAllLiteralString(cause, "*")
}

const claimKind = "PersistentVolumeClaim"

// claim returns the claim that the pods of the object wait for, or nil, and changes the cause
// accordingly. A pod whose claim waits for the pod is not scheduled for another reason.
func (d *diagnosis) claim(claims map[string]*diagnosis) *diagnosis {
	if cause := d.problem.Cause; cause != "" && !strings.Contains(cause, claimKind) {
		return nil
	}
	for _, name := range claimsOf(d.target) {
		if claim := claims[d.target.Namespace+"/"+name]; claim != nil {
			d.problem.Cause, d.problem.Details = "waits for "+claim.problem.object(), nil
			return claim
		}
	}
	return nil
}

// claimsOf returns the names of the claims that a pod or the pods of a workload use.
func claimsOf(t *api.Target) []string {
	spec := []string{"spec", "template", "spec"}
	if t.IsPod() {
		spec = spec[:1]
	} else if !t.HasPods() {
		return nil
	}
	volumes, _ := api.Field(t.Object, append(spec, "volumes")...).([]any)
	var out []string
	for _, v := range volumes {
		m, _ := v.(map[string]any)
		if name := api.String(m, "persistentVolumeClaim", "claimName"); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// inOrder returns the problems of leaders, each followed by those of its followers. It removes
// details that an earlier problem has.
func inOrder(leaders []*diagnosis) []Problem {
	var out []Problem
	seen := map[string]bool{}
	isSeen := func(line string) bool {
		was := seen[line]
		seen[line] = true
		return was && !isLogLine(line)
	}
	var add func(d *diagnosis)
	add = func(d *diagnosis) {
		d.problem.Details = slices.DeleteFunc(d.problem.Details, isSeen)
		out = append(out, d.problem)
		for _, f := range d.followers {
			add(f)
		}
	}
	for _, d := range leaders {
		add(d)
	}
	return out
}

// logMark is the prefix of lines of a log.
const logMark = "| "

func isLogLine(line string) bool { return strings.HasPrefix(line, logMark) }

// withoutRepeated returns details without lines that repeat what was said before: the cause, or
// an earlier line. It shortens the name of a container that said has.
func withoutRepeated(details []string, said string) []string {
	var out []string
	for _, line := range details {
		if isLogLine(line) {
			out = append(out, line)
			continue
		}
		if strings.Contains(said, statement(line)) {
			continue
		}
		if where, rest := splitContainer(line); where != "" && strings.Contains(said, where) {
			line = rest
		}
		out = append(out, line)
		said += "\n" + line
	}
	return out
}

var (
	containerOfPod = lazy.Regexp(`^container \S+ of pod \S+ `)
	eventCount     = lazy.Regexp(` \(\d+ times\)$`)
)

// splitContainer splits the name of a container from a line about it.
func splitContainer(line string) (where, rest string) {
	n := len(containerOfPod().FindString(line))
	return strings.TrimSuffix(line[:n], " "), line[n:]
}

// statement returns the part of a line that other sources say in the same words: the message of
// an event without its reason, the end of a container without what came then.
func statement(line string) string {
	if where, rest := splitContainer(line); where != "" {
		rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "ended with "), ", now ")
		return strings.TrimPrefix(rest, "is waiting: ")
	}
	if _, message, ok := strings.Cut(line, ": "); ok {
		line = message
	}
	return brief(strings.TrimPrefix(eventCount().ReplaceAllString(line, ""), "Error: "))
}

// brief returns a message without its period, and one of the scheduler without what follows the
// reasons: what it says about preemption.
func brief(message string) string {
	const nodes = "nodes are available: "
	if head, reasons, ok := strings.Cut(message, nodes); ok {
		reasons, _, _ = strings.Cut(reasons, ". ")
		message = head + nodes + reasons
	}
	return strings.TrimSuffix(strings.TrimSpace(message), ".")
}

// shortLogs returns lines with at most the last n of each log.
func shortLogs(lines []string, n int) []string {
	var out []string
	for i, line := range lines {
		if end := min(i+n, len(lines)); isLogLine(line) && end == i+n &&
			!slices.ContainsFunc(lines[i:end], func(l string) bool { return !isLogLine(l) }) &&
			end < len(lines) && isLogLine(lines[end]) {
			continue // n lines of the same log follow
		}
		out = append(out, line)
	}
	return out
}
