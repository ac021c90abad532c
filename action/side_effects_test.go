// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/kubetest"
)

const untouchedVar = "MOONHELM_TEST_UNTOUCHED"

// Operations of a Config write no local files and print nothing: they run without a home
// directory, in a read-only directory.
func TestConfigNoSideEffects(t *testing.T) {
	if os.Getenv(untouchedVar) != "" {
		cluster := kubetest.Start()
		defer cluster.Close()
		if err := runLifecycle(t.Context(), action.NewConfigFor(cluster.Config(), "default"), "web"); err != nil {
			t.Fatal(err)
		}
		return
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	temp, work := filepath.Join(dir, "tmp"), filepath.Join(dir, "work")
	for _, d := range []string{temp, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{own, "-test.run", "^" + t.Name() + "$"}
	trace := filepath.Join(dir, "trace")
	strace, err := exec.LookPath("strace")
	if traced := err == nil && runtime.GOOS == "linux"; traced {
		args = append([]string{strace, "-f", "-qq", "-e", "trace=%file", "-o", trace}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = work
	cmd.Env = []string{untouchedVar + "=1", "TMPDIR=" + temp}
	if err := os.Chmod(work, 0o555); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text := strings.TrimSpace(string(out)); text != "PASS" && !strings.HasPrefix(text, "PASS\ncoverage:") {
		t.Errorf("the program printed:\n%s", out)
	}
	for _, d := range []string{temp, work} {
		entries, err := fs.ReadDir(os.DirFS(d), ".")
		if err != nil || len(entries) > 0 {
			t.Errorf("%s has %v, %v; want nothing", filepath.Base(d), entries, err)
		}
	}
	for _, call := range writes(t, trace) {
		t.Errorf("the program calls %s", call)
	}
}

// writes returns the calls of a trace, if there is one, that change files.
func writes(t *testing.T, trace string) []string {
	t.Helper()
	text, err := os.ReadFile(trace)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if changing.MatchString(line) && !strings.Contains(line, `"/dev/null"`) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// changing matches a line of a trace, "PID  call(arguments)", whose call changes files.
var changing = regexp.MustCompile(`^\d+ +((sym)?link|mkdir|mknod|rename|unlink|truncate|chmod|fchmod)[a-z0-9]*\(|O_(WRONLY|RDWR|CREAT)`)
