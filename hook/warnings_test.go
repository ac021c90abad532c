// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"slices"
	"testing"
)

func TestWarnings(t *testing.T) {
	const events = "pre-install, post-install, pre-delete, post-delete, pre-upgrade, post-upgrade, pre-rollback, post-rollback, test"
	for _, test := range []struct {
		name        string
		annotations []string
		want        []string
	}{
		{"not a hook", []string{WeightAnnotation, "high", DeleteAnnotation, "x"}, nil},
		{"nothing to say", []string{Annotation, "Pre-Install, test", WeightAnnotation, "-5", DeleteAnnotation, "Hook-Succeeded ,hook-failed", OutputLogAnnotation, "hook-failed"}, nil},
		{"an unknown event", []string{Annotation, "pre-install,someday", WeightAnnotation, "high"},
			[]string{`unknown hook event "someday": the object is left out (known: ` + events + ")"}},
		{"an event of Helm 2", []string{Annotation, "crd-install"},
			[]string{`unknown hook event "crd-install": the object is left out (known: ` + events + "); put CRDs into crds/"}},
		{"an unknown delete policy", []string{Annotation, "test", DeleteAnnotation, "hook-sucess,hook-failed"},
			[]string{`unknown hook delete policy "hook-sucess" has no effect (known: before-hook-creation, hook-succeeded, hook-failed)`}},
		{"an unknown output log policy", []string{Annotation, "test", OutputLogAnnotation, "always"},
			[]string{`unknown hook output log policy "always" has no effect (known: hook-succeeded, hook-failed)`}},
		{"a weight that is not an integer", []string{Annotation, "test", WeightAnnotation, "1.5"},
			[]string{`hook weight "1.5" is not an integer and counts as 0`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Warnings(annotated(t, "Job", "h", test.annotations...)); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
