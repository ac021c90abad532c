// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
)

func TestDrift(t *testing.T) {
	for _, tc := range []struct {
		name      string
		kind      string
		old, live string
		want      []string // "path: want -> have"
	}{{
		name: "unchanged",
		kind: "apps/v1 Deployment",
		old:  `{spec: {replicas: 3}}`, live: `{spec: {replicas: 3, paused: true}, status: {replicas: 2}}`,
	}, {
		name: "scaled by hand, other image, variable removed, another added",
		kind: "apps/v1 Deployment",
		old:  `{spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "a:1", env: [{name: X, value: "1"}]}]}}}}`,
		live: `{spec: {replicas: 0, template: {spec: {containers: [{name: web, image: "a:2", env: [{name: Y, value: "1"}]}]}}}}`,
		want: []string{
			"spec.replicas: 3 -> 0",
			"spec.template.spec.containers[web].env[X]: map[name:X value:1] -> <nil>",
			"spec.template.spec.containers[web].image: a:1 -> a:2",
		},
	}, {
		name: "an annotation with dots in its name",
		kind: "v1 ConfigMap",
		old:  `{metadata: {annotations: {a.b/c: d}}, data: {x.yaml: w}}`, live: `{metadata: {annotations: {}}, data: {x.yaml: z}}`,
		want: []string{"data[x.yaml]: w -> z", "metadata.annotations[a.b/c]: d -> <nil>"},
	}, {
		name: "empty values that the server omits or sets",
		kind: "apps/v1 Deployment",
		old:  `{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false, dnsPolicy: "", schedulerName: null, containers: [{name: web, imagePullPolicy: null, env: [{name: X, value: ""}], livenessProbe: {periodSeconds: 0}}]}}}}`,
		live: `{spec: {template: {spec: {dnsPolicy: ClusterFirst, schedulerName: default-scheduler, containers: [{name: web, imagePullPolicy: Always, env: [{name: X}], livenessProbe: {periodSeconds: 10}}]}}}}`,
	}, {
		name: "false changed to true",
		kind: "apps/v1 Deployment",
		old:  `{spec: {paused: false}}`, live: `{spec: {paused: true}}`,
		want: []string{"spec.paused: false -> true"},
	}, {
		name: "the order of variables",
		kind: "v1 Pod",
		old:  `{spec: {containers: [{name: a}, {name: b}]}}`, live: `{spec: {containers: [{name: b}, {name: a}]}}`,
		want: []string{"spec.containers (order): [a b] -> [b a]"},
	}, {
		name: "a list of a custom resource, and a null of the manifest",
		kind: "example.com/v1 Shop",
		old:  `{spec: {items: [a], none: null}}`, live: `{spec: {items: [a, b], none: 1}}`,
		want: []string{"spec.items: [a] -> [a b]"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, tc.kind, tc.live, tc.old, tc.old)
			var got []string
			for _, d := range Drift(item) {
				got = append(got, fmt.Sprintf("%s: %v -> %v", d.Path, d.Want, d.Have))
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			if s := computeOne(t, item, Options{}); s.Drifted != (len(tc.want) > 0) {
				t.Errorf("drifted is %v", s.Drifted)
			}
		})
	}
}

// After a failed upgrade, an object may have the state of that revision or of the one before:
// neither is drift.
func TestDriftFailedRevision(t *testing.T) {
	for _, tc := range []struct {
		name, older, failed, live string
		want                      string
	}{
		{"not written", `{data: {a: "1"}}`, `{data: {a: "2", b: "1"}}`, `{data: {a: "1"}}`, ""},
		{"written", `{data: {a: "1"}}`, `{data: {a: "2", b: "1"}}`, `{data: {a: "2", b: "1"}}`, ""},
		{"one field as the older says, one as none says", `{data: {a: "1", b: "1"}}`, `{data: {a: "2", b: "2"}}`, `{data: {a: "1", b: "9"}}`, "data.b"},
		{"changed by hand after both", `{data: {a: "1"}}`, `{data: {a: "2"}}`, `{data: {a: "9"}}`, "data.a"},
		{"a manifest that no cluster can have accepted", `{data: {a: "1"}}`, `{data: {a: "1"}, metadata: {labels: {x: 1}}}`, `{data: {a: "1"}}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			item := newItem(t, "v1 ConfigMap", tc.live, `{data: {a: "3"}}`, tc.older, tc.failed)
			var paths []string
			for _, d := range Drift(item) {
				paths = append(paths, d.Path)
			}
			if got := strings.Join(paths, " "); got != tc.want {
				t.Errorf("drift is %q, want %q", got, tc.want)
			}
			if s := computeOne(t, item, Options{}); s.Drifted != (tc.want != "") {
				t.Errorf("drifted is %v", s.Drifted)
			}
		})
	}
}

func TestDriftSecret(t *testing.T) {
	d := Drift(newItem(t, "v1 Secret", `{data: {a: eA==}, type: x}`, "", `{stringData: {a: b}, type: y}`))
	if len(d) != 2 || d[0].Path != "data.a" || !d[0].Secret || d[1].Path != "type" || d[1].Secret {
		t.Errorf("drift is %+v", d)
	}
}

func TestStepDrifted(t *testing.T) {
	const cm = "v1 ConfigMap"
	for _, tc := range []struct {
		old, live, want string
		drifted         bool
	}{
		{`{data: {a: "1"}}`, `{data: {a: "1"}}`, `{data: {a: "2"}}`, false},
		{`{data: {a: "1"}}`, `{data: {a: "2"}}`, `{data: {a: "2"}}`, true},
		{`{data: {a: "1"}}`, `{data: {a: "1", b: "1"}}`, `{data: {a: "1"}}`, false},
	} {
		t.Run(tc.live, func(t *testing.T) {
			if s := computeOne(t, newItem(t, cm, tc.live, tc.want, tc.old), Options{}); s.Drifted != tc.drifted {
				t.Errorf("%+v: drifted is %v", tc, s.Drifted)
			}
		})
	}
}

func TestFormatObject(t *testing.T) {
	o := parseObject(t, `{kind: ConfigMap, apiVersion: v1, data: {b: x, a: "1"}, status: {x: 1}, metadata: {uid: u, generation: 1, resourceVersion: "1", creationTimestamp: null, managedFields: [], name: web, labels: {a: null}}}`)
	want := `apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {}
data:
  a: "1"
  b: x
`
	if got := FormatObject(o); got != want {
		t.Errorf("got\n%s", got)
	}
	if FormatObject(nil) != "" {
		t.Error("FormatObject(nil) is not empty")
	}
	o["data"].(map[string]any)["b"] = "\xff"
	if got := FormatObject(o); !strings.Contains(got, `"b": `) {
		t.Errorf("got\n%s", got)
	}
}

func TestRedact(t *testing.T) {
	before := parseObject(t, `{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"pass":"b2xkZXI="}}'}}, data: {user: YWRtaW4=, pass: b2xkZXI=, gone: eA==}}`)
	after := parseObject(t, `{apiVersion: v1, kind: Secret, data: {user: YWRtaW4=}, stringData: {pass: newer pass, more: x}}`)
	b, a := Redact(before, after)
	if got := fmt.Sprint(b["data"]); got != "map[gone:-------- # (1 bytes) pass:-------- # (5 bytes) user:REDACTED # (5 bytes)]" {
		t.Errorf("before is %s", got)
	}
	if got := fmt.Sprint(a["data"]); got != "map[more:++++++++ # (1 bytes) pass:++++++++ # (10 bytes) user:REDACTED # (5 bytes)]" {
		t.Errorf("after is %s", got)
	}
	if text := FormatObject(b) + FormatObject(a); strings.Contains(text, "b2xkZXI") || strings.Contains(text, "newer") {
		t.Errorf("the output has a secret value:\n%s", text)
	}
	if before["data"].(map[string]any)["pass"] != "b2xkZXI=" {
		t.Error("Redact changed its input")
	}
	for _, odd := range []string{`{kind: Secret, data: topsecret}`, `{kind: Secret, data: [topsecret]}`, `{kind: Secret, stringData: {a: [topsecret]}}`} {
		t.Run(odd, func(t *testing.T) {
			if _, a := Redact(nil, parseObject(t, odd)); strings.Contains(FormatObject(a), "topsecret") {
				t.Errorf("%s shows as\n%s", odd, FormatObject(a))
			}
		})
	}
	cm := parseObject(t, `{kind: ConfigMap, data: {a: b}}`)
	if b, a := Redact(nil, cm); b != nil || FormatObject(a) != FormatObject(cm) {
		t.Errorf("a ConfigMap is\n%s", FormatObject(a))
	}
}

func TestCompare(t *testing.T) {
	read := func(text string) []*manifest.Object {
		objs, err := manifest.ParseManifest(text)
		if err != nil {
			t.Fatal(err)
		}
		return objs
	}
	old := read(`---
# Source: web/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: same, namespace: shop}
data: {a: b}
---
# Source: web/templates/b.yaml
apiVersion: apps/v1beta2
kind: Deployment
metadata: {name: web}
spec: {replicas: 1}
---
# Source: web/templates/c.yaml
apiVersion: v1
kind: Secret
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
---
# Source: web/templates/d.yaml
apiVersion: v1
kind: Namespace
metadata: {name: gone}
---
# Source: web/templates/e.yaml
apiVersion: v1
kind: Secret
metadata: {name: text}
data: {a: Yg==}
`)
	now := read(`---
# Source: web/templates/a.yaml
# an empty one
---
# Source: web/templates/b.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2}
---
# Source: web/templates/e.yaml
apiVersion: v1
kind: Secret
metadata: {name: text}
stringData: {a: b}
---
# Source: web/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: same}
data: {a: b}
---
# Source: web/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: same, namespace: other}
`)
	steps, err := Compare(old, now, "shop")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%s %s %s/%s", s.Action, s.APIVersion, s.Namespace, s))
	}
	want := []string{
		"update apps/v1 shop/Deployment/web", "unchanged v1 shop/Secret/text", "unchanged v1 shop/ConfigMap/same",
		"create v1 other/ConfigMap/same", "keep v1 shop/Secret/kept", "delete v1 /Namespace/gone",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
