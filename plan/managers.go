// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/truncate"
)

// A Manager is the field manager of an entry of metadata.managedFields.
type Manager struct {
	Name        string `json:"name,omitempty"`        // "kubectl-edit", "" where not known
	Operation   string `json:"operation,omitempty"`   // Apply or Update
	Subresource string `json:"subresource,omitempty"` // "scale", "" for the object itself
	APIVersion  string `json:"apiVersion,omitempty"`  // in which the object was written
	Time        string `json:"time,omitempty"`        // RFC 3339
}

// String returns the manager for use in a sentence: "kube-controller-manager (scale)", or
// "another client" if the name is not known.
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

// IsHelm reports whether a field manager is Helm or Moonhelm, whose default is the name of the
// binary: helm, Helm, helm3, helm_v3, helm.exe. Its fields belong to the release, even those
// that the release does not set any more.
func IsHelm(manager string) bool {
	rest, is := strings.CutPrefix(strings.TrimSuffix(strings.ToLower(manager), ".exe"), releaseManager)
	return is && strings.Trim(rest, "_-v.0123456789") == ""
}

// Migrates reports whether the fields of a manager become the release's if the release sets
// them too: fields of kubectl's client-side apply, of objects from before server-side apply,
// and of other programs that install Helm releases (Flux, Terraform). Fields that only the
// manager sets stay the manager's.
func Migrates(manager string) bool {
	switch manager {
	case "kubectl-client-side-apply", "before-first-apply", "helm-controller":
		return true
	}
	return strings.HasPrefix(manager, "terraform-provider-helm")
}

// entry is one entry of an object's managedFields.
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
			Name: stringAt(e, "manager"), Operation: stringAt(e, "operation"), Subresource: stringAt(e, "subresource"),
			APIVersion: stringAt(e, "apiVersion"), Time: stringAt(e, "time"),
		}})
	}
	return out
}

// stringAt returns the string under a key, or "" for other values.
func stringAt(m map[string]any, key string) string { s, _ := m[key].(string); return s }

// isRelease reports whether the entry is the release's server-side apply.
func (e entry) isRelease() bool {
	return e.Name == releaseManager && e.Operation == "Apply" && e.Subresource == ""
}

// isOtherHelm reports whether the entry is of a Helm client, but not the release's server-side
// apply.
func (e entry) isOtherHelm() bool {
	return e.Subresource == "" && IsHelm(e.Name) && !e.isRelease()
}

// A Conflict is a field that the release and another manager set to different values.
type Conflict struct {
	Path    string // "spec.template.spec.containers[web].image"
	Field   string // the path as the server writes it: `.spec.template.spec.containers[name="web"].image`
	Manager Manager
	// Live is the live value and Chart the release's. Both are nil for a conflict that the
	// server has reported and managedFields does not show.
	Live, Chart any
	// Secret is set for the data of Secrets, whose values must not be shown.
	Secret bool
	// Excluded is set for a field that the server does not accept together with one that
	// the release sets. The server itself reports no conflict for it.
	Excluded   bool
	Resolution Resolution
	// Reason is the reason for the resolution: "scaled by HorizontalPodAutoscaler/web",
	// "annotation helm.sh/field-ownership"; or "" if it is [Options.Conflicts].
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

// shortValue returns a value on one line, cut if it is long.
func shortValue(v any) string {
	if v == nil {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "unreadable"
	}
	return truncate.Runes(string(text), 60, "...")
}

// unknownAutoscaler is the name of an autoscaler that kube-controller-manager scales for, if
// the autoscaler is not known.
const unknownAutoscaler = "a horizontal autoscaler"

// scalerOf returns the name of the controller or autoscaler that sets a field, or "" if it is
// another manager. target is the name of the autoscaler of the object, or "".
func scalerOf(m Manager, path []pathStep, target string) string {
	replicas, resources := isReplicas(path), isResources(path)
	switch {
	case replicas && target != "":
		return target
	case replicas && m.Subresource == "scale" && m.Name == "kube-controller-manager":
		return unknownAutoscaler
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
func isReplicas(path []pathStep) bool {
	return len(path) == 2 && path[0].name == "spec" && path[1].name == "replicas"
}

// isResources reports whether a path is in the resources of a container.
func isResources(path []pathStep) bool {
	for i := 2; i < len(path); i++ {
		if path[i].name == "resources" && path[i-1].item && strings.HasSuffix(strings.ToLower(path[i-2].name), "containers") {
			return true
		}
	}
	return false
}

// Autoscaled maps the objects whose replicas an autoscaler sets to its name
// ("HorizontalPodAutoscaler/web"). The APIVersion of a key is the group without the version:
// use [Autoscaled.Add] to add keys. It is not safe for concurrent use.
type Autoscaled map[Ref]string

// Add adds the target of object, a HorizontalPodAutoscaler in namespace. It ignores other
// objects. a must not be nil.
func (a Autoscaled) Add(object map[string]any, namespace string) {
	group, _ := object["apiVersion"].(string)
	if object["kind"] != "HorizontalPodAutoscaler" || !strings.HasPrefix(group, "autoscaling/") {
		return
	}
	spec, _ := object["spec"].(map[string]any)
	target, _ := spec["scaleTargetRef"].(map[string]any)
	r := Ref{stringAt(target, "apiVersion"), stringAt(target, "kind"), namespace, stringAt(target, "name")}
	a[r.Identity()] = scalerName(stringAt(metadata(object), "name"))
}

// autoscaled returns the targets of autoscalers after the items have been written and deleted.
func (o Options) autoscaled(items []Item) Autoscaled {
	isScaler := func(item Item) bool { return item.Kind == "HorizontalPodAutoscaler" }
	if !slices.ContainsFunc(items, isScaler) {
		return o.Autoscaled
	}
	all := Autoscaled{}
	maps.Copy(all, o.Autoscaled)
	for _, item := range items {
		if !isScaler(item) || item.New == nil && deleteStep(item, o).Action != Delete {
			continue
		}
		maps.DeleteFunc(all,
			func(r Ref, name string) bool { return r.Namespace == item.Namespace && name == scalerName(item.Name) })
		if item.New != nil {
			all.Add(item.New, item.Namespace)
		}
	}
	return all
}

// scalerName returns the name of an autoscaler in messages.
func scalerName(name string) string { return "HorizontalPodAutoscaler/" + name }

// SearchAutoscalers returns the namespaces, sorted, whose autoscalers are needed to resolve
// the conflicts of the plan. The caller adds them to [Options.Autoscaled], adds the namespaces
// to [Options.AutoscalerNamespaces], and calls [Compute] again.
func (p *Plan) SearchAutoscalers() []string {
	found := map[string]bool{}
	for _, s := range p.Steps {
		for _, c := range s.Conflicts {
			open := c.Resolution != Yield && c.Reason == ""
			assumed := p.Conflicts == Take && c.Reason == "scaled by "+unknownAutoscaler
			if c.Path == "spec.replicas" && (open || assumed) && !slices.Contains(p.Searched, s.Namespace) {
				found[s.Namespace] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// nameOf returns the name of the autoscaler of an object, or "".
func (a Autoscaled) nameOf(r Ref) string {
	return a[r.Identity()]
}
