// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
)

// exclusion returns why two objects cannot exist at the same time, or "". isShared reports whether
// several pods can use a claim.
func exclusion(before, after map[string]any, isShared func(claim string) bool) string {
	a, b := claims(before), claims(after)
	for _, what := range slices.Sorted(maps.Keys(a)) {
		if !b[what] {
			continue
		}
		if claim, ok := strings.CutPrefix(what, claimPrefix); ok && isShared(claim) {
			continue
		}
		return "both use " + what
	}
	return ""
}

const claimPrefix = "the claim "

// claims returns what an object has for itself: node ports, addresses, ports of hosts, volumes.
func claims(object map[string]any) map[string]bool {
	out := map[string]bool{}
	spec, _ := object["spec"].(map[string]any)
	if object["kind"] == "Service" {
		for _, key := range []string{"clusterIP", "loadBalancerIP", "healthCheckNodePort"} {
			if v := fmt.Sprint(spec[key]); spec[key] != nil && v != "" && v != "None" && v != "0" {
				out[key+" "+v] = true
			}
		}
		for _, port := range mapsIn(spec["ports"]) {
			if v := port["nodePort"]; v != nil && fmt.Sprint(v) != "0" {
				out[fmt.Sprintf("node port %v/%s", v, cmp.Or(textOf(port["protocol"]), "TCP"))] = true
			}
		}
		return out
	}
	if object["kind"] != "Pod" {
		template, _ := spec["template"].(map[string]any)
		spec, _ = template["spec"].(map[string]any)
	}
	for _, c := range slices.Concat(mapsIn(spec["containers"]), mapsIn(spec["initContainers"])) {
		for _, port := range mapsIn(c["ports"]) {
			v := port["hostPort"]
			if spec["hostNetwork"] == true && v == nil {
				v = port["containerPort"]
			}
			if v != nil && fmt.Sprint(v) != "0" {
				out[fmt.Sprintf("port %v of the node", v)] = true
			}
		}
	}
	for _, v := range mapsIn(spec["volumes"]) {
		claim, _ := v["persistentVolumeClaim"].(map[string]any)
		if name := textOf(claim["claimName"]); name != "" && claim["readOnly"] != true {
			out[claimPrefix+name] = true
		}
	}
	return out
}

func mapsIn(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func textOf(v any) string { s, _ := v.(string); return s }

// rename is an object that keeps its old name.
type rename struct {
	object      *manifest.Object
	group, kind string
	from, to    Ref // the rendered name and the one that stays
}

// keepNames gives the objects that keep their names those of earlier revisions, and has references
// name them, in hooks too.
func (m *mover) keepNames() error {
	if len(m.keep) == 0 {
		return nil
	}
	byObject := map[Ref]rename{}
	for _, r := range m.keep {
		byObject[m.id(r.object)] = r
	}
	flat, err := manifest.Flatten(m.in.Objects)
	if err != nil {
		return err
	}
	out := make([]*manifest.Object, 0, len(flat))
	for _, o := range flat {
		object, err := m.renamed(o, byObject)
		if err != nil {
			return err
		}
		out = append(out, object)
	}
	m.out.Objects = out
	return nil
}

// renamed returns o with the names that stay, or o itself if it has none of them.
func (m *mover) renamed(o *manifest.Object, byObject map[Ref]rename) (*manifest.Object, error) {
	object, err := o.Map()
	if err != nil || object == nil {
		return o, err
	}
	w := &refWriter{renames: m.keep, namespace: cmp.Or(o.Namespace, m.in.Namespace)}
	changed, _ := w.value(object, nil).(map[string]any)
	if r, ok := byObject[m.id(o)]; ok && !isHook(o) {
		changed = withName(changed, r.to, o.Namespace != "" || r.to.Namespace != r.from.Namespace)
		w.written = true
	}
	for _, place := range w.mentions {
		m.warn("%s (%s): %s has a name of the chart in its text, and the object keeps its old name: make the text of a "+
			"value", o, o.Source, place)
	}
	if !w.written {
		return o, nil
	}
	text, err := manifest.Edit(o.Raw, changed)
	if err != nil {
		return nil, err
	}
	parsed, err := manifest.Parse(o.Source, text)
	if err != nil || len(parsed) != 1 {
		return nil, fmt.Errorf("rename %s (%s): %w", o, o.Source, err)
	}
	parsed[0].List = o.List
	return parsed[0], nil
}

// withName returns an object with another name and, if asked for, namespace.
func withName(object map[string]any, name Ref, namespace bool) map[string]any {
	object = maps.Clone(object)
	meta, _ := object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	meta["name"] = name.Name
	if namespace {
		meta["namespace"] = name.Namespace
	}
	object["metadata"] = meta
	return object
}

// refWriter replaces references to renamed objects in one object.
type refWriter struct {
	renames   []rename
	namespace string // of the object
	written   bool
	// mentions are other fields that have a name in a longer text.
	mentions []string
}

// nameFields are the fields with the name of an object of a kind.
var nameFields = map[string]string{
	"serviceAccountName": "ServiceAccount", "serviceAccount": "ServiceAccount", "secretName": "Secret",
	"claimName":   "PersistentVolumeClaim",
	"serviceName": "Service", "volumeName": "PersistentVolume", "storageClassName": "StorageClass",
	"priorityClassName": "PriorityClass", "ingressClassName": "IngressClass", "runtimeClassName": "RuntimeClass",
}

// refFields are the fields with a map that names an object of a kind.
var refFields = map[string]string{
	"configMap": "ConfigMap", "configMapRef": "ConfigMap", "configMapKeyRef": "ConfigMap", "secret": "Secret",
	"secretRef": "Secret", "secretKeyRef": "Secret", "nodePublishSecretRef": "Secret", "imagePullSecrets": "Secret",
	"service": "Service", "backendRefs": "Service", "secrets": "Secret",
}

// unrelated are fields whose texts are not names of objects.
var unrelated = []string{"labels", "annotations", "matchLabels", "selector", "matchExpressions", "labelSelector"}

const maxMentions = 5

// value returns v, which is at a path, with its references replaced.
func (w *refWriter) value(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		return w.object(v, path)
	case []any:
		var out []any
		for i, item := range v {
			if changed := w.value(item, path); !same(changed, item) {
				if out == nil {
					out = slices.Clone(v)
				}
				out[i] = changed
			}
		}
		if out != nil {
			return out
		}
	case string:
		return w.text(v, path)
	}
	return v
}

// same reports whether a value was not replaced: maps and lists are replaced by clones.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b)
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	return a == b
}

func (w *refWriter) object(m map[string]any, path []string) any {
	out := m
	set := func(key string, v any) {
		if same(out, m) {
			out = maps.Clone(m)
		}
		out[key] = v
	}
	if r := w.reference(m, path); r != nil {
		set("name", r.to.Name)
		w.written = true
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key == "name" && (len(path) == 1 && path[0] == "metadata" || !same(out, m)) || len(path) == 0 && key == "status" ||
			slices.Contains(unrelated, key) {
			continue
		}
		if changed := w.value(m[key], append(slices.Clone(path), key)); !same(changed, m[key]) {
			set(key, changed)
		}
	}
	return out
}

// reference returns the rename of the object that a map names, or nil.
func (w *refWriter) reference(m map[string]any, path []string) *rename {
	name, kind := textOf(m["name"]), textOf(m["kind"])
	if name == "" || len(path) == 0 {
		return nil
	}
	if kind == "" {
		kind = refFields[path[len(path)-1]]
	}
	api, hasGroup := m["apiGroup"].(string)
	if v := textOf(m["apiVersion"]); v != "" {
		api, hasGroup = manifest.Group(v), true
	}
	for i, r := range w.renames {
		if r.kind == kind && r.from.Name == name && (!hasGroup || api == r.group || r.kind == "ServiceAccount") &&
			cmp.Or(textOf(m["namespace"]), w.namespace) == r.from.Namespace {
			return &w.renames[i]
		}
	}
	return nil
}

// text returns the text of a field, or the name that stays if the field has the name of an object.
func (w *refWriter) text(s string, path []string) any {
	key := path[len(path)-1]
	for _, r := range w.renames {
		if s == r.from.Name && nameFields[key] == r.kind && w.namespace == r.from.Namespace {
			w.written = true
			return r.to.Name
		}
		if r.mentionedIn(s) && key != "name" && len(w.mentions) < maxMentions {
			w.mentions = append(w.mentions, strings.Join(path, "."))
		}
	}
	return s
}

// mentionedIn reports whether a text has the rendered name as a word: a Service in an address, or
// an object as the argument of a program.
func (r rename) mentionedIn(s string) bool {
	for rest := s; ; {
		i := strings.Index(rest, r.from.Name)
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(r.from.Name):]
		previous, next := before[max(0, len(before)-1):], after[:min(1, len(after))]
		if !strings.ContainsAny(previous+next, nameRunes) {
			return true
		}
		rest = after
	}
}

// nameRunes are the characters of names.
const nameRunes = "abcdefghijklmnopqrstuvwxyz0123456789-"
