// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/term"
)

// withPlugins returns a Factory whose plugins directory contains these manifests.
func withPlugins(t *testing.T, complaints *bytes.Buffer, manifests map[string]string) *Factory {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	for name, text := range manifests {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "plugin.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"HELM_PLUGINS": dir, "HOME": t.TempDir(), "KUBECONFIG": filepath.Join(dir, "none")}
	return New(term.Streams{Err: complaints, Getenv: func(name string) string { return vars[name] }})
}

const echoing = `
apiVersion: v1
type: getter/v1
name: echoing
version: 1.0.0
runtime: subprocess
config: {protocols: [echo, https, oci]}
runtimeConfig:
  protocolCommands:
  - protocols: [echo]
    platformCommand:
    - command: sh
      args: [-c, 'echo "$@ $HELM_PLUGIN_USERNAME:$HELM_PLUGIN_PASSWORD $HELM_PLUGIN_PASS_CREDENTIALS_ALL $HELM_PLUGIN_NAME"', x]
`

func TestConcurrentDownloads(t *testing.T) {
	var complaints bytes.Buffer
	f := withPlugins(t, &complaints, map[string]string{"echoing": echoing, "broken": "name: \"\\e[2J\"\n"})
	plugins := f.Plugins()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			var b bytes.Buffer
			err := plugins.Get(t.Context(), "echo://x", fetch.HostOptions{Username: "ann", Password: "pw", CAFile: "ca", PassAll: true}, &b)
			if err != nil || b.String() != "  ca echo://x ann:pw true echoing\n" {
				t.Errorf("%q, %v", b.String(), err)
			}
		})
	}
	wait.Wait()
	if text := complaints.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, filepath.Join("broken", "plugin.yaml")) || strings.Contains(text, "\x1b") {
		t.Errorf("warned %q", text)
	}
	if got := plugins.Schemes(); len(got) != 1 || got[0] != "echo" { // helm's own schemes are not replaced
		t.Errorf("schemes %q", got)
	}
	if err := plugins.Get(t.Context(), "s3://ann:hunter2@x", fetch.HostOptions{}, &complaints); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
