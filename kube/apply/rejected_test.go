// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moonhelm/moonhelm/manifest"
)

// TestRejected takes answers of API servers of Kubernetes 1.30 to 1.36 apart.
func TestRejected(t *testing.T) {
	invalid := func(message string, causes ...metav1.StatusCause) metav1.Status {
		return metav1.Status{Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: message,
			Details: &metav1.StatusDetails{Causes: causes}}
	}
	bad := func(message string) metav1.Status {
		return metav1.Status{Status: metav1.StatusFailure, Code: 400, Reason: metav1.StatusReasonBadRequest, Message: message}
	}
	const long = `{"matchLabels":{"app":"a-very-long-name-of-an-application","tier":"one-more-name"}}`
	for _, test := range []struct {
		name   string
		answer metav1.Status
		want   string
	}{
		{"one readable cause stays as it is", invalid(`Deployment.apps "web" is invalid: spec.selector: Required value`,
			metav1.StatusCause{Field: "spec.selector", Message: "Required value"}),
			`Deployment.apps "web" is invalid: spec.selector: Required value`},
		{"several causes", invalid(`Deployment.apps "web" is invalid: [spec.selector: Required value, spec.replicas: Invalid value: -1: must be >= 0]`,
			metav1.StatusCause{Field: "spec.selector", Message: "Required value"},
			metav1.StatusCause{Field: "spec.replicas", Message: "Invalid value: -1: must be >= 0"}),
			"Deployment.apps \"web\" is invalid: 2 errors:\n  line 2: .spec.selector: Required value\n  line 3: .spec.replicas: Invalid value: -1: must be >= 0"},
		{"a long value", invalid(`Deployment.apps "web" is invalid: spec.selector: Invalid value: `+long+`: field is immutable`,
			metav1.StatusCause{Field: "spec.selector", Message: "Invalid value: " + long + ": field is immutable"}),
			`Deployment.apps "web" is invalid: .spec.selector: Invalid value: ...: field is immutable`},
		{"a patch that cannot be read", invalid(` "" is invalid: patch: Invalid value: "map[spec:map[replicas:two template:map[spec:map[containers:[map[name:web]]]]]]": json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`,
			metav1.StatusCause{Field: "patch", Message: `Invalid value: "map[spec:map[replicas:two template:map[spec:map[containers:[map[name:web]]]]]]": json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`}),
			"the patch is invalid: .spec.replicas: expected an integer, got string"},
		{"a patch that cannot be merged", invalid(` "" is invalid: patch: Invalid value: "map[spec:map[template:map[spec:map[]]]]": unrecognized type: string`,
			metav1.StatusCause{Field: "patch", Message: `Invalid value: "map[spec:map[template:map[spec:map[]]]]": unrecognized type: string`}),
			"the patch is invalid: a field has a value of the wrong type (unrecognized type: string)"},
		{"a type", bad(`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`),
			`Deployment in version "v1" cannot be handled as a Deployment: .spec.replicas: expected an integer, got string`},
		{"a type in a list", bad(`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string`),
			`Deployment in version "v1" cannot be handled as a Deployment: .spec.template.spec.containers[1].env[0].value: expected a string, got number`},
		{"a list for a map", bad(`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string`),
			`Deployment in version "v1" cannot be handled as a Deployment: .metadata.labels: expected a map, got list`},
		{"unknown fields", bad(`Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.colour", duplicate field "spec.template.spec.containers[0].name"`),
			"Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: 2 errors:\n  line 7: .spec.template.spec.containers[0].name: duplicate field\n  .spec.colour: unknown field"},
		{"server-side apply, one", metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema`},
			`failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema`},
		{"server-side apply, several", metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): errors:\n  .spec.replicas: expected numeric (int or float), got string\n  .spec.template.spec.containers[name=\"b\"].image: expected string, got &value.valueUnstructured{Value:1}"},
			"failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): 2 errors:\n  line 3: .spec.replicas: expected a number, got string\n  line 8: .spec.template.spec.containers[name=\"b\"].image: expected a string, got number"},
		{"no field", bad("the namespace of the provided object does not match the namespace sent on the request"),
			"the namespace of the provided object does not match the namespace sent on the request"},
		{"another reason", metav1.Status{Status: metav1.StatusFailure, Code: 409, Reason: metav1.StatusReasonConflict, Message: "json: cannot unmarshal"},
			"json: cannot unmarshal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects, err := manifest.Parse("web/templates/a.yaml", "kind: Deployment\nspec:\n  replicas: two\n  template:\n    spec:\n      containers:\n"+
				"      - {name: a, env: [{name: X, value: x}]}\n      - {name: b, image: x, env: [{name: X, value: 1}]}\nmetadata: {labels: [a]}\n")
			if err != nil {
				t.Fatal(err)
			}
			object, err := objects[0].Map()
			if err != nil {
				t.Fatal(err)
			}
			got := rejected(objects[0], object, &apierrors.StatusError{ErrStatus: test.answer})
			if e, ok := errors.AsType[*RejectedError](got); ok {
				e.Locate(func(o *manifest.Object, field string) int {
					last := field[strings.LastIndex(field, ".")+1:]
					return map[string]int{"selector": 2, "replicas": 3, "name": 7, "image": 8}[last]
				})
			}
			if got.Error() != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if apierrors.IsInvalid(got) != (test.answer.Code == 422) {
				t.Error("the server's answer is not in the error")
			}
		})
	}
}

func FuzzRejected(f *testing.F) {
	f.Add(`X in version "v1" cannot be handled as a X: json: cannot unmarshal string into Go struct field A.b of type int32`, "spec.a", `Invalid value: "map[": x`)
	f.Add("failed to create typed patch object (a): errors:\n  .a: b", "patch", `Invalid value: {"a": [`)
	f.Fuzz(func(t *testing.T, message, field, cause string) {
		for _, reason := range []metav1.StatusReason{metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest} {
			err := rejected(nil, map[string]any{"a": []any{map[string]any{"b": "c"}}}, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: reason,
				Message: message, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: field, Message: cause}}}}})
			if err.Error() == "" && message != "" {
				t.Error("no message")
			}
		}
	})
}
