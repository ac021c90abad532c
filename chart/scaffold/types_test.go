// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/scaffold"
	"github.com/moonhelm/moonhelm/internal/filetest"
)

func TestWriteTypes(t *testing.T) {
	const settings, ignore = ".luarc.json", ".helmignore"
	for _, tt := range []struct {
		name        string
		there       map[string]string
		permissions []string
		written     string
		kept        string
		ignore      string
	}{
		{"a chart without anything", nil, nil, settings + " .luals/moonhelm.lua .luals/tests.lua " + ignore, "",
			"# Types of scripts, for editors\n.luarc.json\n.luals/\n"},
		{"permissions bring their functions", nil, []string{"network", "gpu"},
			settings + " .luals/moonhelm.lua .luals/tests.lua .luals/network.lua " + ignore, "",
			"# Types of scripts, for editors\n.luarc.json\n.luals/\n"},
		{"the user's settings are kept", map[string]string{settings: "{}", ".luals/moonhelm.lua": "old"}, nil,
			".luals/moonhelm.lua .luals/tests.lua " + ignore, settings, "# Types of scripts, for editors\n.luarc.json\n.luals/\n"},
		{"what is ignored stays", map[string]string{ignore: "*.bak\n.luals/"}, nil,
			settings + " .luals/moonhelm.lua .luals/tests.lua " + ignore, "", "*.bak\n.luals/\n\n# Types of scripts, for editors\n.luarc.json\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			filetest.Write(t, dir, tt.there)
			written, kept, err := scaffold.WriteTypes(dir, tt.permissions)
			if err != nil || strings.Join(written, " ") != tt.written || kept != tt.kept {
				t.Errorf("wrote %q, kept %q, %v; want %q, %q", written, kept, err, tt.written, tt.kept)
			}
			got, err := os.ReadFile(filepath.Join(dir, ignore))
			if err != nil || string(got) != tt.ignore {
				t.Errorf("%s is %q, %v; want %q", ignore, got, err, tt.ignore)
			}
			again, _, err := scaffold.WriteTypes(dir, tt.permissions)
			if err != nil || len(again) > 0 {
				t.Errorf("the second time wrote %q, %v", again, err)
			}
		})
	}
}

// TestWriteTypesStays checks that nothing is written outside of the directory, and no pipe read.
func TestWriteTypesStays(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".luals")); err != nil {
		t.Skip(err)
	}
	if _, _, err := scaffold.WriteTypes(dir, nil); err == nil {
		t.Error("a link out of the directory is followed")
	}
	if files, _ := os.ReadDir(outside); len(files) > 0 {
		t.Errorf("wrote %v", files)
	}
}

// TestWithScripts checks that a new chart has a script and its types, and that they are no
// part of the chart.
func TestWithScripts(t *testing.T) {
	files, err := scaffold.Chart{Name: "web"}.Files()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range scaffold.WithScripts(files) {
		names = append(names, f.Name)
		if f.Name == ".helmignore" && !strings.HasSuffix(string(f.Data), "\n.luarc.json\n.luals/\n") {
			t.Errorf(".helmignore is\n%s", f.Data)
		}
	}
	for _, want := range []string{chart.FileScript, ".luarc.json", ".luals/moonhelm.lua"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s: %v", want, names)
		}
	}
}
