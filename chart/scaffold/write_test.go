// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/scaffold"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

// held returns everything in dir: files with their text, directories with a slash.
func held(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			out[name+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			out[name], err = os.Readlink(path)
			out[name] = "-> " + out[name]
		default:
			var data []byte
			data, err = os.ReadFile(path)
			out[name] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantHeld(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if got := held(t, dir); !maps.Equal(got, want) {
		t.Errorf("got the files %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// A chart is written completely or not at all if an error occurs.
func TestWriteAtomic(t *testing.T) {
	files, err := scaffold.Chart{Name: "web"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	long := append(slices.Clone(files), &chart.File{Name: "templates/" + strings.Repeat("x", 300) + ".yaml",
		Data: []byte("a: 1\n")})
	for _, tc := range []struct {
		name  string
		there map[string]string
		files []*chart.File
	}{
		{"a name too long", nil, long},
		{"a name too long, beside other files", map[string]string{"web/values.yaml": "mine: 1\n",
			"web/own.txt": "mine"}, long},
		{"a directory in the place of a file", map[string]string{"web/values.yaml/x": "mine",
			"web/Chart.yaml": "mine"}, files},
		{"a file in the place of a directory", map[string]string{"web/templates": "mine", "web/Chart.yaml": "mine"}, files},
		{"a file in the place of charts", map[string]string{"web/charts": "mine", "web/Chart.yaml": "mine"}, files},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.Write(t, dir, tc.there)
			was := held(t, dir)
			if overwritten, err := scaffold.Write(filepath.Join(dir, "web"), tc.files); err == nil || overwritten != nil {
				t.Errorf("got %v, %v, want an error", overwritten, err)
			}
			wantHeld(t, dir, was)
		})
	}
}

func TestWriteOverwrites(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	dir := t.TempDir()
	filetest.Write(t, dir, map[string]string{"web/values.yaml": "mine: 1\n", "web/own.txt": "mine",
		"web/real.yaml": "mine", "outside": "mine"})
	if err := os.Chmod(filepath.Join(dir, "web/values.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, "web", name)); err != nil {
			t.Fatal(err)
		}
	}
	link("real.yaml", "Chart.yaml")
	overwritten, err := scaffold.Write(filepath.Join(dir, "web"), []*chart.File{
		{Name: "Chart.yaml", Data: []byte("new")}, {Name: "values.yaml", Data: []byte("new")},
		{Name: "old/new/x", Data: []byte("new")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "web", "Chart.yaml"), filepath.Join(dir, "web", "values.yaml")}
	if !slices.Equal(overwritten, want) {
		t.Errorf("overwritten: got %v, want %v", overwritten, want)
	}
	wantHeld(t, dir, map[string]string{
		"outside": "mine", "web/": "", "web/Chart.yaml": "-> real.yaml", "web/real.yaml": "new", "web/values.yaml": "new",
		"web/own.txt": "mine", "web/charts/": "", "web/old/": "", "web/old/new/": "", "web/old/new/x": "new",
	})
	if info, err := os.Stat(filepath.Join(dir, "web/values.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("values.yaml: got %v, %v, want the mode 0600 that it had", info.Mode(), err)
	}

	link("../outside", "README.md")
	was := held(t, dir)
	if _, err := scaffold.Write(filepath.Join(dir, "web"), []*chart.File{{Name: "own.txt",
		Data: []byte("new")}, {Name: "README.md", Data: []byte("new")}}); err == nil {
		t.Error("a link out of the chart is written through")
	}
	wantHeld(t, dir, was)
}
