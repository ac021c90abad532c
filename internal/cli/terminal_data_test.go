// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/moonhelm/moonhelm/internal/term"
)

// hostile is text that would clear the screen, reverse the text direction, and move the cursor with
// a control character of one rune.
const hostile = "\x1b[2Jred\u202eder\u009b1A\u2066 end"

// listing returns a helm with a repository called hostile.
func listing(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	name, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	name = []byte(term.Escape(string(name)))
	for file, text := range map[string]string{
		"repositories.yaml": "repositories: [{url: 'http://127.0.0.1:1', name: " + string(name) + "}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("helm", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NO_COLOR=1", "TERM=dumb",
		"HELM_REPOSITORY_CONFIG=" + filepath.Join(dir, "repositories.yaml"), "HELM_REPOSITORY_CACHE=" + dir,
	}
	return cmd
}

// CVE-2021-21303: JSON and YAML must not control a terminal, and represent the same data there as
// in a pipe.
func TestTerminalDataIsEscaped(t *testing.T) {
	for format, read := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(data []byte, to any) error { return yaml.Unmarshal(data, to) },
	} {
		t.Run(format, func(t *testing.T) {
			args := []string{"repo", "list", "-o", format}
			shown, err := atTerminal(t, listing(t, args...), "\x00", "")
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(shown, "\x1b\u202e\u009b\u2066") {
				t.Errorf("not escaped on a terminal: %q", shown)
			}
			var atTerminal, inPipe []map[string]any
			if err := read([]byte(shown), &atTerminal); err != nil {
				t.Fatalf("%v: %q", err, shown)
			}
			piped, err := listing(t, args...).Output()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(piped), "\u202e") {
				t.Errorf("escaped in a pipe: %q", piped)
			}
			if err := read(piped, &inPipe); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(atTerminal, inPipe) || inPipe[0]["name"] != hostile {
				t.Errorf("got %q at the terminal, %q in the pipe", atTerminal, inPipe)
			}
		})
	}
}
