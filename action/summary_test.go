// SPDX-License-Identifier: Apache-2.0

package action

import (
	"testing"

	"github.com/moonhelm/moonhelm/plan"
)

func TestSummary(t *testing.T) {
	for want, actions := range map[string][]plan.Action{
		"no objects":                         nil,
		"objects: 2 unchanged":               {plan.Unchanged, plan.Unchanged},
		"objects: 2 to create":               {plan.Create, plan.Create},
		"objects: 1 to update, 1 unchanged":  {plan.Unchanged, plan.Update},
		"objects: 1 to replace, 2 to delete": {plan.Replace, plan.Delete, plan.Delete},
		"objects: 1 to create, 1 kept":       {plan.Create, plan.Keep},
	} {
		t.Run(want, func(t *testing.T) {
			p := &plan.Plan{}
			for _, a := range actions {
				p.Steps = append(p.Steps, plan.Step{Action: a})
			}
			if got := summary(p); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
