// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const legacyText = `name: diff
version: 3.9.4
usage: "Preview helm upgrade changes as a diff"
description: |-
  First line.
  Second line.
useTunnel: true
ignoreFlags: true
platformCommand:
  - os: windows
    command: "$HELM_PLUGIN_DIR\\bin\\diff.exe"
    args: [-x]
command: "$HELM_PLUGIN_DIR/bin/diff"
hooks:
  install: "$HELM_PLUGIN_DIR/install.sh"
platformHooks:
  install:
    - os: windows
      command: powershell
  update:
    - command: "$HELM_PLUGIN_DIR/install.sh -u"
downloaders:
  - command: "bin/get --quiet"
    protocols: [S3, gs]
`

func TestParseHelm3(t *testing.T) {
	m, err := Parse([]byte(legacyText))
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{
		Name: "diff", Version: "3.9.4", Legacy: true, Type: Getter, Runtime: Subprocess,
		Usage: "diff", Short: "Preview helm upgrade changes as a diff", Long: "First line.\nSecond line.", IgnoreFlags: true,
		Programs: []Program{
			{OS: "windows", Command: `$HELM_PLUGIN_DIR\bin\diff.exe`, Args: []string{"-x"}},
			{Command: "$HELM_PLUGIN_DIR/bin/diff"},
		},
		Hooks: map[string][]Program{
			"install": {{OS: "windows", Command: "powershell"}, {Command: "sh", Args: []string{"-c", "$HELM_PLUGIN_DIR/install.sh"}, Literal: true}},
			"update":  {{Command: "$HELM_PLUGIN_DIR/install.sh -u"}},
		},
		Getters: []GetterConfig{{Schemes: []string{"S3", "gs"}, Programs: []Program{{Command: "bin/get --quiet", Literal: true}}}},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	if got := m.Schemes(); !reflect.DeepEqual(got, []string{"s3", "gs"}) || !m.HasCommand() {
		t.Errorf("schemes %q, command %t", got, m.HasCommand())
	}
}

func TestParseHelm4(t *testing.T) {
	for _, c := range []struct {
		text string
		want Manifest
	}{
		{
			"apiVersion: v1\ntype: cli/v1\nname: a\nversion: 1.0.0-rc.1\nruntime: subprocess\nsourceURL: https://x\n" +
				"config: {usage: 'a FILE', shortHelp: short, longHelp: long, ignoreFlags: true}\n" +
				"runtimeConfig: {platformCommand: [{os: linux, arch: amd64, command: run, args: [x]}], platformHooks: {install: [{command: i}]}}\n",
			Manifest{
				Name: "a", Version: "1.0.0-rc.1", Type: CLI, Runtime: Subprocess, SourceURL: "https://x",
				Usage: "a FILE", Short: "short", Long: "long", IgnoreFlags: true,
				Programs: []Program{{OS: "linux", Arch: "amd64", Command: "run", Args: []string{"x"}}},
				Hooks:    map[string][]Program{"install": {{Command: "i", Literal: true}}},
			},
		},
		{
			"apiVersion: v1\ntype: getter/v1\nname: a\nversion: 1.0.0\nruntime: subprocess\nconfig: {protocols: [s3, gs]}\n" +
				"runtimeConfig: {protocolCommands: [{protocols: [s3], platformCommand: [{command: get}]}]}\n",
			Manifest{
				Name: "a", Version: "1.0.0", Type: Getter, Runtime: Subprocess, Usage: "a", Hooks: map[string][]Program{},
				Getters: []GetterConfig{{Schemes: []string{"s3"}, Programs: []Program{{Command: "get", Literal: true}}}, {Schemes: []string{"gs"}}},
			},
		},
		{
			"apiVersion: v1\ntype: postrenderer/v1\nname: a\nversion: 1.0.0\nruntime: lua\n",
			Manifest{Name: "a", Version: "1.0.0", Type: PostRenderer, Runtime: Lua, Usage: "a", Hooks: map[string][]Program{}},
		},
		{
			"apiVersion: v1\ntype: getter/v1\nname: a\nversion: 1.0.0\nruntime: lua\nconfig: {protocols: [x]}\n",
			Manifest{
				Name: "a", Version: "1.0.0", Type: Getter, Runtime: Lua, Usage: "a", Hooks: map[string][]Program{},
				Getters: []GetterConfig{{Schemes: []string{"x"}}},
			},
		},
	} {
		t.Run(c.text, func(t *testing.T) {
			if m, err := Parse([]byte(c.text)); err != nil || !reflect.DeepEqual(m, c.want) {
				t.Errorf("%s\ngot  %+v, %v\nwant %+v", c.text, m, err, c.want)
			}
		})
	}
}

// TestParseRejectsInvalid: CVE-2020-15186 and -15187 (names, duplicate keys),
// CVE-2024-26147 (empty files), CVE-2026-35204 (versions that are paths).
func TestParseRejectsInvalid(t *testing.T) {
	const head = "apiVersion: v1\ntype: cli/v1\nname: a\nversion: 1.0.0\nruntime: subprocess\n"
	for text, want := range map[string]string{
		"":                   "it is empty",
		"# nothing\n":        "it is empty",
		"null\n":             "name is missing",
		"{}\n":               "name is missing",
		"- a\n":              "is of the wrong kind",
		"text":               "is of the wrong kind",
		"name: [":            "did not find",
		"name: ../x\n":       `"../x" may contain only letters`,
		"name: 'a b'\n":      "may contain only letters",
		"name: \"a\\n\"\n":   "may contain only letters",
		"name: \"\\e[2J\"\n": "may contain only letters",
		"name: a/b\n":        "may contain only letters",
		"name: .\n":          "may contain only letters",
		"name: ä\n":          "may contain only letters",
		"name: a\nname: b\n": `mapping key "name" already defined`,
		"name: a\nhooks: {install: x, install: y}":                                 `mapping key "install" already defined`,
		"name: a\nversion: 1.0.0/../../x\n":                                        "is not a semantic version",
		"name: a\nversion: ../1.0.0\n":                                             "is not a semantic version",
		"name: a\nversion: 1.0.0+../x\n":                                           "is not a semantic version",
		"name: a\nversion: latest\n":                                               "is not a semantic version",
		"name: a\ndownloaders: [{command: x}]\n":                                   "protocols is empty",
		"name: a\ndownloaders: [{protocols: [s3]}]\n":                              "command is empty",
		"name: a\ndownloaders: [{protocols: ['a b'], command: x}]\n":               "not a valid URL scheme",
		"name: a\ndownloaders: [{protocols: ['-x'], command: x}]\n":                "not a valid URL scheme",
		"apiVersion: v2\nname: a\nversion: 1.0.0\n":                                "want v1",
		"apiVersion: v1\nname: a\nversion: 1.0.0\n":                                "type is missing",
		"apiVersion: v1\nname: a\ntype: cli/v1\nversion: 1.0.0\n":                  "runtime is missing",
		"apiVersion: v1\nname: a\ntype: x/v1\nversion: 1.0.0\n":                    `type "x/v1"`,
		strings.Replace(head, "subprocess", "extism/v1", 1):                        `runtime "extism/v1"`,
		strings.Replace(head, "version: 1.0.0\n", "", 1):                           "version is missing",
		strings.Replace(head, "1.0.0", "v1.0.0", 1):                                "is not a semantic version",
		strings.Replace(head, "1.0.0", "1.0", 1):                                   "is not a semantic version",
		head + "nope: 1\n":                                                         "field nope not found",
		head + "type: cli/v1\n":                                                    `mapping key "type" already defined`,
		head + "config: {nope: 1}\n":                                               "config line 1: field nope not found",
		head + "config: {usage: a, usage: b}\n":                                    `mapping key "usage" already defined`,
		head + "config: [1]\n":                                                     "config",
		head + "runtimeConfig: 7\n":                                                "runtimeConfig",
		strings.Replace(head, "cli/v1", "getter/v1", 1):                            "config.protocols is empty",
		strings.Replace(head, "cli/v1", "postrenderer/v1", 1) + "config: {x: 1}\n": "field x not found",
	} {
		t.Run(text, func(t *testing.T) {
			m, err := Parse([]byte(text))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %+v, %v; want %q", text, m, err, want)
			}
			if err != nil && (strings.Contains(err.Error(), "plugin.") || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("%q: the error has Go's names, or steers the terminal: %v", text, err)
			}
		})
	}
}

// Helm 3's plugins have versions of any form.
func TestParseHelm3Versions(t *testing.T) {
	for _, version := range []string{"", "version: v1.2.3\n", "version: 1.2\n", "version: '1'\n", "version: 1.2.3+meta\n"} {
		if _, err := Parse([]byte("name: a\n" + version)); err != nil {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// CVE-2021-21303: a manifest cannot control the terminal.
func TestParseRemovesControlCharacters(t *testing.T) {
	m, err := Parse([]byte("name: a\nusage: \"x\\e[2J\\r\\ny\"\ndescription: \"a\\n\\e]0;title\\a b\\u202e\"\n"))
	if err != nil || m.Short != "x[2J y" || m.Long != "a\n]0;title b" {
		t.Errorf("%q %q %v", m.Short, m.Long, err)
	}
}

func writePlugin(t *testing.T, dir, manifest string, more ...string) string {
	t.Helper()
	files := append([]string{ManifestFile, manifest}, more...)
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFindErrors(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	writePlugin(t, filepath.Join(one, "b"), "name: b\n")
	writePlugin(t, filepath.Join(one, "helm-a"), "name: a\n")
	writePlugin(t, filepath.Join(one, "broken"), "")
	writePlugin(t, filepath.Join(one, ".install-1"), "name: unfinished\n")
	writePlugin(t, filepath.Join(one, "lua"), "apiVersion: v1\ntype: cli/v1\nname: l\nversion: 1.0.0\nruntime: lua\n")
	writePlugin(t, filepath.Join(two, "other-a"), "name: a\n")
	if err := errors.Join(os.Mkdir(filepath.Join(one, "other"), 0o755), os.WriteFile(filepath.Join(one, "a-1.0.0.tgz"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	found, errs := Find(strings.Join([]string{one, filepath.Join(one, "missing"), "", two}, string(filepath.ListSeparator)))
	var names []string
	for _, p := range found {
		names = append(names, p.Name+"="+p.Dir)
	}
	if want := []string{"a=" + filepath.Join(one, "helm-a"), "b=" + filepath.Join(one, "b")}; !reflect.DeepEqual(names, want) {
		t.Errorf("got %q", names)
	}
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	for i, want := range []string{filepath.Join("broken", ManifestFile) + ": it is empty", "main.lua is missing", "two plugins claim the name \"a\""} {
		if i >= len(texts) || !strings.Contains(texts[i], want) {
			t.Errorf("errors %q lack %q", texts, want)
		}
	}
	if len(errs) != 3 {
		t.Errorf("errors %q", texts)
	}
}

func TestLoadSizeLimit(t *testing.T) {
	dir := writePlugin(t, t.TempDir(), "name: a\n# "+strings.Repeat("x", maxManifest))
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Error(err)
	}
}

// The manifest of a clone must be a file of the clone: a link could refer to a file that was
// not installed and may change. Package managers (Nix) create directories of links to plugins
// in their store.
func TestLoadRejectsSymlinkInClone(t *testing.T) {
	const manifest = "apiVersion: v1\ntype: cli/v1\nname: a\nversion: 1.0.0\nruntime: lua\n"
	outside := t.TempDir()
	for name, text := range map[string]string{ManifestFile: manifest, LuaFile: "", completionFile: "name: a\n"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct{ link, to, clone, other string }{
		"the manifest":        {ManifestFile, filepath.Join(outside, ManifestFile), "leads out of", ""},
		"a device":            {ManifestFile, os.DevNull, "leads out of", "this is a device"},
		"relative":            {ManifestFile, "../" + filepath.Base(outside) + "/" + ManifestFile, "leads out of", ""},
		"the program":         {LuaFile, filepath.Join(outside, LuaFile), "main.lua: it is a symbolic link that leads out of", ""},
		"inside":              {ManifestFile, "other.yaml", "", ""},
		"the program, inside": {LuaFile, "other.lua", "", ""},
	} {
		for dir, want := range map[string]string{name + " of a clone": test.clone, name + " of a package": test.other} {
			t.Run(dir, func(t *testing.T) {
				dir := filepath.Join(filepath.Dir(outside), strings.ReplaceAll(dir, " ", "-"))
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(dir, "-clone") {
					if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				for name, text := range map[string]string{
					ManifestFile: manifest, LuaFile: "", "other.yaml": manifest, "other.lua": "",
				} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Remove(filepath.Join(dir, test.link)); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(test.to, filepath.Join(dir, test.link)); err != nil {
					t.Skip("no symbolic links here:", err)
				}
				link := dir + "-link" // plugins from a local directory are installed as links
				if err := os.Symlink(dir, link); err != nil {
					t.Fatal(err)
				}
				for _, at := range []string{dir, link} {
					_, err := Load(at)
					if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want %q", at, err, want)
					}
				}
			})
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(legacyText))
	f.Add([]byte("apiVersion: v1\ntype: getter/v1\nname: a\nversion: 1.0.0\nruntime: subprocess\nconfig: &c {protocols: [s3]}\nruntimeConfig: {protocolCommands: [{protocols: [s3], platformCommand: [{command: get}]}]}\n"))
	f.Add([]byte("name: a\nversion: 1.0.0/../x\nhooks: *x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		if !ValidName(m.Name) || strings.ContainsAny(m.Version, "/\\\n") {
			t.Errorf("name %q, version %q", m.Name, m.Version)
		}
		if strings.ContainsAny(m.Short+m.Long+m.Usage+m.SourceURL, "\x1b\r\x00") {
			t.Errorf("texts %+v", m)
		}
	})
}
