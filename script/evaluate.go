// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/term"
)

// ErrNoScripts is returned by [Host.Evaluate] if no scripts are loaded.
var ErrNoScripts = errors.New("no scripts are loaded")

// maxTyped is the longest line that can be evaluated, in bytes.
const maxTyped = 64 << 10

// Evaluate runs a line of Lua, an expression or statements, among the globals of the top
// chart's scripts, with the context of e as ctx. It returns what it gave as text that is safe
// to be shown: tables as YAML. What the line changes counts as what a handler of e changes.
// Errors are those of a handler.
func (h *Host) Evaluate(ctx context.Context, e event.Event, line string) ([]string, error) {
	s := h.session.Load()
	if s == nil {
		return nil, ErrNoScripts
	}
	if len(line) > maxTyped {
		return nil, fmt.Errorf("the line is longer than %d KiB", maxTyped>>10)
	}
	here := handler{chart: s.tree.top(), where: "prompt:1"}
	done, err := s.call(ctx, here, e, map[string]any{"source": line})
	if err != nil {
		return nil, err
	}
	list, _ := done["results"].([]any)
	var out []string
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, term.Safe(text))
		}
	}
	return out, nil
}
