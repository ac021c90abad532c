// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is exported now to docs/api")

const root = "../.."

// file returns the path of a package's listing.
func file(pkg string) string {
	return filepath.Join(root, "docs", "api", strings.ReplaceAll(pkg, "/", ".")+".txt")
}

func TestAPIListing(t *testing.T) {
	packages, err := Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(packages, "action") || !slices.Contains(packages, "chart/loader") {
		t.Fatalf("the packages are %q", packages)
	}
	var known []string
	for _, pkg := range packages {
		known = append(known, file(pkg))
		t.Run(pkg, func(t *testing.T) {
			got, err := Listing(filepath.Join(root, pkg))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := errors.Join(os.MkdirAll(filepath.Dir(file(pkg)), 0o755), os.WriteFile(file(pkg), []byte(got), 0o644)); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file(pkg))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if added, removed := compare(string(want), got); len(added)+len(removed) > 0 {
				t.Errorf("the API has changed: add a changelog fragment, and run go test ./internal/api -update\nadded:\n  %s\nremoved:\n  %s",
					strings.Join(added, "\n  "), strings.Join(removed, "\n  "))
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "api", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(known, f) {
			t.Errorf("%s lists a package that does not exist: remove it", f)
		}
	}
}

// compare returns the lines that are in only one of two listings.
func compare(want, got string) (added, removed []string) {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range b {
		if !slices.Contains(a, line) {
			added = append(added, line)
		}
	}
	for _, line := range a {
		if !slices.Contains(b, line) {
			removed = append(removed, line)
		}
	}
	if want != got && len(added)+len(removed) == 0 {
		return []string{"(the order)"}, nil
	}
	return added, removed
}

func TestListing(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "package a\n\n// T is documented.\ntype T struct {\n\tA int // a comment\n\tb string\n}\n\n// M does.\nfunc (t *T) M(x int) error { return nil }\n\nfunc hidden() {}\n\n// F is one.\nfunc F() {}\n\nconst C = 1\n")
	write("a_test.go", "package a\n\nfunc Tested() {}\n")
	got, err := Listing(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "package a\n\nconst C = 1\n\nfunc F()\n\ntype T struct {\n\tA int\n\t// contains filtered or unexported fields\n}\n\nfunc (t *T) M(x int) error\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
