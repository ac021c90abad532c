// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Manager is the client that has set a field, as an entry of metadata.managedFields
// names it.
type Manager struct {
	Name        string `json:"name,omitempty"`        // "kubectl-edit", "" where not known
	Operation   string `json:"operation,omitempty"`   // Apply or Update
	Subresource string `json:"subresource,omitempty"` // "scale", "" for the object itself
	APIVersion  string `json:"apiVersion,omitempty"`  // in which the object was written
	Time        string `json:"time,omitempty"`        // RFC 3339
}

// String returns the manager for use in a sentence: "kube-controller-manager (scale)", or
// "another client" where the name is not known.
func (m Manager) String() string {
	switch {
	case m.Name == "":
		return "another client"
	case m.Subresource != "":
		return m.Name + " (" + m.Subresource + ")"
	}
	return m.Name
}

// releaseManager is the field manager of a release's objects.
const releaseManager = "helm"

// IsHelm reports whether a field manager is Helm or Moonhelm, whose default is the name of
// the binary: helm, Helm, helm3, helm_v3, helm.exe. The fields that it has set belong to the
// release, even those that the release no longer has.
func IsHelm(manager string) bool {
	rest, is := strings.CutPrefix(strings.TrimSuffix(strings.ToLower(manager), ".exe"), releaseManager)
	return is && strings.Trim(rest, "_-v.0123456789") == ""
}

// Migrates reports whether fields that a manager has set become the release's where the
// release sets them too: fields of kubectl's client-side apply, of objects from before
// server-side apply, and of other programs that install Helm releases (Flux, Terraform).
// Fields that only they set stay theirs.
func Migrates(manager string) bool {
	switch manager {
	case "kubectl-client-side-apply", "before-first-apply", "helm-controller":
		return true
	}
	return strings.HasPrefix(manager, "terraform-provider-helm")
}

// entry is one of an object's managedFields.
type entry struct {
	Manager
	fields map[string]any
}

func entries(live map[string]any) []entry {
	managers, _ := metadata(live)["managedFields"].([]any)
	out := make([]entry, 0, len(managers))
	for _, m := range managers {
		e, _ := m.(map[string]any)
		fields, _ := e["fieldsV1"].(map[string]any)
		out = append(out, entry{fields: fields, Manager: Manager{
			Name: textOf(e, "manager"), Operation: textOf(e, "operation"), Subresource: textOf(e, "subresource"),
			APIVersion: textOf(e, "apiVersion"), Time: textOf(e, "time"),
		}})
	}
	return out
}

// textOf is the text under a key, "" for anything else.
func textOf(m map[string]any, key string) string { s, _ := m[key].(string); return s }

// releases reports whether the entry is what the release has applied.
func (e entry) releases() bool {
	return e.Name == releaseManager && e.Operation == "Apply" && e.Subresource == ""
}

// former reports whether the entry is what a Helm has set otherwise.
func (e entry) former() bool {
	return e.Subresource == "" && IsHelm(e.Name) && !e.releases()
}

// A Conflict is a field that the release sets to one value and another manager has
// set to another.
type Conflict struct {
	Path    string // "spec.template.spec.containers[web].image"
	Field   string // the path as the server writes it: `.spec.template.spec.containers[name="web"].image`
	Manager Manager
	// Live is the value in the cluster, Chart the release's. Both are nil for a conflict
	// that only the server knows of.
	Live, Chart any
	// Secret is set for the data of Secrets, whose values must not be shown.
	Secret bool
	// Excluded is set for a field that has to go for one of the release's, since the server
	// takes only one of them. The server itself reports no conflict there.
	Excluded   bool
	Resolution Resolution
	// Reason is what decided: "scaled by HorizontalPodAutoscaler/web", "annotation
	// helm.sh/field-ownership"; "" for [Options.Conflicts].
	Reason string
	// Annotated is set if the object's [OwnershipAnnotation] decided.
	Annotated bool
}

// Sentence describes the conflict: "spec.replicas is 5 (kubectl-edit), the chart says 3".
// It has no values of Secrets.
func (c Conflict) Sentence() string {
	live, chart := shortValue(c.Live), shortValue(c.Chart)
	if c.Secret || c.Live == nil && c.Chart == nil { // only the server knows of it
		return fmt.Sprintf("%s is set by %s to another value than the chart's", c.Path, c.Manager)
	}
	return fmt.Sprintf("%s is %s (set by %s), the chart says %s", c.Path, live, c.Manager, chart)
}

// Outcome describes the resolution, to follow [Conflict.Sentence]: "it stays as it is
// (scaled by HorizontalPodAutoscaler/web)".
func (c Conflict) Outcome() string {
	words := map[Resolution]string{Fail: "the operation fails", Yield: "it stays as it is", Take: "it is taken over"}
	out := words[c.Resolution]
	if c.Resolution == Take && c.Chart == nil {
		out = "it is removed"
	}
	if c.Reason != "" {
		out += " (" + c.Reason + ")"
	}
	return out
}

// shortValue is a value on one line, short enough to be read there.
func shortValue(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "unreadable"
	}
	const enough = 60
	if runes := []rune(string(text)); len(runes) > enough {
		return string(runes[:enough]) + "..."
	}
	return string(text)
}

// anAutoscaler is what kube-controller-manager scales for, where no more is known of it.
const anAutoscaler = "a horizontal autoscaler"

// scaler names what scales a field of its own accord: a controller that is known to,
// or an autoscaler that has the object as its target. It is "" for all others.
func scaler(m Manager, at []step, target string) string {
	replicas, resources := isReplicas(at), isResources(at)
	switch {
	case replicas && target != "":
		return target
	case replicas && m.Subresource == "scale" && m.Name == "kube-controller-manager":
		return anAutoscaler
	case replicas && strings.HasPrefix(m.Name, "keda"):
		return "KEDA"
	case resources && (strings.HasPrefix(m.Name, "vpa-") || m.Subresource == "resize"):
		return "a vertical autoscaler"
	case (replicas || resources) && strings.Contains(m.Name, "autoscaler"):
		return m.Name
	}
	return ""
}

// isReplicas reports whether a path is spec.replicas.
func isReplicas(at []step) bool {
	return len(at) == 2 && at[0].name == "spec" && at[1].name == "replicas"
}

// isResources reports whether a path leads to the resources of a container.
func isResources(at []step) bool {
	for i := 2; i < len(at); i++ {
		if at[i].name == "resources" && at[i-1].item && strings.HasSuffix(strings.ToLower(at[i-2].name), "containers") {
			return true
		}
	}
	return false
}

// Autoscaled maps the objects whose replicas an autoscaler sets to its name
// ("HorizontalPodAutoscaler/web"). A key's APIVersion is the group alone, without the
// version: use [Autoscaled.Add] to fill it. It is not safe for concurrent use.
type Autoscaled map[Ref]string

// Add adds the target of object, a HorizontalPodAutoscaler in namespace. Other objects
// are ignored. a must not be nil.
func (a Autoscaled) Add(object map[string]any, namespace string) {
	group, _ := object["apiVersion"].(string)
	if object["kind"] != "HorizontalPodAutoscaler" || !strings.HasPrefix(group, "autoscaling/") {
		return
	}
	spec, _ := object["spec"].(map[string]any)
	target, _ := spec["scaleTargetRef"].(map[string]any)
	r := scaleTarget(textOf(target, "apiVersion"), textOf(target, "kind"), namespace, textOf(target, "name"))
	a[r] = scalerName(textOf(metadata(object), "name"))
}

// autoscaled are the targets of autoscalers once the items are written and deleted.
func (o Options) autoscaled(items []Item) Autoscaled {
	isScaler := func(it Item) bool { return it.Kind == "HorizontalPodAutoscaler" }
	if !slices.ContainsFunc(items, isScaler) {
		return o.Autoscaled
	}
	all := Autoscaled{}
	maps.Copy(all, o.Autoscaled)
	for _, it := range items {
		if !isScaler(it) || it.New == nil && deleteStep(it, o).Action != Delete {
			continue
		}
		maps.DeleteFunc(all,
			func(r Ref, name string) bool { return r.Namespace == it.Namespace && name == scalerName(it.Name) })
		if it.New != nil {
			all.Add(it.New, it.Namespace)
		}
	}
	return all
}

// scalerName is an autoscaler as people are told of it.
func scalerName(name string) string { return "HorizontalPodAutoscaler/" + name }

// SearchAutoscalers returns the namespaces, sorted, whose autoscalers have to be known to
// resolve the conflicts of the plan. The caller reads them into [Options.Autoscaled], names
// the namespaces in [Options.Searched], and calls [Compute] again.
func (p *Plan) SearchAutoscalers() []string {
	found := map[string]bool{}
	for _, s := range p.Steps {
		for _, c := range s.Conflicts {
			open := c.Resolution != Yield && c.Reason == ""
			assumed := p.Conflicts == Take && c.Reason == "scaled by "+anAutoscaler
			if c.Path == "spec.replicas" && (open || assumed) && !slices.Contains(p.Searched, s.Namespace) {
				found[s.Namespace] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// of is the autoscaler of an object, "" for none.
func (a Autoscaled) of(r Ref) string {
	return a[scaleTarget(r.APIVersion, r.Kind, r.Namespace, r.Name)]
}

// scaleTarget is a reference without its version, which an autoscaler may say
// otherwise.
func scaleTarget(apiVersion, kind, namespace, name string) Ref {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return Ref{APIVersion: group, Kind: kind, Namespace: namespace, Name: name}
}
