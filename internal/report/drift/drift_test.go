// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

func sample() []Report {
	ref := plan.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	secret := plan.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "s"}
	by := plan.Manager{Name: "kubectl-edit", Time: "2026-01-02T03:04:05Z"}
	field := func(path string, kind plan.DriftKind, want, have any) plan.DriftedField {
		return plan.DriftedField{Difference: plan.Difference{Path: path, Want: want, Have: have}, Kind: kind, Manager: by}
	}
	hidden := field("data.password", plan.DriftChanged, "b2xk", "bmV3")
	hidden.Secret = true
	allowed := field("data.b", plan.DriftAdded, nil, "\x1b[31m")
	allowed.Allowed, allowed.Manager = "ignored by data.b", plan.Manager{}
	release := func(name string, objects ...plan.ObjectDrift) Report {
		return Report{ReleaseDrift: action.ReleaseDrift{Name: name, Namespace: "shop", Revision: 3, Objects: objects}}
	}
	failed := release("broken")
	failed.Err = errors.New("cannot be read\nat all")
	return []Report{
		release("web", plan.ObjectDrift{Ref: ref, Fields: []plan.DriftedField{field("data.a", plan.DriftChanged, "1", "2"), allowed}},
			plan.ObjectDrift{Ref: secret, Fields: []plan.DriftedField{hidden}},
			plan.ObjectDrift{Ref: plan.Ref{APIVersion: "v1", Kind: "Node", Name: "n\x1b"}, Missing: true}),
		release("fine", plan.ObjectDrift{Ref: ref}), failed,
	}
}

func TestWrite(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 9, 5, 0, time.UTC)
	for _, tc := range []struct {
		format Format
		o      Options
		want   []string
		not    []string
	}{
		{Text, Options{}, []string{"web in namespace shop, revision 3: 3 objects drifted\n  ConfigMap/a\n" +
			"    changed data.a is \"2\", installed as \"1\" (kubectl-edit, 2026-01-02T03:04:05Z)\n",
			"  Secret/s\n    changed data.password (kubectl-edit,", "missing the object does not exist",
			"broken in namespace shop: could not be checked: cannot be read\n", "3 releases checked, 1 drifted, 1 failed\n",
			"1 difference is allowed: --show-allowed"}, []string{"fine", "data.b"}},
		{Text, Options{Allowed: true}, []string{`allowed data.b is "\u001b[31m": ignored by data.b`}, []string{"--show-allowed"}},
		{JSON, Options{}, []string{`"drifted":true`, `"sensitive":true`, `"error":"cannot be read\nat all"`, `"allowed":"ignored by data.b"`}, nil},
		{YAML, Options{}, []string{"drifted: true\n", "path: data.password"}, nil},
		{JUnit, Options{}, []string{`name="shop/web"`, `tests="3" failures="3"`, "changed data.a is", `name="shop/broken"`, "<error",
			`<property name="tool" value="helm drift">`}, []string{"unittest"}},
		{Prometheus, Options{}, []string{"helm_release_drifted{namespace=\"shop\",release=\"web\"} 1\n", "release=\"fine\"} 0\n",
			"helm_release_drift_error{namespace=\"shop\",release=\"broken\"} 1\n", `object="a",change="changed"} 1`,
			"helm_drift_check_timestamp_seconds 1767323345\n"}, []string{"data."}},
	} {
		t.Run(string(tc.format), func(t *testing.T) {
			var b strings.Builder
			tc.o.Now = now
			if err := Write(term.Streams{Out: &b}, tc.format, sample(), tc.o); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q in\n%s", want, &b)
				}
			}
			for _, not := range append(tc.not, "bmV3", "b2xk") {
				if strings.Contains(b.String(), not) {
					t.Errorf("%q in\n%s", not, &b)
				}
			}
			if tc.format == Text && strings.Contains(b.String(), "\x1b") {
				t.Errorf("an escape sequence in %q", &b)
			}
			var root struct{ XMLName xml.Name }
			if err := xml.Unmarshal([]byte(b.String()), &root); tc.format == JUnit && err != nil {
				t.Error(err)
			}
		})
	}
}

// What was repaired is no reason for an alert.
func TestRepaired(t *testing.T) {
	reports := sample()[:2]
	if !Open(reports) {
		t.Error("nothing has drifted")
	}
	reports[0].Repaired = InPlace
	if Open(reports) {
		t.Error("a repaired release has drifted")
	}
	var b strings.Builder
	if err := Write(term.Streams{Out: &b}, Prometheus, reports, Options{}); err != nil || strings.Contains(b.String(), "} 1\n") {
		t.Errorf("%v\n%s", err, &b)
	}
}

func TestFormatSet(t *testing.T) {
	var f Format
	if err := f.Set("junit"); err != nil || f != JUnit {
		t.Errorf("got %q, %v", f, err)
	}
	if err := f.Set("tap"); err == nil {
		t.Error("tap is no format")
	}
}
