// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

func TestEveryPackageImportsOnlyRowsBelowItsOwn(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", Module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; seen++ {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, imported := range pkg.Imports {
			if err := Check(pkg.ImportPath, imported); err != nil {
				t.Error(err)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("go list knows %d packages only", seen)
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		wrong    string // part of the complaint, "" for none
	}{
		{"op", "chart", ""},
		{"op", "strings", ""},
		{"chart", "op", "imports only rows below"},
		{"op", "kube", "do not know each other"},
		{"archive/scaffold", "archive", ""},
		{"somewhere", "chart", "has no row"},
		{"op", "somewhere", "has no row"},
	} {
		to := tc.to
		if to != "strings" {
			to = Module + "/" + to
		}
		err := Check(Module+"/"+tc.from, to)
		if tc.wrong == "" && err != nil || tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
			t.Errorf("%s → %s: got %v, want %q", tc.from, tc.to, err, tc.wrong)
		}
	}
	if err := Check(Module+"/render", "net/http"); err == nil {
		t.Error("render may import net/http")
	}
}
