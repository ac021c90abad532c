// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/openapi"
)

// checkTypes returns the fields of an object whose types are wrong in all versions of Kubernetes.
// It knows the metadata of all kinds, and the fields of built-in kinds that charts mostly set.
func checkTypes(object map[string]any) []openapi.Problem {
	d := *fieldTypes()
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	name := apiVersion + " " + kind
	if d.Schemas[name] == nil {
		name = "object"
	}
	d.Kinds = map[string]string{kind: name}
	return d.Check(object)
}

// fieldTypes has the schemas of fields. Fields that are not in it may have any type.
var fieldTypes = sync.OnceValue(func() *openapi.Document {
	d := &openapi.Document{Schemas: map[string]*openapi.Schema{}}
	for name, fields := range schemaFields {
		d.Schemas[name] = openFields(fields)
	}
	for kinds, spec := range specs {
		for _, kind := range strings.Split(kinds, ", ") {
			d.Schemas[kind] = openFields("metadata: metadata, spec: " + spec)
		}
	}
	return d
})

// specs maps kinds to the schemas of their specs.
var specs = map[string]string{
	"v1 Pod": "pod",
	"apps/v1 Deployment, apps/v1 ReplicaSet, apps/v1 StatefulSet, apps/v1 DaemonSet, batch/v1 Job": "workload",
	"batch/v1 CronJob": "cronjob",
	"v1 Service":       "service",
	"autoscaling/v2 HorizontalPodAutoscaler, autoscaling/v1 HorizontalPodAutoscaler": "autoscaler",
}

// schemaFields are schemas: fields and their types, where []T is a list and {T} a map.
var schemaFields = map[string]string{
	"object":       "metadata: metadata",
	"v1 ConfigMap": "metadata: metadata, data: {string}, binaryData: {string}, immutable: boolean",
	"v1 Secret":    "metadata: metadata, data: {string}, stringData: {string}, type: string, immutable: boolean",
	"metadata":     "name: string, namespace: string, labels: {string}, annotations: {string}, finalizers: []string",
	"selector":     "matchLabels: {string}, matchExpressions: []any",
	"workload": "replicas: integer, selector: selector, template: podTemplate, parallelism: integer, " +
		"completions: integer, backoffLimit: integer, activeDeadlineSeconds: integer, " +
		"revisionHistoryLimit: integer, minReadySeconds: integer, paused: boolean, suspend: boolean, " +
		"serviceName: string, volumeClaimTemplates: []any",
	"cronjob": "schedule: string, suspend: boolean, concurrencyPolicy: string, jobTemplate: jobTemplate, " +
		"startingDeadlineSeconds: integer, successfulJobsHistoryLimit: integer, failedJobsHistoryLimit: integer",
	"jobTemplate": "metadata: metadata, spec: workload",
	"podTemplate": "metadata: metadata, spec: pod",
	"pod": "containers: []container, initContainers: []container, volumes: []volume, nodeSelector: {string}, " +
		"serviceAccountName: string, automountServiceAccountToken: boolean, hostNetwork: boolean, " +
		"restartPolicy: string, terminationGracePeriodSeconds: integer, imagePullSecrets: []reference, " +
		"tolerations: []any, priorityClassName: string, activeDeadlineSeconds: integer",
	"reference": "name: string",
	"volume":    "name: string",
	"container": "name: string, image: string, imagePullPolicy: string, command: []string, args: []string, " +
		"workingDir: string, env: []variable, envFrom: []any, ports: []port, resources: resources, " +
		"volumeMounts: []mount, tty: boolean, stdin: boolean",
	"variable":  "name: string, value: string",
	"mount":     "name: string, mountPath: string, subPath: string, readOnly: boolean",
	"port":      "containerPort: integer, hostPort: integer, name: string, protocol: string",
	"resources": "limits: {quantity}, requests: {quantity}",
	"service": "type: string, ports: []servicePort, selector: {string}, clusterIP: string, " +
		"externalName: string, externalIPs: []string, loadBalancerSourceRanges: []string",
	"servicePort": "name: string, port: integer, nodePort: integer, protocol: string, targetPort: intOrString",
	"autoscaler":  "minReplicas: integer, maxReplicas: integer",
}

// openFields returns the schema of an object with the given fields, among others.
func openFields(fields string) *openapi.Schema {
	s := &openapi.Schema{Types: []string{"object"}, Open: true, Properties: map[string]*openapi.Schema{}}
	for field := range strings.SplitSeq(fields, ", ") {
		name, kind, _ := strings.Cut(field, ": ")
		s.Properties[name] = schemaOf(kind)
	}
	return s
}

// schemaOf returns the schema of a type in the notation of schemaFields.
func schemaOf(kind string) *openapi.Schema {
	if item, ok := strings.CutPrefix(kind, "[]"); ok {
		return &openapi.Schema{Types: []string{"array"}, Items: schemaOf(item)}
	}
	if value, ok := strings.CutPrefix(kind, "{"); ok {
		return &openapi.Schema{Types: []string{"object"}, Additional: schemaOf(strings.TrimSuffix(value, "}"))}
	}
	switch kind {
	case "any":
		return &openapi.Schema{}
	case "string", "integer", "boolean":
		return &openapi.Schema{Types: []string{kind}}
	case "intOrString":
		return &openapi.Schema{Types: []string{"integer", "string"}}
	case "quantity":
		return &openapi.Schema{Types: []string{"string", "number"}, Format: "quantity"}
	}
	return &openapi.Schema{Ref: kind}
}

// dropEmpty removes empty strings from an object, but for items of lists.
func dropEmpty(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == "" {
				delete(v, key)
			}
			dropEmpty(value)
		}
	case []any:
		for _, item := range v {
			dropEmpty(item)
		}
	}
}
