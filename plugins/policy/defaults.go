// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// defaultsText lists default values that API servers set, one per line: the name of the schema, the
// field and the value. A server hands objects to policies after it has set them. They were found by dry runs:
// see TestDefaultsAgreeWithTheServer.
//
//go:embed defaults.txt
var defaultsText string

// fieldDefault is the default value of a field.
type fieldDefault struct{ field, value string }

// defaults returns the default values by schema.
var defaults = sync.OnceValue(func() map[string][]fieldDefault {
	out := map[string][]fieldDefault{}
	for line := range strings.Lines(defaultsText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		field, value, _ := strings.Cut(rest, " ")
		out[name] = append(out[name], fieldDefault{field, value})
	}
	return out
})

// setDefaults sets the default values of a built-in kind.
func (k *kinds) setDefaults(kind builtin.Kind, value map[string]any) {
	d := defaulter{k.release.Document(kind.APIVersion)}
	d.value(&openapi.Schema{Ref: kind.Schema}, value)
}

type defaulter struct{ *openapi.Document }

func (d defaulter) value(s *openapi.Schema, v any) {
	name := ""
	for s != nil && s.Ref != "" {
		name, s = s.Ref, d.Schemas[s.Ref]
	}
	if s == nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			d.value(s.Items, item)
		}
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
			}
		}
		set(name, v)
		for key, value := range v {
			if p := s.Properties[key]; p != nil {
				d.value(p, value)
			} else {
				d.value(s.Additional, value)
			}
		}
	}
}

// set sets the default values of the fields of a schema.
func set(name string, v map[string]any) {
	for _, f := range defaults()[name] {
		var value any
		if v[f.field] == nil && utiljson.Unmarshal([]byte(f.value), &value) == nil {
			v[f.field] = value
		}
	}
	if computed := computedDefaults[name]; computed != nil {
		computed(v)
	}
}

// computedDefaults set default values that depend on other fields.
var computedDefaults = map[string]func(map[string]any){
	"io.k8s.api.apps.v1.DeploymentStrategy":        rollingUpdate,
	"io.k8s.api.apps.v1.DaemonSetUpdateStrategy":   rollingUpdate,
	"io.k8s.api.apps.v1.StatefulSetUpdateStrategy": rollingUpdate,
	"io.k8s.api.apps.v1.StatefulSetSpec":           claimTemplates,
	"io.k8s.api.batch.v1.Job":                      job,
	"io.k8s.api.core.v1.Container":                 container,
	"io.k8s.api.core.v1.PersistentVolumeClaimSpec": dataSource,
	"io.k8s.api.core.v1.Pod":                       pod,
	"io.k8s.api.core.v1.Secret":                    secret,
	"io.k8s.api.core.v1.ServicePort":               servicePort,
	"io.k8s.api.core.v1.ServiceSpec":               service,
	"io.k8s.api.core.v1.Volume":                    volume,
	"io.k8s.api.networking.v1.NetworkPolicySpec":   policyTypes,
	"io.k8s.api.rbac.v1.Subject":                   subject,
}

func rollingUpdate(v map[string]any) {
	if v["type"] == "RollingUpdate" && v["rollingUpdate"] == nil {
		v["rollingUpdate"] = map[string]any{}
	}
}

// claimTemplates completes the templates of claims, which are objects.
func claimTemplates(v map[string]any) {
	templates, _ := v["volumeClaimTemplates"].([]any)
	for _, t := range templates {
		if claim, ok := t.(map[string]any); ok {
			setIfMissing(claim, "apiVersion", "v1")
			setIfMissing(claim, "kind", "PersistentVolumeClaim")
			setIfMissing(claim, "status", map[string]any{"phase": "Pending"})
		}
	}
}

// job sets the defaults of a Job, which the template of a CronJob does not get, and its labels: those of its
// template if it has none.
func job(v map[string]any) {
	meta, spec := fields(v, "metadata"), fields(v, "spec")
	if spec == nil {
		return
	}
	setIfMissing(spec, "backoffLimit", int64(6))
	setIfMissing(spec, "completionMode", "NonIndexed")
	setIfMissing(spec, "suspend", false)
	replacement := "TerminatingOrFailed"
	if spec["podFailurePolicy"] != nil {
		replacement = "Failed"
	}
	setIfMissing(spec, "podReplacementPolicy", replacement)
	if spec["completions"] == nil && spec["parallelism"] == nil {
		spec["completions"] = int64(1)
	}
	setIfMissing(spec, "parallelism", int64(1))
	if meta != nil {
		setIfMissing(meta, "labels", fields(fields(spec, "template"), "metadata")["labels"])
	}
}

func container(v map[string]any) {
	image, _ := v["image"].(string)
	pull := "IfNotPresent"
	_, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if !strings.Contains(image, "@") && (!tagged || tag == "latest") {
		pull = "Always"
	}
	setIfMissing(v, "imagePullPolicy", pull)
}

// pod sets the defaults that the template of a Pod does not get: the requests of its containers are their limits.
func pod(v map[string]any) {
	spec := fields(v, "spec")
	if spec == nil {
		return
	}
	setIfMissing(spec, "enableServiceLinks", true)
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			c, _ := c.(map[string]any)
			resources := fields(c, "resources")
			for name, value := range fields(resources, "limits") {
				if fields(resources, "requests") == nil {
					resources["requests"] = map[string]any{}
				}
				setIfMissing(fields(resources, "requests"), name, value)
			}
		}
	}
}

func dataSource(v map[string]any) { setIfMissing(v, "dataSourceRef", v["dataSource"]) }

// fields returns the field of v that is a map, or nil.
func fields(v map[string]any, name string) map[string]any {
	m, _ := v[name].(map[string]any)
	return m
}

// secret moves stringData to data, as a server does when it reads a Secret.
func secret(v map[string]any) {
	from, ok := v["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, ok := v["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		v["data"] = data
	}
	for key, value := range from {
		text, _ := value.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(v, "stringData")
}

func servicePort(v map[string]any) { setIfMissing(v, "targetPort", v["port"]) }

func service(v map[string]any) {
	switch v["type"] {
	case "ExternalName":
		return
	case "NodePort", "LoadBalancer":
		setIfMissing(v, "externalTrafficPolicy", "Cluster")
		if v["type"] == "LoadBalancer" {
			setIfMissing(v, "allocateLoadBalancerNodePorts", true)
		}
	}
	setIfMissing(v, "internalTrafficPolicy", "Cluster")
}

// volume makes a volume without a source an empty directory.
func volume(v map[string]any) {
	if len(v) == 1 && v["name"] != nil {
		v["emptyDir"] = map[string]any{}
	}
}

func policyTypes(v map[string]any) {
	if v["policyTypes"] != nil {
		return
	}
	all := []any{"Ingress"}
	if egress, _ := v["egress"].([]any); len(egress) > 0 {
		all = append(all, "Egress")
	}
	v["policyTypes"] = all
}

func subject(v map[string]any) {
	if v["kind"] == "User" || v["kind"] == "Group" {
		setIfMissing(v, "apiGroup", "rbac.authorization.k8s.io")
	}
}

func setIfMissing(v map[string]any, key string, value any) {
	if v[key] == nil && value != nil {
		v[key] = copyOf(value)
	}
}

// copyOf returns a copy of a value of JSON.
func copyOf(v any) any {
	if _, isMap := v.(map[string]any); !isMap {
		return v
	}
	var out any
	if text, err := json.Marshal(v); err == nil && utiljson.Unmarshal(text, &out) == nil {
		return out
	}
	return v
}
