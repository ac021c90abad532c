// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"testing"
)

func TestHookWarnings(t *testing.T) {
	const events = "pre-install, post-install, pre-delete, post-delete, pre-upgrade, post-upgrade, pre-rollback, post-rollback, test"
	for _, test := range []struct {
		name        string
		annotations []string
		want        []string
	}{
		{"not a hook", []string{HookWeightAnnotation, "high", HookDeleteAnnotation, "x"}, nil},
		{"nothing to say", []string{HookAnnotation, "Pre-Install, test", HookWeightAnnotation, "-5", HookDeleteAnnotation, "Hook-Succeeded ,hook-failed", HookOutputLogAnnotation, "hook-failed"}, nil},
		{"an unknown event", []string{HookAnnotation, "pre-install,someday", HookWeightAnnotation, "high"},
			[]string{`unknown hook event "someday": the object is left out (known: ` + events + ")"}},
		{"an event of Helm 2", []string{HookAnnotation, "crd-install"},
			[]string{`unknown hook event "crd-install": the object is left out (known: ` + events + "); put CRDs into crds/"}},
		{"an unknown delete policy", []string{HookAnnotation, "test", HookDeleteAnnotation, "hook-deleted,hook-failed"},
			[]string{`unknown hook delete policy "hook-deleted" has no effect (known: before-hook-creation, hook-succeeded, hook-failed)`}},
		{"an unknown output log policy", []string{HookAnnotation, "test", HookOutputLogAnnotation, "always"},
			[]string{`unknown hook output log policy "always" has no effect (known: hook-succeeded, hook-failed)`}},
		{"a weight that is not an integer", []string{HookAnnotation, "test", HookWeightAnnotation, "1.5"},
			[]string{`hook weight "1.5" is not an integer and counts as 0`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := HookWarnings(annotated(t, "Job", "h", test.annotations...)); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
