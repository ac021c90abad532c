// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// loginAt returns a helm that logs in to a registry with the user ann and the password hunter2, and
// the file for its credentials.
func loginAt(t *testing.T, args ...string) (cmd *exec.Cmd, config string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
			http.Error(w, "", http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	cmd = exec.Command("helm", append([]string{"registry", "login", strings.TrimPrefix(server.URL, "http://"), "--plain-http"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NO_COLOR=1", "TERM=dumb"}
	return cmd, filepath.Join(dir, ".config", "helm", "registry", "config.json")
}

func TestLoginPasswordIsNotEchoed(t *testing.T) {
	cmd, config := loginAt(t, "-u", "ann")
	got, err := atTerminal(t, cmd, "Password: ", "hunter2\n")
	if err != nil || got != "Password: \nLogin Succeeded\n" {
		t.Errorf("%v:\n%s", err, got)
	}
	if data, err := os.ReadFile(config); err != nil || !strings.Contains(string(data), "YW5uOmh1bnRlcjI=") {
		t.Errorf("%s, %v", data, err)
	}
}

func TestLoginInterrupt(t *testing.T) {
	for prompt, args := range map[string][]string{"Username: ": nil, "Password: ": {"-u", "ann"}} {
		t.Run(prompt, func(t *testing.T) {
			cmd, config := loginAt(t, args...)
			got, err := atTerminal(t, cmd, prompt, "\x03")
			if err == nil || !strings.Contains(got, "interrupted") || strings.Contains(got, "hint:") {
				t.Errorf("%s %v:\n%s", prompt, err, got)
			}
			if _, err := os.Stat(config); !os.IsNotExist(err) {
				t.Errorf("something was stored: %v", err)
			}
		})
	}
}
