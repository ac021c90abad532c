// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// packed returns the archive of a chart that has only metadata.
func packed(t testing.TB, name, version string) []byte {
	t.Helper()
	c, err := LoadFiles([]*chart.File{{Name: chart.FileMetadata, Data: fmt.Appendf(nil, "apiVersion: v2\nname: %s\nversion: %s\n", name, version)}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, c, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newArchive(t testing.TB, dir, name, version string) NewArchive {
	data := packed(t, name, version)
	return NewArchive{Library: dir == "library", File: name + "-" + version + ".tgz", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// plant writes a chart's directory with [filetest.Write].
func plant(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if _, ok := files[chart.FileMetadata]; !ok {
		filetest.Write(t, root, map[string]string{chart.FileMetadata: "apiVersion: v2\nname: web\nversion: 1.0.0\n"})
	}
	filetest.Write(t, root, files)
	return root
}

// listed returns the sorted files in root, and links with their targets.
func listed(t testing.TB, root string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			name += "->" + target
		}
		out = append(out, filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func open(t testing.TB, root string) *Directory {
	t.Helper()
	f, err := OpenDirectory(root)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const dbMetadata = "apiVersion: v2\nname: db\nversion: 0.1.0\n"

func TestOpenDirectoryInvalidSubcharts(t *testing.T) {
	root := plant(t, map[string]string{
		"charts/db/Chart.yaml":         dbMetadata,
		"charts/db/values.yaml":        "a: 1",
		"charts/bad/Chart.yaml":        "name: [",
		"charts/none/values.yaml":      "a: 1",
		"charts/torn-1.0.0.tgz":        "\x1f\x8b torn",
		"charts/ok-1.0.0.tgz":          string(packed(t, "ok", "1.0.0")),
		"charts/README":                "by hand",
		"charts/_x":                    "",
		"charts/.h":                    "",
		"charts/ok-1.0.0.tgz.prov":     "",
		"library/common/Chart.yaml":    dbMetadata,
		"library/files/notes.txt":      "",
		"library/plain.txt":            "",
		"library/common-1.0.0.tgz":     string(packed(t, "common", "1.0.0")),
		stagePrefix + "X/charts/a.tgz": "left by someone who was killed",
	})
	f := open(t, root)
	var got []string
	for _, v := range f.Vendored() {
		text := v.Path() + "=" + v.Name + v.Version
		if v.Err != nil {
			text = v.Path() + "!"
		}
		got = append(got, text)
	}
	want := "charts/README! charts/bad! charts/db=db0.1.0 charts/none! charts/ok-1.0.0.tgz=ok1.0.0 charts/torn-1.0.0.tgz! library/common-1.0.0.tgz=common1.0.0 library/common=db0.1.0"
	slices.Sort(got)
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if len(f.Warnings) != 4 || len(f.Chart().Subcharts()) != 2 {
		t.Errorf("got warnings %q, %d subcharts", f.Warnings, len(f.Chart().Subcharts()))
	}
	for _, file := range f.files {
		if strings.HasPrefix(file.Name, stagePrefix) {
			t.Errorf("%s became a part of the chart", file.Name)
		}
	}
}

func TestOpenDirectoryInvalidLock(t *testing.T) {
	root := plant(t, map[string]string{"Chart.lock": "<<<<<<< HEAD\ndigest: x\n======="})
	f := open(t, root)
	if f.lock != nil || f.lockErr == nil || f.lockName != "Chart.lock" {
		t.Errorf("got %q, %v", f.lock, f.lockErr)
	}
	root = plant(t, map[string]string{"Chart.yaml": "apiVersion: v1\nname: a\nversion: 1.0.0\n", "requirements.lock": "digest: y"})
	if f := open(t, root); string(f.lock) != "digest: y" || f.lockErr != nil || f.lockName != "requirements.lock" {
		t.Errorf("got %q as %s, %v", f.lock, f.lockName, f.lockErr)
	}
}

// CVE-2025-53547: a lock file that is a link is an error, and its target stays unchanged.
func TestOpenDirectoryRejectsLinkedLock(t *testing.T) {
	for _, name := range []string{"Chart.lock", "requirements.lock"} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, map[string]string{"../target": "precious", name: "->../target"})
			if _, err := OpenDirectory(root); err == nil || !strings.Contains(err.Error(), `"`+name+`" is a symbolic link`) {
				t.Errorf("%s: %v", name, err)
			}
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
			f := open(t, root)
			filetest.Write(t, root, map[string]string{name: "->../target"}) // created in the meantime
			err := f.replace(t.Context(), replacement{put: []NewArchive{newArchive(t, "charts", "db", "1.0.0")}, lockName: name, lock: []byte("new")})
			if err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
				t.Errorf("%s: %v", name, err)
			}
			if text, _ := os.ReadFile(filepath.Join(root, "../target")); string(text) != "precious" {
				t.Errorf("the target holds %q", text)
			}
			if got := listed(t, root); got != "Chart.yaml "+name+"->../target" && got != name+"->../target Chart.yaml" {
				t.Errorf("left %s", got)
			}
		})
	}
}

func TestOpenDirectoryRejectsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tgz")
	if err := os.WriteFile(file, packed(t, "a", "1.0.0"), 0o644); err != nil {
		t.Fatal(err)
	}
	var no *NotDirectoryError
	if _, err := OpenDirectory(file); !errors.As(err, &no) {
		t.Error(err)
	}
	if _, err := OpenDirectory(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestReplaceKeepsOtherFiles(t *testing.T) {
	root := plant(t, map[string]string{
		"charts/hand/Chart.yaml":      strings.Replace(dbMetadata, "db", "hand", 1),
		"charts/hand/deep/er/x.txt":   "x",
		"charts/link":                 "->hand",
		"charts/_note":                "",
		"charts/.keep":                "",
		"charts/old-1.0.0.tgz":        string(packed(t, "old", "1.0.0")),
		"charts/old-1.0.0.tgz.prov":   "old's",
		"charts/other-1.0.0.tgz":      string(packed(t, "other", "1.0.0")),
		"charts/other-1.0.0.tgz.prov": "other's",
		"library/notes.txt":           "",
	})
	f := open(t, root)
	var drop []Vendored
	for _, v := range f.Vendored() {
		if v.Name == "old" {
			drop = append(drop, v)
		}
	}
	r := replacement{put: []NewArchive{newArchive(t, "charts", "db", "2.0.0"), newArchive(t, "library", "common", "1.0.0")}, drop: drop, lockName: "Chart.lock", lock: []byte("digest: x\n")}
	before, _ := os.Stat(filepath.Join(root, "charts/hand/deep/er/x.txt"))
	if err := f.replace(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := "Chart.lock Chart.yaml charts/.keep charts/_note charts/db-2.0.0.tgz charts/hand/Chart.yaml charts/hand/deep/er/x.txt charts/link->hand charts/other-1.0.0.tgz charts/other-1.0.0.tgz.prov library/common-1.0.0.tgz library/notes.txt"
	if got := listed(t, root); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if after, _ := os.Stat(filepath.Join(root, "charts/hand/deep/er/x.txt")); !after.ModTime().Equal(before.ModTime()) {
		t.Error("a file that is kept has another time")
	}
	if c, err := Load(root); err != nil || len(c.Subcharts()) != 4 {
		t.Errorf("%v", err)
	}
}

func TestReplaceWithoutChanges(t *testing.T) {
	n := newArchive(t, "charts", "db", "2.0.0")
	data, _ := n.Read()
	root := plant(t, map[string]string{"charts/db-2.0.0.tgz": string(data), "charts/db-2.0.0.tgz.prov": "signed"})
	before, _ := os.Stat(filepath.Join(root, "charts"))
	if err := open(t, root).replace(t.Context(), replacement{put: []NewArchive{n}}); err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(filepath.Join(root, "charts"))
	if !os.SameFile(before, after) || listed(t, root) != "Chart.yaml charts/db-2.0.0.tgz charts/db-2.0.0.tgz.prov" {
		t.Errorf("charts/ was written: %s", listed(t, root))
	}
}

func TestReplaceErrors(t *testing.T) {
	files := map[string]string{"charts/old-1.0.0.tgz": string(packed(t, "old", "1.0.0"))}
	broken := newArchive(t, "charts", "db", "2.0.0")
	broken.Open = func() (io.ReadCloser, error) { return nil, errors.New("the network is down") }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		put  NewArchive
		more map[string]string
		want string
	}{
		"what cannot be read":         {t.Context(), broken, nil, "the network is down"},
		"an interrupt":                {cancelled, newArchive(t, "charts", "db", "2.0.0"), nil, "canceled"},
		"a name that leads elsewhere": {t.Context(), NewArchive{File: "../x.tgz"}, nil, "without slashes"}, // CVE-2024-25620
		"library/ that is a file":     {t.Context(), newArchive(t, "library", "db", "2.0.0"), map[string]string{"library": "x"}, `"library" is not a directory`},
		"charts/ that is a link":      {t.Context(), newArchive(t, "charts", "db", "2.0.0"), map[string]string{"real/x": "", "charts": "->real"}, `"charts" is not a directory`}, // CVE-2019-18658
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{}
			for k, v := range files {
				if name != "charts/ that is a link" {
					all[k] = v
				}
			}
			for k, v := range tc.more {
				all[k] = v
			}
			root := plant(t, all)
			before := listed(t, root)
			f := open(t, root)
			err := f.replace(tc.ctx, replacement{put: []NewArchive{tc.put}, drop: f.Vendored(), lockName: "Chart.lock", lock: []byte("x")})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v", name, err)
			}
			if got := listed(t, root); got != before {
				t.Errorf("%s: left %s", name, got)
			}
		})
	}
}

// If directories cannot be exchanged atomically, a failure of the second step undoes the first.
func TestSwapInTwoStepsUndo(t *testing.T) {
	root := plant(t, map[string]string{"charts/a": "", "t/b": ""})
	s := stage{}
	if err := s.swapInTwoSteps(root+"/charts", root+"/missing", root+"/t/old-charts"); err == nil {
		t.Error("no error")
	}
	if got := listed(t, root); got != "Chart.yaml charts/a t/b" {
		t.Errorf("left %s", got)
	}
}

func TestRecover(t *testing.T) {
	root := plant(t, map[string]string{
		stagePrefix + "A/" + oldPrefix + "charts/old.tgz": "x",
		stagePrefix + "A/charts/new.tgz":                  "x",
		stagePrefix + "B/charts/new.tgz":                  "someone at work",
		"library/there":                                   "",
		stagePrefix + "A/" + oldPrefix + "library/x":      "",
	})
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(filepath.Join(root, stagePrefix+"A"), old, old); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first changes the directory's modification time
		if err := Recover(root); err != nil {
			t.Fatal(err)
		}
		_ = os.Chtimes(filepath.Join(root, stagePrefix+"A"), old, old)
	}
	if got := listed(t, root); got != stagePrefix+"B/charts/new.tgz Chart.yaml charts/old.tgz library/there" {
		t.Errorf("got %s", got)
	}
}

const (
	oldState = "Chart.yaml charts/hand/Chart.yaml charts/old-1.0.0.tgz"
	newState = "Chart.yaml charts/db-2.0.0.tgz charts/hand/Chart.yaml"
)

// After a kill at any step charts/ has the old or the new content.
func TestRecoverAfterKill(t *testing.T) {
	if at := os.Getenv("KILL_AT"); at != "" {
		replaceAndDie(t, os.Getenv("KILL_ROOT"), at)
	}
	for at, want := range map[string]string{
		"read":        oldState,
		"swap charts": oldState,
		"lock":        newState,
		"done":        "Chart.lock " + newState,
	} {
		t.Run(at, func(t *testing.T) {
			root := plant(t, map[string]string{"charts/hand/Chart.yaml": dbMetadata, "charts/old-1.0.0.tgz": string(packed(t, "old", "1.0.0"))})
			cmd := exec.Command(os.Args[0], "-test.run=^TestRecoverAfterKill$")
			cmd.Env = append(os.Environ(), "KILL_AT="+at, "KILL_ROOT="+root)
			out, err := cmd.CombinedOutput()
			if err == nil || strings.Contains(string(out), "FAIL") {
				t.Fatalf("%s: it lived: %v\n%s", at, err, out)
			}
			var seen []string
			for _, name := range strings.Fields(listed(t, root)) {
				if !strings.HasPrefix(name, stagePrefix) {
					seen = append(seen, name)
				}
			}
			if got := strings.Join(seen, " "); got != want {
				t.Errorf("%s: got %s, want %s", at, got, want)
			}
			// Leftovers do not affect the next run, which completes the change.
			if err := Recover(root); err != nil {
				t.Error(err)
			}
			f := open(t, root)
			if err := f.replace(t.Context(), upgraded(t, f)); err != nil {
				t.Errorf("%s: the next one: %v", at, err)
			}
			if c, err := Load(root); err != nil || len(c.Subcharts()) != 2 || c.Lock == nil {
				t.Errorf("%s: the next one left %s, %v", at, listed(t, root), err)
			}
		})
	}
}

func upgraded(t testing.TB, f *Directory) replacement {
	r := replacement{put: []NewArchive{newArchive(t, "charts", "db", "2.0.0")}, lockName: "Chart.lock", lock: []byte("digest: x\n")}
	for _, v := range f.Vendored() {
		if v.Name == "old" {
			r.drop = append(r.drop, v)
		}
	}
	return r
}

func replaceAndDie(t testing.TB, root, at string) {
	die := func() {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Signal(os.Kill)
		select {}
	}
	f := open(t, root)
	r := upgraded(t, f)
	r.onStep = func(step string) {
		if step == at {
			die()
		}
	}
	if at == "read" {
		r.put[0].Open = func() (io.ReadCloser, error) { die(); return nil, nil }
	}
	_ = f.replace(t.Context(), r)
	t.Error("no one killed it")
	os.Exit(0)
}

func TestPreview(t *testing.T) {
	root := plant(t, map[string]string{"charts/old-1.0.0.tgz": string(packed(t, "old", "1.0.0")), "charts/torn.tgz": "x"})
	f := open(t, root)
	c, err := f.Preview([]NewArchive{newArchive(t, "charts", "db", "2.0.0")}, f.Vendored())
	if err != nil || len(c.Subcharts()) != 1 || c.Subcharts()[0].Name() != "db" {
		t.Errorf("got %v, %v", c, err)
	}
	if got := listed(t, root); got != "Chart.yaml charts/old-1.0.0.tgz charts/torn.tgz" {
		t.Errorf("wrote %s", got)
	}
}

func TestReadMetadata(t *testing.T) {
	m, err := ReadMetadata(bytes.NewReader(packed(t, "db", "1.2.3")))
	if err != nil || m.Name != "db" || m.Version != "1.2.3" {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, data := range []string{"", "no archive", "\x1f\x8b"} {
		if _, err := ReadMetadata(strings.NewReader(data)); err == nil {
			t.Errorf("%q: no error", data)
		}
	}
}
