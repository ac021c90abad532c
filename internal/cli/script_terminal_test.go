// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// TestScriptREPLAtTerminal types at the prompt, with completion, history and an error.
func TestScriptREPLAtTerminal(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"values.yaml":       "port: 1\n",
		"ext/lua/chart.lua": "events.on(\"pre-render\", function(ctx) ctx.values.port = 2 end)\n",
	})
	cmd := exec.Command("helm", "script", "repl", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm"}
	const up, left = "\x1b[A", "\x1b[D"
	typed := []string{
		"ctx.val\t.port\r",                                   // completed
		":fi\t pre-ren\t\r",                                  // command and event
		up + up + "\r",                                       // the first line again
		"nothing.at.all\r",                                   // an error, after which it goes on
		"if true then\r", "return 4" + left + "1\r", "end\r", // several lines, edited
		":quit\r",
	}
	got, err := atTerminal(t, cmd, "chart-loaded> ", strings.Join(typed, ""))
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for _, want := range []string{"Lua with the context of chart web as ctx.", "\n1\n", "pre-render> ", "\n2\n",
		"\x1b[31m1\x1b[0m → \x1b[32m2\x1b[0m", "\x1b[31mError:\x1b[0m", "nothing", "\n14\n"} {
		if !strings.Contains(strings.ReplaceAll(got, "\r", ""), want) {
			t.Errorf("got\n%q\nwant %q in it", got, want)
		}
	}
}
