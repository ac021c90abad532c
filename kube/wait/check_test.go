// SPDX-License-Identifier: Apache-2.0

package wait

import "testing"

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name, object string
		want         Readiness
	}{
		{"ready", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, Readiness{Ready: true}},
		{"not ready", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}`,
			Readiness{Reason: "not bound yet: it is Pending"}},
		{"a job that runs", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {startTime: now}}`,
			Readiness{Reason: "0 of 1 completed"}},
		{"failed", `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, status: {conditions:
			[{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}}`,
			Readiness{Failed: true, Reason: "BackoffLimitExceeded: too often"}},
		{"a controller that gave up", `{apiVersion: a.example.com/v1, kind: A, metadata: {name: a}, status: {conditions:
			[{type: Stalled, status: "True", message: no quota}]}}`, Readiness{Failed: true, Reason: "no quota"}},
		{"its own condition", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations:
			{helm.sh/readiness-success: '["{.phase} == Up"]'}}, status: {phase: Down}}`,
			Readiness{Reason: `{.phase} == Up (it is "Down")`}},
		{"an invalid condition", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations:
			{helm.sh/readiness-success: nonsense}}}`,
			Readiness{Failed: true, Reason: "ConfigMap/a (), annotation helm.sh/readiness-success: want a JSON list of " +
				`strings, such as '["{.phase} == Ready"]'`}},
		{"nothing", `{}`, Readiness{Ready: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, o := living(t, test.object)
			if got := Check(o); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
