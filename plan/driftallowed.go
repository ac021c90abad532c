// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/release"
)

// IgnoreDriftAnnotation is an annotation of an object, in its manifest or live, with the fields
// whose drift is ignored: "true" for all of them, or paths separated by commas or spaces:
//
//	helm.sh/ignore-drift: spec.replicas, spec.template.spec.containers[web].image
const IgnoreDriftAnnotation = "helm.sh/ignore-drift"

// An allowance decides which differences of an object are no drift.
type allowance struct {
	options   DriftOptions
	item      Item
	managers  managedEntries
	installed map[string]any // the manifest
}

// of returns the reason why a difference is not drift, or "".
func (a allowance) of(f DriftedField) string {
	for _, rule := range []func(DriftedField) string{
		func(f DriftedField) string { return a.ignored(f.steps, f.Manager) },
		a.scaled, a.yielded, a.restarted, a.bound, a.injectedCA, a.aggregated, a.onAdmission, a.byController,
		a.byDefault,
	} {
		if why := rule(f); why != "" {
			return why
		}
	}
	return ""
}

// ignored returns the rule of the user or of an annotation that ignores a field; of the whole
// object if path is nil.
func (a allowance) ignored(path []pathStep, m Manager) string {
	for _, rule := range a.options.Ignore {
		if rule.matches(a.item.Ref, path, m) {
			return "ignored by " + rule.text
		}
	}
	for _, object := range []map[string]any{a.installed, a.item.Live} {
		for _, rule := range annotatedRules(object) {
			if rule.matches(a.item.Ref, path, m) {
				return "annotation " + IgnoreDriftAnnotation
			}
		}
	}
	if len(path) > 1 && path[len(path)-1].name == IgnoreDriftAnnotation {
		return "annotation " + IgnoreDriftAnnotation
	}
	return ""
}

// annotatedRules returns the rules of an object's [IgnoreDriftAnnotation]. It skips paths that
// are not valid: they ignore nothing.
func annotatedRules(object map[string]any) []IgnoreRule {
	var out []IgnoreRule
	text := strings.TrimSpace(annotation(object, IgnoreDriftAnnotation))
	if strings.EqualFold(text, "true") {
		return []IgnoreRule{{}}
	}
	for _, path := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		if p, err := parsePath(path); err == nil && path != "false" {
			out = append(out, IgnoreRule{path: p})
		}
	}
	return out
}

// scaled returns the autoscaler or controller that sets the field. A person's kubectl scale is
// drift.
func (a allowance) scaled(f DriftedField) string {
	by := scalerOf(f.Manager, f.steps, a.options.Autoscaled.nameOf(a.item.Ref))
	if by == "" && isReplicas(f.steps) && f.Manager.Subresource == "scale" && isController(f.Manager.Name) {
		by = f.Manager.Name
	}
	if by == "" {
		return ""
	}
	return "scaled by " + by
}

// yielded returns the annotation with which the chart leaves the field to others.
func (a allowance) yielded(f DriftedField) string {
	rules, err := ownershipOf(a.installed)
	if err == nil && rules.resolutionOf(f.steps) == Yield {
		return "annotation " + OwnershipAnnotation
	}
	return ""
}

// restarted allows what kubectl adds to do its work: the time of kubectl rollout restart, and its
// copy of what it has applied; and the annotation that keeps an object, whose removal by a repair
// would have the next operation delete it. None changes what the release asks for.
func (a allowance) restarted(f DriftedField) string {
	if f.Kind != DriftAdded {
		return ""
	}
	switch f.steps[len(f.steps)-1].name {
	case "kubectl.kubernetes.io/restartedAt":
		return "restarted by " + f.Manager.String()
	case lastApplied:
		return "a note of kubectl"
	case release.PolicyAnnotation:
		return "protects the object from being deleted"
	}
	return ""
}

// bound allows what Kubernetes' own controllers add whatever they are called: distributions run them
// in one program.
func (a allowance) bound(f DriftedField) string {
	if f.Kind != DriftAdded {
		return ""
	}
	if a.item.Kind == "PersistentVolumeClaim" && f.Path == "spec.volumeName" {
		return "the volume that the claim is bound to"
	}
	name := f.steps[len(f.steps)-1].name
	for _, domain := range []string{"pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/",
		"deployment.kubernetes.io/", "control-plane.alpha.kubernetes.io/", "endpoints.kubernetes.io/"} {
		if strings.HasPrefix(name, domain) && f.steps[0].name == "metadata" {
			return "added by a controller of Kubernetes"
		}
	}
	return ""
}

// injectedCA allows certificates that are injected into webhooks, definitions and API services,
// unless the release sets one itself and has nothing inject another.
func (a allowance) injectedCA(f DriftedField) string {
	if f.steps[len(f.steps)-1].name != "caBundle" {
		return ""
	}
	switch a.item.Kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition", "APIService":
	default:
		return ""
	}
	const placeholder = 64 // shorter than any certificate: "Cg==" is what charts write
	want, _ := f.Want.(string)
	if len(want) > placeholder && !strings.Contains(strings.Join(annotationNames(a.installed), " "), "inject-ca") &&
		!isController(f.Manager.Name) {
		return ""
	}
	return "an injected certificate"
}

func annotationNames(object map[string]any) []string {
	m, _ := metadata(object)["annotations"].(map[string]any)
	var out []string
	for key := range m {
		out = append(out, key)
	}
	return out
}

// aggregated allows the rules of a ClusterRole that a controller fills.
func (a allowance) aggregated(f DriftedField) string {
	if a.item.Kind == "ClusterRole" && a.installed["aggregationRule"] != nil && f.steps[0].name == "rules" &&
		isController(f.Manager.Name) {
		return "aggregated by " + f.Manager.Name
	}
	return ""
}

// onAdmission allows a value that is still as the release's own write has left it: the server or an
// admission webhook has changed it then. It does not for an object that another release has taken.
func (a allowance) onAdmission(f DriftedField) string {
	if f.isOrder() || f.Manager.Name != "" && !IsHelm(f.Manager.Name) || !a.managers.hasHelms(f.steps) {
		return ""
	}
	for _, name := range []string{release.NameAnnotation, release.NamespaceAnnotation} {
		if annotation(a.item.Live, name) != annotation(a.installed, name) {
			return ""
		}
	}
	return "set by the server when the release was applied"
}

// byController allows what controllers add to objects.
func (a allowance) byController(f DriftedField) string {
	if f.Kind == DriftAdded && isController(f.Manager.Name) {
		return "added by " + f.Manager.Name
	}
	return ""
}

// byDefault allows fields that the server has filled in when another client created the object: it
// counts them as set by that client. They change nothing, and the server fills them in again.
func (a allowance) byDefault(f DriftedField) string {
	if f.Kind != DriftAdded || !builtIn(a.item.Live) || hasSteps(withoutDefaults(a.item.Live), f.steps) {
		return ""
	}
	return "filled in by the server"
}

// hasSteps reports whether v has the field at a path whose items have their indices in v.
func hasSteps(v any, path []pathStep) bool {
	for _, s := range path {
		switch in := v.(type) {
		case map[string]any:
			below, ok := in[s.name]
			if !ok {
				return false
			}
			v = below
		case []any:
			if !s.item || s.index >= len(in) {
				return true
			}
			v = in[s.index]
		default:
			return true
		}
	}
	return true
}

// missingObject returns the reason why the object may be missing, or "".
func (a allowance) missingObject() string {
	if why := a.ignored(nil, Manager{}); why != "" {
		return why
	}
	spec, _ := a.installed["spec"].(map[string]any)
	if a.item.Kind == "Job" && spec["ttlSecondsAfterFinished"] != nil {
		return "a finished Job is deleted after its ttlSecondsAfterFinished"
	}
	return ""
}

// isController reports whether a field manager is a controller and no tool of a person. The names
// are those of Kubernetes' components and of widespread operators; others follow what programs of
// this sort are called.
func isController(manager string) bool {
	name := strings.ToLower(manager)
	exact := []string{"kubelet", "kube-scheduler", "kube-apiserver", "kube-proxy", "manager", "cainjector", "certgen",
		"kube-webhook-certgen", "pilot-discovery", "istiod", "keda", "velero", "flagger", "external-dns", "longhorn-manager",
		"kyverno", "gatekeeper", "crossplane", "k3s", "rke2", "k0s", "kubelite", "node-problem-detector", "cilium",
		"calico-node",
		"kueue", "volcano"}
	if slices.Contains(exact, name) {
		return true
	}
	for _, tool := range []string{"kubectl", "helm", "terraform", "lens"} {
		if strings.HasPrefix(name, tool) && name != "helm-controller" {
			return false
		}
	}
	for _, part := range []string{"controller", "operator", "injector", "provisioner", "autoscaler", "-webhook", "vpa-",
		"argocd-", "cert-manager", "-manager", "-scheduler"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
