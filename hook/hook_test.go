// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

func annotated(t testing.TB, kind, name string, annotations ...string) *manifest.Object {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
	for i := 0; i < len(annotations); i += 2 {
		if i == 0 {
			b.WriteString("  annotations:\n")
		}
		fmt.Fprintf(&b, "    %s: %q\n", annotations[i], annotations[i+1])
	}
	objs, err := manifest.Parse("c/templates/a.yaml", b.String())
	if err != nil || len(objs) != 1 {
		t.Fatalf("%v, %v", objs, err)
	}
	return objs[0]
}

// What Helm 4.3.1 makes of annotations, observed by a dry run.
func TestAnnotationsAreReadAsHelmReadsThem(t *testing.T) {
	for _, test := range []struct {
		annotations []string
		want        string // events weight delete-policies log-policies; "" is skipped
	}{
		{[]string{Annotation, "pre-install"}, "[pre-install] 0 [] []"},
		{[]string{Annotation, "PRE-INSTALL"}, "[pre-install] 0 [] []"},
		{[]string{Annotation, " Pre-Install , test-success,test"}, "[pre-install test test] 0 [] []"},
		{[]string{Annotation, "pre-install,pre-install"}, "[pre-install pre-install] 0 [] []"},
		{[]string{Annotation, "unknown-event"}, ""},
		{[]string{Annotation, "pre-install,unknown-event"}, ""},
		{[]string{Annotation, "pre-install,"}, ""},
		{[]string{Annotation, "test-failure"}, ""},
		{[]string{Annotation, "crd-install"}, ""},
		{[]string{Annotation, ""}, ""},
		{[]string{Annotation, "test", WeightAnnotation, "-5"}, "[test] -5 [] []"},
		{[]string{Annotation, "test", WeightAnnotation, "+2"}, "[test] 2 [] []"},
		{[]string{Annotation, "test", WeightAnnotation, "bad"}, "[test] 0 [] []"},
		{[]string{Annotation, "test", WeightAnnotation, " 7"}, "[test] 0 [] []"},
		{[]string{Annotation, "test", WeightAnnotation, "1.5"}, "[test] 0 [] []"},
		{[]string{Annotation, "test", WeightAnnotation, "99999999999"}, "[test] 99999999999 [] []"},
		{[]string{Annotation, "test", DeleteAnnotation, "hook-succeeded, nonsense,HOOK-Failed", OutputLogAnnotation, "hook-failed,bogus"},
			"[test] 0 [hook-succeeded nonsense hook-failed] [hook-failed bogus]"},
		{[]string{Annotation, "test", DeleteAnnotation, "", OutputLogAnnotation, ""}, "[test] 0 [] []"},
	} {
		hooks, rest, err := Split([]*manifest.Object{annotated(t, "ConfigMap", "h", test.annotations...)})
		if err != nil || len(rest) != 0 {
			t.Errorf("%q: rest %v, %v", test.annotations, rest, err)
		}
		got := ""
		for _, h := range hooks {
			got += fmt.Sprint(h.Events, " ", h.Weight, " ", h.DeletePolicies, " ", h.OutputLogPolicies)
			if h.Path != "c/templates/a.yaml" || h.Name != "h" || h.Kind != "ConfigMap" || !strings.HasPrefix(h.Manifest, "apiVersion") {
				t.Errorf("%q: %+v", test.annotations, h)
			}
		}
		if got != test.want {
			t.Errorf("%q: got %q, wanted %q", test.annotations, got, test.want)
		}
	}
}

func TestSplitKeepsTheRestAndSortsHooksByKind(t *testing.T) {
	labelled := annotated(t, "ConfigMap", "plain")
	labelled.Labels = map[string]string{Annotation: "pre-install"}
	hooks, rest, err := Split([]*manifest.Object{
		annotated(t, "Job", "j", Annotation, "pre-install"),
		labelled,
		annotated(t, "Secret", "s2", Annotation, "post-install"),
		annotated(t, "ConfigMap", "light", WeightAnnotation, "-5"),
		annotated(t, "Secret", "s1", Annotation, "pre-install"),
		annotated(t, "ConfigMap", "lost", Annotation, "someday"),
		annotated(t, "Custom", "x", Annotation, "test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hooks {
		got = append(got, h.Name)
	}
	for _, o := range rest {
		got = append(got, "rest:"+o.Name)
	}
	if want := []string{"s2", "s1", "j", "x", "rest:plain", "rest:light"}; !slices.Equal(got, want) {
		t.Errorf("got %v, wanted %v", got, want)
	}
}

func TestUnknownEventsAreNamed(t *testing.T) {
	o := annotated(t, "ConfigMap", "h", Annotation, "pre-install, someday,test,")
	if got := UnknownEvents(o); !slices.Equal(got, []string{" someday", ""}) {
		t.Errorf("got %q", got)
	}
	if got := UnknownEvents(annotated(t, "ConfigMap", "plain")); got != nil {
		t.Errorf("a plain object has %q", got)
	}
}

func TestHooksRunByWeightThenName(t *testing.T) {
	hooks := []*release.Hook{{Name: "b"}, {Name: "z", Weight: -5}, {Name: "a", Weight: 1}, {Name: "a", Kind: "Job", Path: "first"}, {Name: "a", Kind: "Job", Path: "second"}, {Name: "a", Kind: "Secret", Path: "secret"}}
	Order(hooks)
	var got []string
	for _, h := range hooks {
		got = append(got, h.Name+h.Path)
	}
	if want := []string{"z", "asecret", "afirst", "asecond", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, wanted %v", got, want)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("pre-install,test", "-5", "hook-succeeded", "hook-failed")
	f.Fuzz(func(t *testing.T, events, weight, deletion, logs string) {
		o := &manifest.Object{Kind: "Job", Name: "x", Annotations: map[string]string{
			Annotation: events, WeightAnnotation: weight, DeleteAnnotation: deletion, OutputLogAnnotation: logs,
		}}
		hooks, rest, err := Split([]*manifest.Object{o})
		if err != nil || len(rest) != 0 || len(hooks) > 1 {
			t.Fatalf("%v, %v, %v", hooks, rest, err)
		}
		if len(hooks) == 1 != (len(UnknownEvents(o)) == 0) {
			t.Fatal("skipped without a reason")
		}
	})
}
