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

func TestImports(t *testing.T) {
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
		t.Fatalf("go list printed only %d packages", seen)
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		from, to string
		want     string // part of the error, or ""
	}{
		{"action", "chart", ""},
		{"action", "kube", ""},
		{"action", "strings", ""},
		{"chart", "action", "imports only layers below"},
		{"storage", "kube", "do not import each other"},
		{"storage/lock", "storage", ""},
		{"chart/scaffold", "chart/loader", ""},
		{"chart/loader", "chart/scaffold", "do not import each other"},
		{"somewhere", "chart", "has no layer"},
		{"action", "somewhere", "has no layer"},
		{"engine", "net/http", "makes no requests"},
		{"kube", "net/http", ""},
		{"chart", "go.yaml.in/yaml/v3", "by internal/yaml only"},
		{"action", "sigs.k8s.io/yaml", "by internal/yaml only"},
		{"internal/yaml", "sigs.k8s.io/yaml", ""},
	} {
		t.Run(test.from+" "+test.to, func(t *testing.T) {
			to := test.to
			if to != "strings" && to != "net/http" && !strings.Contains(to, ".") {
				to = Module + "/" + to
			}
			err := Check(Module+"/"+test.from, to)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
