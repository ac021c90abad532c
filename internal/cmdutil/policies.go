// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
)

// policyPlugin is the name of the plugin that evaluates policies. It is not a part of helm because
// of its size: see docs/adr.
const policyPlugin = "policy"

// maxPolicyAnswer is the largest answer of the plugin, in bytes.
const maxPolicyAnswer = 64 << 20

// PolicyEvaluator returns the plugin that evaluates policies, which is looked for at the first use. If
// it is required, its absence is an error.
func (f *Factory) PolicyEvaluator(required bool) action.PolicyEvaluator {
	return policyEvaluator{f.Plugins(), required}
}

// policyEvaluator runs the plugin.
type policyEvaluator struct {
	plugins  *Plugins
	required bool
}

func (e policyEvaluator) lookup() (*plugin.Plugin, error) {
	p, err := e.plugins.Lookup(policyPlugin)
	if _, missing := errors.AsType[*plugin.NotFoundError](err); !missing {
		return p, err
	}
	if !e.required {
		return nil, action.ErrNoPolicyEvaluator
	}
	return nil, hint.With(err, "policies are evaluated by a plugin: make policy builds it, "+
		"helm plugin install bin/policy installs it")
}

// EvaluatePolicies implements action.PolicyEvaluator.
func (e policyEvaluator) EvaluatePolicies(ctx context.Context, r lint.PolicyRequest) (*lint.PolicyResponse, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	p, err := e.lookup()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	inv := e.plugins.invocation(p)
	inv.Args, inv.In = []string{"evaluate"}, bytes.NewReader(text)
	inv.Out, inv.Err = &file.LimitWriter{W: &out, Left: maxPolicyAnswer}, term.SafeWriter(e.plugins.stderr)
	if err := e.plugins.run(ctx, inv); err != nil {
		return nil, err
	}
	resp := &lint.PolicyResponse{}
	if err := json.Unmarshal(out.Bytes(), resp); err != nil {
		return nil, fmt.Errorf("plugin %q: read its answer: %w", p.Name, err)
	}
	return resp, nil
}
