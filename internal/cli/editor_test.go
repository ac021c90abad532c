// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/testdeps"
)

// editorScript has Neovim start the server for a template, and writes what it shows to standard
// error: completions, what is known about a value, where it is set, and diagnostics.
const editorScript = `
local dir = vim.fn.getcwd()
local function say(text) io.stderr:write(text .. "\n") end
vim.cmd("edit " .. dir .. "/web/templates/config.yaml")
local id = vim.lsp.start_client({name = "helm", cmd = {"helm", "lsp", "--stdio"}, root_dir = dir .. "/web"})
vim.lsp.buf_attach_client(0, id)
local client
assert(vim.wait(30000, function()
  client = vim.lsp.get_client_by_id(id)
  return client and client.initialized
end), "the server does not start")

local function ask(method, line, column)
  local answer = client.request_sync("textDocument/" .. method, {
    textDocument = vim.lsp.util.make_text_document_params(), position = {line = line, character = column},
  }, 30000, 0)
  assert(answer and not answer.err, vim.inspect(answer))
  return answer.result
end
vim.api.nvim_buf_set_lines(0, 5, 6, false, {"  tag: {{ .Values.image.  }}"})
for _, item in ipairs(ask("completion", 5, 24)) do say("complete " .. item.label) end
vim.api.nvim_buf_set_lines(0, 5, 6, false, {"  tag: {{ .Values.image.tag | quoet }}"})
say("hover " .. ask("hover", 5, 25).contents.value:gsub("\n", " "))
local at = ask("definition", 5, 25)[1]
say("defined " .. at.uri:match("[^/]*$") .. ":" .. at.range.start.line + 1)
assert(vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end), "no diagnostics")
for _, d in ipairs(vim.diagnostic.get(0)) do say("found " .. d.lnum + 1 .. ": " .. d.message:gsub("\n.*", "")) end
vim.api.nvim_buf_set_lines(0, 5, 6, false, {"  tag: {{ .Values.image.tag | quote }}"})
assert(vim.wait(30000, function() return #vim.diagnostic.get(0) == 0 end), "diagnostics stay")
say("mended")
client.stop()
assert(vim.wait(30000, function() return client.is_stopped() end), "the server does not end")
say("stopped")
vim.cmd("qall!")
`

// TestNeovim has Neovim, without a window, use the server.
func TestNeovim(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	testdeps.Program(t, "nvim")
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{
		"web/Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: https://example.com/x.png\n",
		"web/values.yaml":           "image:\n  # Which image\n  tag: \"1\"\n",
		"web/templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  tag: {{ .Values.image.tag | quote }}\n",
		"editor.lua":                editorScript,
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	nvim := exec.CommandContext(ctx, "nvim", "--headless", "--clean", "-n", "-c", "luafile editor.lua", "-c", "cquit")
	nvim.Dir = dir
	nvim.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TERM=dumb"}
	out, err := nvim.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"complete tag", "Which image", "defined values.yaml:3", "found 6:", "quoet", "mended", "stopped"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("Neovim shows\n%s\nwant %q in it", out, want)
		}
	}
}
