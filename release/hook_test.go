// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
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

// The hooks of Helm 4.3.1 for these annotations, observed with a dry run.
func TestParseHookLikeHelm(t *testing.T) {
	for _, test := range []struct {
		name        string
		annotations []string
		want        string // events weight delete-policies log-policies; "" is skipped
	}{
		{"one event", []string{HookAnnotation, "pre-install"}, "[pre-install] 0 [] []"},
		{"upper case", []string{HookAnnotation, "PRE-INSTALL"}, "[pre-install] 0 [] []"},
		{"spaces and capitals", []string{HookAnnotation, " Pre-Install , test-success,test"},
			"[pre-install test test] 0 [] []"},
		{"event twice", []string{HookAnnotation, "pre-install,pre-install"}, "[pre-install pre-install] 0 [] []"},
		{"unknown event", []string{HookAnnotation, "unknown-event"}, ""},
		{"event and unknown event", []string{HookAnnotation, "pre-install,unknown-event"}, ""},
		{"trailing comma", []string{HookAnnotation, "pre-install,"}, ""},
		{"test-failure", []string{HookAnnotation, "test-failure"}, ""},
		{"crd-install", []string{HookAnnotation, "crd-install"}, ""},
		{"empty", []string{HookAnnotation, ""}, ""},
		{"negative weight", []string{HookAnnotation, "test", HookWeightAnnotation, "-5"}, "[test] -5 [] []"},
		{"weight with a plus", []string{HookAnnotation, "test", HookWeightAnnotation, "+2"}, "[test] 2 [] []"},
		{"weight that is not a number", []string{HookAnnotation, "test", HookWeightAnnotation, "bad"}, "[test] 0 [] []"},
		{"weight with a space", []string{HookAnnotation, "test", HookWeightAnnotation, " 7"}, "[test] 0 [] []"},
		{"fractional weight", []string{HookAnnotation, "test", HookWeightAnnotation, "1.5"}, "[test] 0 [] []"},
		{"weight over 32 bits", []string{HookAnnotation, "test", HookWeightAnnotation, "99999999999"},
			"[test] 99999999999 [] []"},
		{"policies", []string{HookAnnotation, "test", HookDeleteAnnotation, "hook-succeeded, nonsense,HOOK-Failed",
			HookOutputLogAnnotation, "hook-failed,bogus"},
			"[test] 0 [hook-succeeded nonsense hook-failed] [hook-failed bogus]"},
		{"empty policies", []string{HookAnnotation, "test", HookDeleteAnnotation, "", HookOutputLogAnnotation, ""},
			"[test] 0 [] []"},
	} {
		t.Run(test.name, func(t *testing.T) {
			hooks, rest := SplitHooks([]*manifest.Object{annotated(t, "ConfigMap", "h", test.annotations...)})
			if len(rest) != 0 {
				t.Errorf("%q: rest %v", test.annotations, rest)
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
		})
	}
}

func TestSplitHooks(t *testing.T) {
	labelled := annotated(t, "ConfigMap", "plain")
	labelled.Labels = map[string]string{HookAnnotation: "pre-install"}
	hooks, rest := SplitHooks([]*manifest.Object{
		annotated(t, "Job", "j", HookAnnotation, "pre-install"),
		labelled,
		annotated(t, "Secret", "s2", HookAnnotation, "post-install"),
		annotated(t, "ConfigMap", "light", HookWeightAnnotation, "-5"),
		annotated(t, "Secret", "s1", HookAnnotation, "pre-install"),
		annotated(t, "ConfigMap", "lost", HookAnnotation, "someday"),
		annotated(t, "Custom", "x", HookAnnotation, "test"),
	})
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

func TestUnknownHookEvents(t *testing.T) {
	o := annotated(t, "ConfigMap", "h", HookAnnotation, "pre-install, someday,test,")
	if got := UnknownHookEvents(o); !slices.Equal(got, []string{" someday", ""}) {
		t.Errorf("got %q", got)
	}
	if got := UnknownHookEvents(annotated(t, "ConfigMap", "plain")); got != nil {
		t.Errorf("a plain object has %q", got)
	}
}

func TestSortHooks(t *testing.T) {
	hooks := []*Hook{{Name: "b"}, {Name: "z", Weight: -5}, {Name: "a", Weight: 1}, {Name: "a", Kind: "Job", Path: "first"}, {Name: "a", Kind: "Job", Path: "second"}, {Name: "a", Kind: "Secret", Path: "secret"}}
	SortHooks(hooks)
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
			HookAnnotation: events, HookWeightAnnotation: weight, HookDeleteAnnotation: deletion, HookOutputLogAnnotation: logs,
		}}
		hooks, rest := SplitHooks([]*manifest.Object{o})
		if len(rest) != 0 || len(hooks) > 1 {
			t.Fatalf("%v, %v", hooks, rest)
		}
		if len(hooks) == 1 != (len(UnknownHookEvents(o)) == 0) {
			t.Fatal("skipped without a reason")
		}
	})
}
