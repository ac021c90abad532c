// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// bench is an Installer with fake sources.
type bench struct {
	Installer
	web    map[string][]byte
	hooks  []string // hooks that have run: "install a-1.0.0"
	broken string   // the hook that fails
}

func newBench(t *testing.T) *bench {
	b := &bench{web: map[string][]byte{}}
	b.Installer = Installer{
		Dir: filepath.Join(t.TempDir(), "home", "plugins"),
		Download: func(_ context.Context, url string, limit int64, w io.Writer) error {
			data, ok := b.web[url]
			if !ok {
				return errors.New("404")
			}
			if int64(len(data)) > limit {
				return errors.New("too large")
			}
			_, err := w.Write(data)
			return err
		},
		Pull: func(_ context.Context, ref, version string, w io.Writer) (Pulled, error) {
			data, ok := b.web[ref+":"+version]
			if !ok {
				return Pulled{}, errors.New("not found")
			}
			_, err := w.Write(data)
			return Pulled{Name: "../a-1.0.0.tgz", Provenance: b.web[ref+".prov"]}, err
		},
		Verify: func(name string, archive io.Reader, provenance []byte) (string, error) {
			data, err := io.ReadAll(archive)
			if err != nil || string(provenance) != fmt.Sprintf("%s has %d bytes", name, len(data)) {
				return "", fmt.Errorf("bad signature of %s", name)
			}
			return "signed by Ann", nil
		},
		Hook: func(_ context.Context, name string, p *Plugin) error {
			b.hooks = append(b.hooks, name+" "+p.Name+"-"+p.Version)
			if _, err := os.Stat(filepath.Join(p.Dir, ManifestFile)); err != nil {
				return err // the plugin must be in place when a hook runs
			}
			if name == b.broken {
				return &HookError{Plugin: p.Name, Hook: name, Err: &ExitError{p.Name, 5}}
			}
			return nil
		},
	}
	return b
}

func (b *bench) install(t *testing.T, source, version string, verify bool) (*Plugin, error) {
	t.Helper()
	s, err := ParseSource(source)
	if err != nil {
		t.Fatal(err)
	}
	return b.Install(t.Context(), InstallRequest{Source: s, Version: version, Verify: verify})
}

// files returns the files in the plugins' directory, two levels deep.
func (b *bench) files(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*", ".[a-z]*", "*/*", ".[a-z]*/*"} {
		found, err := filepath.Glob(filepath.Join(b.Dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, _ := filepath.Rel(b.Dir, f)
			names = append(names, filepath.ToSlash(rel))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (b *bench) wantFiles(t *testing.T, want ...string) {
	t.Helper()
	if got := b.files(t); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

func pluginArchive(t *testing.T, name, version string) []byte {
	t.Helper()
	return archiveOfEntries(t, entry{Name: name + "/plugin.yaml", Text: "name: " + name + "\nversion: " + version + "\ncommand: echo\n"})
}

func TestInstallFromDirectory(t *testing.T) {
	b := newBench(t)
	dir := writePlugin(t, filepath.Join(t.TempDir(), "helm-a"), "name: a\nversion: 1.0.0\n")
	p, err := b.install(t, dir, "", true)
	if err != nil || p.Name != "a" || p.Dir != filepath.Join(b.Dir, "helm-a") || p.Provenance() != "local dev" {
		t.Fatalf("%+v, %v", p, err)
	}
	if to, err := os.Readlink(p.Dir); err != nil || to != dir {
		t.Errorf("%s, %v", to, err)
	}
	var exists *ExistsError
	if _, err := b.install(t, dir, "", true); !errors.As(err, &exists) || exists.Name != "a" {
		t.Error(err)
	}
	other := writePlugin(t, filepath.Join(t.TempDir(), "other"), "name: a\nversion: 2.0.0\n")
	if _, err := b.install(t, other, "", true); !errors.As(err, &exists) { // the same name in another directory
		t.Error(err)
	}
	var fixed *FixedError
	if _, err := b.Update(t.Context(), p); !errors.As(err, &fixed) {
		t.Error(err)
	}
	if err := b.Uninstall(t.Context(), p); err != nil {
		t.Error(err)
	}
	b.wantFiles(t)
	if !exists2(dir) {
		t.Error("the linked directory is gone")
	}
	if want := []string{"install a-1.0.0", "delete a-1.0.0"}; !reflect.DeepEqual(b.hooks, want) {
		t.Errorf("hooks %q", b.hooks)
	}
}

// Hidden directories are not plugins, and .sources contains records.
func TestInstallRejectsHiddenName(t *testing.T) {
	b := newBench(t)
	for name, directory := range map[string]string{"a": ".helm-a", "b": records, "c": staging + "c"} {
		dir := writePlugin(t, filepath.Join(t.TempDir(), directory), "name: "+name+"\n")
		if p, err := b.install(t, dir, "", false); err != nil || p.Dir != filepath.Join(b.Dir, name) {
			t.Errorf("%s: %+v, %v", directory, p, err)
		}
	}
	if found, errs := Find(b.Dir); len(found) != 3 || len(errs) > 0 {
		t.Errorf("%v, %v", found, errs)
	}
}

func exists2(dir string) bool { return exists(filepath.Join(dir, ManifestFile)) }

// A link to a deleted directory, and leftovers of a killed process, are ignored.
func TestInstallRemovesLeftovers(t *testing.T) {
	b := newBench(t)
	dir := writePlugin(t, filepath.Join(t.TempDir(), "a"), "name: a\n")
	killed, busy := filepath.Join(b.Dir, ".install-1"), filepath.Join(b.Dir, ".install-2")
	old := time.Now().Add(-48 * time.Hour)
	err := errors.Join(os.MkdirAll(killed, 0o755), os.Mkdir(busy, 0o755), os.Chtimes(killed, old, old), os.Symlink(filepath.Join(dir, "gone"), filepath.Join(b.Dir, "a")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.install(t, dir, "", false); err != nil {
		t.Error(err)
	}
	b.wantFiles(t, ".install-2", "a", "a/plugin.yaml")
}

// No files are left after an error.
func TestInstallFailureLeavesNoFiles(t *testing.T) {
	outside := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(outside, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hostile := archiveOfEntries(t, entry{Name: "a/plugin.yaml", Text: "name: a\n"}, entry{Name: "../../evil", Text: "x"})
	version := archiveOfEntries(t, entry{Name: "a/plugin.yaml", Text: "name: a\nversion: 1.0.0/../../../evil\n"})
	for name, c := range map[string]struct {
		source, broken, want string
		verify               bool
	}{
		"a hook that fails, archive":   {write("good-1.0.0.tgz", pluginArchive(t, "a", "1.0.0")), HookInstall, "exited with error", false},
		"a hook that fails, directory": {writePlugin(t, filepath.Join(outside, "f"), "name: a\n"), HookInstall, "exited with error", false},
		"an archive that leads out":    {write("hostile.tgz", hostile), "", "is outside of", false},
		"a version that leads out":     {write("version.tgz", version), "", "not a semantic version", false}, // CVE-2026-35204
		"not an archive":               {write("x.tgz", []byte("x")), "", "not an archive", false},
		"no provenance":                {write("b.tgz", pluginArchive(t, "a", "1.0.0")), "", "no provenance file", true}, // CVE-2026-35205
		"nothing there":                {"https://example.com/a.tgz", "", "404", false},
		"nothing there, to verify":     {"https://example.com/a.tgz", "", "404", true},
		"not in the registry":          {"oci://example.com/a", "", "not found", true},
		"git, to verify":               {"https://example.com/a.git", "", "no provenance", true},
		"a directory without manifest": {t.TempDir(), "", "plugin metadata (plugin.yaml) missing", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.broken = c.broken
			if _, err := b.install(t, c.source, "", c.verify); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			b.wantFiles(t)
			if entries, err := os.ReadDir(filepath.Dir(b.Dir)); err != nil || len(entries) != 1 {
				t.Errorf("outside are %v, %v", entries, err)
			}
		})
	}
}

// CVE-2026-35205: with verification, a plugin without a valid signature is rejected. A signed
// one is stored with its signature.
func TestInstallVerifiesArchive(t *testing.T) {
	data := pluginArchive(t, "a", "1.0.0")
	const url = "https://me:pw@example.com/a-1.0.0.tgz?x=1"
	good := fmt.Appendf(nil, "a-1.0.0.tgz has %d bytes", len(data))
	for name, prov := range map[string][]byte{"none": nil, "empty": {}, "altered": []byte("x"), "of another": fmt.Appendf(nil, "b-1.0.0.tgz has %d bytes", len(data))} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.web[url] = data
			if prov != nil {
				b.web["https://me:pw@example.com/a-1.0.0.tgz.prov?x=1"] = prov
			}
			if _, err := b.install(t, url, "", true); err == nil {
				t.Errorf("%s: installed", name)
			} else if strings.Contains(err.Error(), "me:pw") {
				t.Errorf("%s: tells the password: %v", name, err)
			}
			b.wantFiles(t)
		})
	}
	b := newBench(t)
	var messages string
	b.Verified = func(signer string) { messages = signer }
	b.web[url], b.web["https://me:pw@example.com/a-1.0.0.tgz.prov?x=1"] = data, good
	p, err := b.install(t, url, "", true)
	if err != nil || messages != "signed by Ann" || p.Provenance() != "signed" || p.Source() != "https://example.com/a-1.0.0.tgz?..." {
		t.Fatalf("%v, told %q", err, messages)
	}
	b.wantFiles(t, ".sources", ".sources/a.json", "a", "a-1.0.0.tgz", "a-1.0.0.tgz.prov", "a/plugin.yaml")
	if err := b.Uninstall(t.Context(), p); err != nil {
		t.Error(err)
	}
	b.wantFiles(t)

	b.web["oci://example.com/a:^1"], b.web["oci://example.com/a.prov"] = data, good // would lead out of the directory
	if p, err = b.install(t, "oci://example.com/a", "^1", true); err != nil || p.Provenance() != "signed" {
		t.Fatal(err)
	}
	if err := b.Uninstall(t.Context(), p); err != nil {
		t.Error(err)
	}
	// A valid signature of another version is rejected.
	pull, stale := b.Pull, (*StaleError)(nil)
	b.Pull = func(ctx context.Context, ref, version string, w io.Writer) (Pulled, error) {
		p, err := pull(ctx, ref, version, w)
		p.Version = "1.2.0"
		return p, err
	}
	if _, err = b.install(t, "oci://example.com/a", "^1", true); !errors.As(err, &stale) {
		t.Error(err)
	}
	b.wantFiles(t)
}

func TestUpdateFromURL(t *testing.T) {
	const url = "https://example.com/a.tgz"
	b := newBench(t)
	b.web[url] = pluginArchive(t, "a", "1.0.0")
	p, err := b.install(t, url, "", false)
	if err != nil || p.Provenance() != "unsigned" {
		t.Fatal(err)
	}
	if same, err := b.Update(t.Context(), p); err != nil || same.Version != "1.0.0" {
		t.Error(err)
	}
	before := b.files(t)

	b.web[url] = pluginArchive(t, "b", "1.1.0")
	if _, err := b.Update(t.Context(), p); err == nil || !strings.Contains(err.Error(), `has another plugin now, "b"`) {
		t.Error(err)
	}
	b.web[url], b.broken = pluginArchive(t, "a", "1.1.0"), HookUpdate
	var failed *HookError
	if _, err := b.Update(t.Context(), p); !errors.As(err, &failed) {
		t.Error(err)
	}
	b.wantFiles(t, before...)
	if still, err := Load(p.Dir); err != nil || still.Version != "1.0.0" {
		t.Errorf("the old version is not back: %+v, %v", still, err)
	}
	b.broken = ""
	if p, err = b.Update(t.Context(), p); err != nil || p.Version != "1.1.0" {
		t.Fatal(err)
	}
	b.wantFiles(t, ".sources", ".sources/a.json", "a", "a-1.1.0.tgz", "a/plugin.yaml")
	if want := []string{"install a-1.0.0", "update a-1.0.0", "update a-1.1.0", "update a-1.1.0"}; !reflect.DeepEqual(b.hooks, want) {
		t.Errorf("hooks %q", b.hooks)
	}
	// A plugin that Helm has installed since is not mistaken for ours.
	if err := os.WriteFile(filepath.Join(b.Dir, "a-1.1.0.tgz"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	var fixed *FixedError
	if _, err := b.Update(t.Context(), p); !errors.As(err, &fixed) {
		t.Error(err)
	}
	b.broken = HookDelete
	if err := b.Uninstall(t.Context(), p); !errors.As(err, &failed) {
		t.Error(err)
	}
	b.wantFiles(t) // as in Helm, it is removed nevertheless
}

// An update does not use an archive's files as git's own files.
func TestUpdateIgnoresGitInArchive(t *testing.T) {
	b := newBench(t)
	mark := filepath.Join(t.TempDir(), "mark")
	const url = "https://example.com/a.tgz"
	path := filepath.Join(t.TempDir(), "a.tgz")
	data := archiveOfEntries(t,
		entry{Name: "plugin.yaml", Text: "name: a\nversion: 1.0.0\n"}, entry{Name: ".git/HEAD", Text: "ref: refs/heads/main\n"},
		entry{Name: ".git/config", Text: "[core]\n  fsmonitor = touch " + mark + "\n"}, entry{Name: ".git/objects/x"}, entry{Name: ".git/refs/x"})
	b.web[url] = data
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{path, url} {
		p, err := b.install(t, from, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Update(t.Context(), p); (err == nil) != (from == url) {
			t.Error(err)
		}
		if exists(mark) {
			t.Error("git has run what the archive says")
		}
		if err := b.Uninstall(t.Context(), p); err != nil {
			t.Error(err)
		}
	}
}

func TestUpdateLocalArchive(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "a.tgz")
	if err := os.WriteFile(path, pluginArchive(t, "a", "1.0.0"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := b.install(t, path, "", false)
	if err != nil {
		t.Fatal(err)
	}
	b.wantFiles(t, "a", "a-1.0.0.tgz", "a/plugin.yaml")
	var fixed *FixedError
	if _, err := b.Update(t.Context(), p); !errors.As(err, &fixed) {
		t.Error(err)
	}
}

// repository creates a git repository of a plugin with tags 1.0.0, v1.1.0 and 2.0.0, and a
// branch "next".
func repository(t *testing.T) (url string, work func(args ...string)) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "nowhere")) // as in a git hook
	dir := filepath.Join(t.TempDir(), "helm-a")
	work = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Env = gitEnviron()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	work("init", "--quiet", "--initial-branch=main")
	for _, tag := range []string{"1.0.0", "v1.1.0", "2.0.0"} {
		commitVersion(t, dir, work, strings.TrimPrefix(tag, "v"))
		work("tag", tag)
	}
	work("checkout", "--quiet", "-b", "next")
	commitVersion(t, dir, work, "3.0.0")
	work("checkout", "--quiet", "main")
	return "file://" + filepath.ToSlash(dir), work
}

func commitVersion(t *testing.T, dir string, work func(...string), version string) {
	t.Helper()
	writePlugin(t, dir, "name: a\nversion: "+version+"\ncommand: echo\n")
	work("add", "-A")
	work("commit", "--quiet", "-m", version)
}

func TestInstallFromGit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	url, _ := repository(t)
	for want, versions := range map[string][]string{
		"1.0.0": {"1.0.0", "v1.0.0", "~1.0"},
		"1.1.0": {"v1.1.0", "1.1.0", "^1", "1.x", ">=1 <2"},
		"2.0.0": {"", "*", "main"},
		"3.0.0": {"next"},
	} {
		t.Run(want, func(t *testing.T) {
			for _, version := range versions {
				b := newBench(t)
				p, err := b.install(t, url, version, false)
				if err != nil || p.Version != want || filepath.Base(p.Dir) != "helm-a" || p.Source() != url {
					t.Errorf("%q: %+v, %v", version, p, err)
					continue
				}
				if err := b.Uninstall(t.Context(), p); err != nil {
					t.Error(err)
				}
				b.wantFiles(t)
			}
		})
	}
	for _, version := range []string{"9.9.9", "^7", "nope", "-x", "--upload-pack=x", "HEAD", "refs/heads/main", "main~1", "@{1}"} {
		b := newBench(t)
		if p, err := b.install(t, url, version, false); err == nil {
			t.Errorf("%q: installed %+v", version, p)
		}
		b.wantFiles(t)
	}
	b := newBench(t)
	var failed *GitError
	if _, err := b.install(t, url+"-missing", "", false); !errors.As(err, &failed) || !strings.Contains(err.Error(), "helm-a-missing") {
		t.Error(err)
	}
	b.wantFiles(t)
}

func TestUpdateFromGit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	url, work := repository(t)
	dir := filepath.FromSlash(strings.TrimPrefix(url, "file://"))
	versions := map[string]string{"": "2.0.0", "^1": "1.1.0", "1.0.0": "1.0.0"}
	benches, plugins := map[string]*bench{}, map[string]*Plugin{}
	for version, want := range versions {
		b := newBench(t)
		p, err := b.install(t, url, version, false)
		if err != nil || p.Version != want {
			t.Fatal(err)
		}
		benches[version], plugins[version] = b, p
	}
	commitVersion(t, dir, work, "1.9.0")
	work("tag", "1.9.0")
	for version, want := range map[string]string{"": "1.9.0", "^1": "1.9.0", "1.0.0": "1.0.0"} {
		t.Run(version, func(t *testing.T) {
			p, err := benches[version].Update(t.Context(), plugins[version])
			if err != nil || p.Version != want {
				t.Errorf("%q: %+v, %v", version, p, err)
			}
		})
	}
	// After a failed hook, or with another name, the old version stays.
	b, p := benches[""], plugins[""]
	commitVersion(t, dir, work, "2.1.0")
	b.broken = HookUpdate
	if _, err := b.Update(t.Context(), p); err == nil {
		t.Error("updated")
	}
	writePlugin(t, dir, "name: b\nversion: 2.2.0\n")
	work("commit", "--quiet", "-am", "another name")
	b.broken = ""
	if _, err := b.Update(t.Context(), p); err == nil || !strings.Contains(err.Error(), `is called "b"`) {
		t.Error(err)
	}
	if still, err := Load(p.Dir); err != nil || still.Version != "1.9.0" {
		t.Errorf("%+v, %v", still, err)
	}
	writePlugin(t, p.Dir, "name: a\n# changed\n")
	var dirty *DirtyError
	if _, err := b.Update(t.Context(), p); !errors.As(err, &dirty) {
		t.Error(err)
	}
}

// Git's messages are shown without passwords.
func TestGitErrorHidesPassword(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	b := newBench(t)
	for url, messages := range map[string]string{
		"http://me:hunter2@127.0.0.1:1/a.git":         "http://me:xxxxx@127.0.0.1:1/a.git",
		"http://127.0.0.1:1/a.git?token=hunter2":      "http://127.0.0.1:1/a.git?...",
		"http://me:x@127.0.0.1:1/a.git#token=hunter2": "http://me:xxxxx@127.0.0.1:1/a.git",
	} {
		t.Run(url, func(t *testing.T) {
			_, err := b.install(t, url, "", false)
			if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "git clone "+messages+": ") {
				t.Errorf("%s: %v", url, err)
			}
		})
	}
}

func TestPackAndInstall(t *testing.T) {
	dir := writePlugin(t, filepath.Join(t.TempDir(), "x"), "name: a\nversion: 1.0.0\n", "bin/run", "#!/bin/sh\n", ".git/config", "x")
	if err := os.Chmod(filepath.Join(dir, "plugin.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var archives []string
	for range 2 {
		path := filepath.Join(t.TempDir(), p.ArchiveName())
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Pack(p, time.Unix(0, 0), f), f.Close()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, string(data))
		if len(archives) == 1 {
			b := newBench(t)
			if _, err := b.install(t, path, "", false); err != nil {
				t.Fatal(err)
			}
			b.wantFiles(t, "a", "a-1.0.0.tgz", "a/bin", "a/plugin.yaml")
		}
	}
	if archives[0] != archives[1] {
		t.Error("the same files give different archives")
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := Pack(p, time.Unix(0, 0), io.Discard); err == nil || !strings.Contains(err.Error(), "link") {
		t.Error(err)
	}
}
