// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moonhelm/moonhelm/internal/filetest"
)

// Lua plugins whose single instruction allocates gigabytes once reached 7.4 GB with a limit of 1
// GiB.
func TestLuaPluginMemoryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "plugins", "eater"), map[string]string{
		"plugin.yaml": "apiVersion: v1\ntype: cli/v1\nname: eater\nversion: 1.0.0\nruntime: lua\n",
		"main.lua": `
local ways = {
  ["one text"] = function() return #string.rep("x", 7000000000) end,
  ["texts that double"] = function() local s = "x" while true do s = s .. s end end,
  ["a list"] = function() local s, t = string.rep("x", 1000000), {} for i = 1, 7000 do t[i] = s end return #table.concat(t) end,
  ["a replacement"] = function() return #string.gsub(string.rep("x", 1000000), "x", string.rep("y", 7000)) end,
  ["a device"] = function() return #io.open("/dev/zero"):read("a") end,
  ["many small ones"] = function() local t = {} while true do t[#t + 1] = {#t} end end,
  ["a child"] = function() return os.execute("ulimit -d >&2") end,
}
function main(args) ways[args[1]]() end
`,
	})
	helm := func(way string) (complaint string, peak int64, err error) {
		cmd := exec.Command("helm", "eater", way)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HELM_PLUGINS=" + filepath.Join(dir, "plugins"), "HELM_SCRIPT_MEMORY=64Mi"}
		var said bytes.Buffer
		cmd.Stderr = &said
		err = cmd.Run()
		return said.String(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, err
	}
	for _, way := range []string{"one text", "texts that double", "a list", "a replacement", "a device", "many small ones"} {
		t.Run(way, func(t *testing.T) {
			said, peak, err := helm(way)
			if err == nil || !strings.Contains(said, "exceeded its memory limit") || !strings.Contains(said, "HELM_SCRIPT_MEMORY") || strings.Contains(said, "goroutine") {
				t.Errorf("got %v:\n%s", err, said)
			}
			if most := int64(64<<20 + 2*overhead); peak > most {
				t.Errorf("it used %d MB", peak>>20)
			}
		})
	}
	t.Run("a child", func(t *testing.T) {
		before, err := exec.Command("sh", "-c", "ulimit -d").Output()
		if err != nil {
			t.Fatal(err)
		}
		if said, _, err := helm("a child"); err != nil || said != string(before) {
			t.Errorf("limit of a subprocess: got %q, %v, want %q", said, err, before)
		}
	})
}
