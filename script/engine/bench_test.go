// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
)

// BenchmarkStart is what an operation pays for its first script, without the
// process.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		h := newHost(b, alone(`events.on("pre-render", function(ctx) ctx.values.port = ctx.values.port + 1 end)`))
		if err := h.start(); err != nil {
			b.Fatal(err)
		}
		h.proc.Kill()
	}
}

// BenchmarkTemplateFunction is what a template pays for a call.
func BenchmarkTemplateFunction(b *testing.B) {
	h := started(b, alone(`template.func("f", function(x) return x end)`))
	for b.Loop() {
		if _, err := h.request(3, m{"chart": int64(0), "name": "f", "args": l{int64(1)}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStartScript is what it pays where the script has 50 lines.
func BenchmarkStartScript(b *testing.B) {
	script := "local M = {}\n" + strings.Repeat(`function M.port(ctx, name)
  local service = ctx.values.service or {}
  for key, value in pairs(service.ports or {}) do
    if value.name == name and key ~= "" then
      return value.port
    end
  end
  ctx.values.ports = {name, 80, "x" .. #name}
  return ctx.values.port + 1
end
`, 5) + `events.on("pre-render", 0.5, function(ctx) ctx.values.port = M.port(ctx, "http") end)`
	for b.Loop() {
		h := newHost(b, alone(script))
		if err := h.start(); err != nil {
			b.Fatal(err)
		}
		h.proc.Kill()
	}
}
