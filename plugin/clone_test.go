// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cloned returns a plugin of version 2.0.0 that was installed from a repository, which now has
// 2.1.0, and a function that runs git in the clone.
func cloned(t *testing.T) (b *bench, p *Plugin, inClone func(args ...string)) {
	t.Helper()
	url, work := repository(t)
	b = newBench(t)
	p, err := b.install(t, url, "", false)
	if err != nil {
		t.Fatal(err)
	}
	commitVersion(t, strings.TrimPrefix(url, "file://"), work, "2.1.0")
	return b, p, func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", p.Dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Env = gitEnviron()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

// put writes a file in dir.
func put(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Every program that the plugin has started may have written commands to its clone's git
// configuration.
func TestUpdateIgnoresCloneConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, config := range map[string]string{
		"a monitor of files":    "[core]\n fsmonitor = %s\n",
		"hooks elsewhere":       "[core]\n hooksPath = hooks-of-evil\n",
		"a command for ssh":     "[core]\n sshCommand = %s\n gitProxy = %[1]s\n askPass = %[1]s\n",
		"filters":               "[filter \"evil\"]\n clean = %s\n smudge = %[1]s\n process = %[1]s\n required = true\n",
		"another transport":     "[url \"ext::%s \"]\n insteadOf = file://\n[protocol \"ext\"]\n allow = always\n",
		"a program for fetch":   "[remote \"origin\"]\n uploadpack = %s\n receivepack = %[1]s\n vcs = evil\n",
		"an included file":      "[include]\n path = evil.config\n",
		"diff, merge and pager": "[diff]\n external = %s\n[core]\n pager = %[1]s\n editor = %[1]s\n[merge \"evil\"]\n driver = %[1]s\n[diff \"evil\"]\n textconv = %[1]s\n command = %[1]s\n",
		"packs and references":  "[uploadpack]\n packObjectsHook = %s\n[core]\n alternateRefsCommand = %[1]s\n",
		"credentials":           "[credential]\n helper = !%s\n[gpg]\n program = %[1]s\n[commit]\n gpgSign = true\n",
		"aliases":               "[alias]\n status = !%s\n clone = !%[1]s\n fetch = !%[1]s\n checkout = !%[1]s\n",
		"another directory":     "[core]\n worktree = /\n fsmonitor = %s\n",
		"a promise":             "[extensions]\n partialClone = origin\n[core]\n repositoryformatversion = 1\n[remote \"origin\"]\n promisor = true\n uploadpack = %s\n",
	} {
		t.Run(name, func(t *testing.T) {
			b, p, _ := cloned(t)
			mark := filepath.Join(t.TempDir(), "ran")
			evil := filepath.Join(t.TempDir(), "evil")
			put(t, filepath.Dir(evil), "evil", "#!/bin/sh\ntouch "+mark+"\ncat\nexit 0\n", 0o755)
			git := filepath.Join(p.Dir, ".git")
			text, err := os.ReadFile(filepath.Join(git, "config"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(config, "%") {
				config = fmt.Sprintf(config, evil)
			}
			put(t, git, "config", string(text)+config, 0o644)
			put(t, git, "evil.config", "[core]\n fsmonitor = "+evil+"\n", 0o644)
			put(t, git, "info/attributes", "* filter=evil diff=evil merge=evil\n", 0o644)
			for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"} {
				put(t, git, "hooks/"+hook, "#!/bin/sh\ntouch "+mark+"\n", 0o755)
				put(t, p.Dir, "hooks-of-evil/"+hook, "#!/bin/sh\ntouch "+mark+"\n", 0o755)
			}
			updated, err := b.Update(t.Context(), p)
			if err != nil || updated.Version != "2.1.0" {
				t.Errorf("got %+v, %v, want version 2.1.0", updated, err)
			}
			if exists(mark) {
				t.Error("git ran what the clone's configuration says")
			}
		})
	}
}

func TestUpdateRejectsExtOrigin(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, origin := range map[string]string{
		"a command": "ext::touch %s", "an option": "--upload-pack=touch %s", "an option for ssh": "-oProxyCommand=touch %s", "a descriptor": "fd::1",
		"a helper": "evil://%s", "a host that is an option": "ssh://-oProxyCommand=touch%%20%s/x", "a directory": "/",
	} {
		t.Run(name, func(t *testing.T) {
			b, p, inClone := cloned(t)
			mark := filepath.Join(t.TempDir(), "ran")
			if strings.Contains(origin, "%s") {
				origin = fmt.Sprintf(origin, mark)
			}
			inClone("config", "protocol.ext.allow", "always")
			inClone("config", "remote.origin.url", origin)
			var fixed *FixedError
			if _, err := b.Update(t.Context(), p); !errors.As(err, &fixed) {
				t.Errorf("got %v", err)
			}
			if exists(mark) {
				t.Error("the origin was run")
			}
			if still, err := Load(p.Dir); err != nil || still.Version != "2.0.0" {
				t.Errorf("got %+v, %v", still, err)
			}
		})
	}
}

func TestUpdateKeepsUntrackedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	b, p, inClone := cloned(t)
	inClone("pack-refs", "--all")
	put(t, p.Dir, "bin/tool", "#!/bin/sh\n", 0o755)
	put(t, p.Dir, "cache/a b\n/deep/x", "x", 0o600)
	if err := os.Symlink("tool", filepath.Join(p.Dir, "bin", "link")); err != nil {
		t.Fatal(err)
	}
	put(t, p.Dir, "nested/.git/HEAD", "ref: refs/heads/main\n", 0o644)
	put(t, p.Dir, "nested/file", "y", 0o644)
	updated, err := b.Update(t.Context(), p)
	if err != nil || updated.Version != "2.1.0" || updated.Dir != p.Dir {
		t.Fatalf("got %+v, %v", updated, err)
	}
	for name, want := range map[string]string{"bin/tool": "-rwxr-xr-x", "cache/a b\n/deep/x": "-rw-------", "nested/file": "-rw-r--r--"} {
		t.Run(name, func(t *testing.T) {
			if info, err := os.Lstat(filepath.Join(p.Dir, name)); err != nil || info.Mode().String() != want {
				t.Errorf("%q: got %v, %v, want %s", name, info, err, want)
			}
		})
	}
	if to, err := os.Readlink(filepath.Join(p.Dir, "bin", "link")); err != nil || to != "tool" {
		t.Errorf("got a link to %q, %v", to, err)
	}
	if again, err := b.Update(t.Context(), updated); err != nil || again.Version != "2.1.0" {
		t.Errorf("a second time: got %+v, %v", again, err)
	}
}

func TestUpdateFromGitErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, p *Plugin, inClone func(...string))
		want    string
	}{
		"a file that was changed": {func(t *testing.T, p *Plugin, _ func(...string)) {
			put(t, p.Dir, ManifestFile, "name: a\n", 0o644)
		}, "local changes"},
		"a file that was removed": {func(t *testing.T, p *Plugin, _ func(...string)) {
			if err := os.Remove(filepath.Join(p.Dir, ManifestFile)); err != nil {
				t.Fatal(err)
			}
			put(t, p.Dir, "x", "", 0o644)
		}, "local changes"},
		"a commit of its own": {func(t *testing.T, p *Plugin, inClone func(...string)) {
			put(t, p.Dir, "mine", "", 0o644)
			inClone("add", "-A")
			inClone("commit", "--quiet", "-m", "mine")
		}, "is not part of the branch"},
		"a link in the place of .git": {func(t *testing.T, p *Plugin, _ func(...string)) {
			elsewhere := filepath.Join(t.TempDir(), "git")
			if err := os.Rename(filepath.Join(p.Dir, ".git"), elsewhere); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(p.Dir, ".git")); err != nil {
				t.Fatal(err)
			}
		}, "cannot update it; use git pull"},
		"a branch that leads out": {func(t *testing.T, p *Plugin, _ func(...string)) {
			put(t, p.Dir, ".git/HEAD", "ref: refs/heads/../../../x\n", 0o644)
		}, "is not a branch"},
		"a branch without a commit": {func(t *testing.T, p *Plugin, _ func(...string)) {
			put(t, p.Dir, ".git/HEAD", "ref: refs/heads/none\n", 0o644)
		}, "does not refer to a commit"},
	} {
		t.Run(name, func(t *testing.T) {
			b, p, inClone := cloned(t)
			test.prepare(t, p, inClone)
			before := b.files(t)
			if got, err := b.Update(t.Context(), p); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v, want %q", got, err, test.want)
			}
			b.wantFiles(t, before...)
		})
	}
}

// A failure to run git is not mistaken for a clone without an origin.
func TestUpdateFromGitCancelled(t *testing.T) {
	b, p, _ := cloned(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Update(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// A linked checkout is updated by the user.
func TestUpdateLinkedCheckout(t *testing.T) {
	_, p, _ := cloned(t)
	b := newBench(t)
	linked, err := b.install(t, p.Dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	var fixed *FixedError
	if _, err := b.Update(t.Context(), linked); !errors.As(err, &fixed) {
		t.Errorf("got %v", err)
	}
}
