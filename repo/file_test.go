// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// golden is a file of Helm 4.3.1.
const golden = `apiVersion: ""
generated: "0001-01-01T00:00:00Z"
repositories:
- caFile: ""
  certFile: ""
  insecure_skip_tls_verify: false
  keyFile: ""
  name: "n"
  pass_credentials_all: false
  password: ""
  url: http://127.0.0.1:44525
  username: ""
- caFile: /ca
  certFile: /cert
  insecure_skip_tls_verify: true
  keyFile: /key
  name: s
  pass_credentials_all: true
  password: hunter2
  url: http://127.0.0.1:44525/auth
  username: anna
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "repositories.yaml")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSaveLikeHelm(t *testing.T) {
	f := &File{}
	f.Set(Entry{Name: "n", URL: "http://127.0.0.1:44525"})
	f.Set(Entry{
		Name: "s", URL: "http://127.0.0.1:44525/auth", Username: "anna", Password: "hunter2", PassAll: true,
		CAFile: "/ca", CertFile: "/cert", KeyFile: "/key", SkipTLS: true,
	})
	path := filepath.Join(t.TempDir(), "repositories.yaml")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != golden {
		t.Errorf("%v\n%s", err, text)
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
	again, err := Load(path)
	if err != nil || len(again.Entries) != 2 || !again.Entries[1].Same(f.Entries[1]) || again.Entries[1].Password != "hunter2" {
		t.Errorf("read back: %+v, %v", again, err)
	}
	if empty, err := (&File{}).text(); err != nil || !strings.HasSuffix(string(empty), "repositories: []\n") {
		t.Errorf("without repositories: %s, %v", empty, err)
	}
}

func TestSaveKeepsUnknownKeys(t *testing.T) {
	path := write(t, `apiVersion: v1
generated: 2020-01-01T00:00:00.1+01:00
future: {a: [1, 2]}
repositories:
- {name: a, url: http://x, cache: zzz, username: 5, password: 1234}
- {name: b, url: http://y}
`)
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if e := f.Entries[0]; e.Username != "5" || e.Password != "1234" {
		t.Errorf("numbers that are text: %+v", e)
	}
	f.Set(Entry{Name: "a", URL: "http://z"})
	if !f.Remove("b") || f.Remove("b") {
		t.Error("b is not removed once")
	}
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	for _, want := range []string{"apiVersion: v1\n", "generated: \"2020-01-01T00:00:00.1+01:00\"\n", "future:\n  a:\n  - 1\n  - 2\n", "  cache: zzz\n", "  url: http://z\n", "  username: \"\"\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode has changed: %v", info.Mode())
	}
}

func TestSaveSymlink(t *testing.T) {
	dir := t.TempDir()
	link, resolved := filepath.Join(dir, "repositories.yaml"), filepath.Join(dir, "dotfiles.yaml")
	if err := os.WriteFile(resolved, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(resolved, link); err != nil {
		t.Skip(err)
	}
	if err := (&File{APIVersion: "v1"}).Save(link); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if text, _ := os.ReadFile(resolved); !strings.Contains(string(text), "apiVersion: v1") {
		t.Errorf("the file has %q", text)
	}
	names, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestLoadRejectsInvalid(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"null\n":                "",
		"# nothing\n":           "",
		"repositories:\n":       "",
		"repositories: []\n":    "",
		"foo\n":                 "not a list of repositories",
		"[]\n":                  "not a list of repositories",
		"repositories: {}\n":    "not a list of repositories",
		"repositories: 5\n":     "not a list of repositories",
		"repositories:\n-\n":    "entry 1 of repositories is empty",
		"repositories:\n- a\n":  "not a list of repositories",
		"repositories: [\n":     "yaml",
		"generated: nope\n":     "nope",
		"a: 1\na: 2\n":          "already",
		"\x00\x01":              "yaml",
		"repositories: &a [*a]": "",
		"repositories:\n- {name: a, url: x}\n- {name: a, url: y}\n":       `entry 2 of repositories: there is another one named "a"`,
		"repositories:\n- {name: a, name: b, url: x}\n":                   "already",
		"repositories:\n- {name: a, insecure_skip_tls_verify: \"yes\"}\n": "not a list of repositories",
	} {
		t.Run(text, func(t *testing.T) {
			path := write(t, text)
			f, err := Load(path)
			var wrong *FileError
			switch {
			case text == "repositories: &a [*a]":
				if !errors.As(err, &wrong) {
					t.Errorf("%q: %v", text, err)
				}
			case want == "" && (err != nil || len(f.Entries) > 0):
				t.Errorf("%q: %+v, %v", text, f, err)
			case want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path)):
				t.Errorf("%q: got %v, wanted %q", text, err, want)
			}
		})
	}
	if f, err := Load(filepath.Join(t.TempDir(), "none")); err != nil || len(f.Entries) > 0 {
		t.Errorf("a file that is not there: %v", err)
	}
	if f, err := Load(os.DevNull); err != nil || len(f.Entries) > 0 {
		t.Errorf("%s: %v", os.DevNull, err)
	}
	if _, err := load(os.DevNull); err == nil { // Update calls load, and would replace it
		t.Errorf("%s can be changed", os.DevNull)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "a regular file is expected") {
		t.Errorf("a directory: %v", err)
	}
	if runtime.GOOS == "linux" {
		if _, err := Load("/dev/zero"); err == nil || !strings.Contains(err.Error(), "a regular file is expected") {
			t.Errorf("a device: %v", err)
		}
	}
}

func TestPick(t *testing.T) {
	f := &File{}
	if _, err := f.Pick("a"); !errors.As(err, new(*NoRepositoriesError)) {
		t.Error(err)
	}
	for _, name := range []string{"stable", "mine", "other"} {
		f.Set(Entry{Name: name, URL: "http://" + name})
	}
	if all, err := f.Pick(); err != nil || len(all) != 3 {
		t.Error(all, err)
	}
	some, err := f.Pick("other", "stable", "other")
	if err != nil || len(some) != 2 || some[0].Name != "other" {
		t.Error(some, err)
	}
	_, err = f.Pick("stabel", "mine", "nope", "nope")
	var missing *NamesNotFoundError
	if !errors.As(err, &missing) || missing.Suggestion != "stable" || !slices.Equal(missing.Names, []string{"stabel", "nope"}) ||
		err.Error() != "no repositories found matching 'stabel', 'nope'.  Nothing will be updated" {
		t.Error(err)
	}
	if e := (&File{Entries: []Entry{{Name: "a"}, {Name: "bc"}}}).Unknown("zz"); e.Suggestion != "" {
		t.Errorf("zz is not like %q", e.Suggestion)
	}
	if e := f.Unknown("stabel"); e.Suggestion != "stable" || len(e.Have) != 3 {
		t.Errorf("%+v", e)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte("repositories:\n- null\n- {name: a, x: &a [*a]}\n"))
	f.Add([]byte(`{"repositories":[{"name":"a","url":"http://x","unknown":{"a":null}}],"x":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parse(data)
		if err != nil {
			return
		}
		text, err := file.text()
		if err != nil {
			t.Fatalf("%q cannot be written: %v", data, err)
		}
		again, err := parse(text)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, text, err)
		}
		if !slices.EqualFunc(file.Entries, again.Entries, Entry.Same) || file.APIVersion != again.APIVersion {
			t.Fatalf("%q was written as %q", data, text)
		}
	})
}
