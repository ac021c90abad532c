// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/manifest"
)

// checkPolicies evaluates the policies of the request and of c for the objects in files, and the rules in
// CEL of the definitions if objects are validated.
func (w *linter) checkPolicies(ctx context.Context, c *chart.Chart, files []lint.Rendered) error {
	own := lint.PolicyFiles(c.Files)
	policies := append(slices.Clone(w.req.Policies), own...)
	defined := definitions(c)
	rules := w.schemas != nil && slices.ContainsFunc(c.CRDs(), func(f chart.CRD) bool {
		return strings.Contains(string(f.Data), "x-kubernetes-validations")
	})
	if w.policies == nil || len(policies) == 0 && !rules {
		return nil
	}
	objects := lint.NewPolicyObjects(files)
	req := lint.PolicyRequest{
		Namespace: w.req.Namespace, Policies: policies, Objects: objects.Objects, Definitions: defined,
	}
	if w.schemas != nil {
		req.KubeVersion = fmt.Sprintf("%d.%d", w.kube.Major, w.kube.Minor)
	}
	resp, err := w.policies.EvaluatePolicies(ctx, req)
	if errors.Is(err, ErrNoPolicyEvaluator) {
		if len(policies) == 0 {
			return nil
		}
		w.add(lint.Info, lint.DirPolicies+"/", 0, fmt.Sprintf("the policies are not evaluated: %s", err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("evaluate the policies: %w", err)
	}
	w.findings = append(w.findings, objects.Findings(resp)...)
	return nil
}

// definitions returns the CustomResourceDefinitions in crds/ of c and of its subcharts that can be
// read.
func definitions(c *chart.Chart) []map[string]any {
	var out []map[string]any
	for _, f := range c.CRDs() {
		objects, err := manifest.Parse(f.Source, string(f.Data))
		if err != nil {
			continue
		}
		for _, o := range objects {
			if m, err := o.Map(); err == nil && o.Kind == "CustomResourceDefinition" {
				out = append(out, m)
			}
		}
	}
	return out
}
