// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/term"
)

// syncBuffer is a buffer that is written and read at the same time.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("timed out waiting for %s", what)
}

// --watch runs the tests again when a template changes, also after a failure, and ends with its context.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": "kind: A\n",
		"tests/a_test.yaml": "tests:\n- it: is A\n  asserts: [isKind: {of: A}, matchSnapshot: {}]\n",
	} {
		filetest.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	var out syncBuffer
	f := cmdutil.New(term.Streams{Out: &out, Err: &out, Getenv: func(string) string { return "" }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	cmd := New(f)
	cmd.SetArgs([]string{"--watch", dir})
	go func() { done <- cmd.ExecuteContext(ctx) }()
	waitFor(t, "the first run", func() bool { return out.count("Waiting for changes") == 1 })
	if out.count("1 passed, 1 total\nSnapshot") != 1 {
		t.Errorf("the first run does not pass:\n%s", out.text.String())
	}
	filetest.WriteFile(t, filepath.Join(dir, "templates", "a.yaml"), "kind: Bee\n")
	waitFor(t, "the second run", func() bool { return out.count("Waiting for changes") == 2 })
	if out.count("Tests:       1 failed") != 1 {
		t.Errorf("the second run does not fail:\n%s", out.text.String())
	}
	if err := os.Remove(filepath.Join(dir, "Chart.yaml")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a run without a chart", func() bool { return out.count("### Error:") == 1 })
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the end of the context is an error: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

// Files that the command writes into the chart are no changes.
func TestFingerprintWithoutWritten(t *testing.T) {
	dir := t.TempDir()
	o := Options{Charts: []string{dir}, OutputFile: filepath.Join(dir, "results.xml"),
		CoverageFiles: []string{filepath.Join(dir, "coverage.html")}}
	filetest.WriteFile(t, filepath.Join(dir, "Chart.yaml"), "name: web\n")
	before := fingerprint(o.watched(), o.written())
	filetest.WriteFile(t, o.OutputFile, "<testsuites/>\n")
	filetest.WriteFile(t, o.CoverageFiles[0], "<html>\n")
	if fingerprint(o.watched(), o.written()) != before {
		t.Error("the files of --output-file and --coverage-file count as changes")
	}
	filetest.WriteFile(t, filepath.Join(dir, "values.yaml"), "a: 1\n")
	if fingerprint(o.watched(), o.written()) == before {
		t.Error("a new values file is no change")
	}
}
