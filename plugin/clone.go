// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// clone describes the git repository of an installed plugin. git never reads its
// configuration, which can name commands (core.fsmonitor, core.sshCommand, filters, hooks) and
// may have been written by the plugin's own programs. See docs/adr/0009-plugin-updates.md.
type clone struct {
	dir       string // .git
	url       string // the origin's URL
	requested string // the version or range given at installation, or ""
	branch    string // the current branch, or "" if HEAD is detached
	commit    string
}

// The largest sizes of files in a clone, in bytes.
const (
	maxFile       = 1 << 20 // config, HEAD and each reference
	maxPackedRefs = 64 << 20
)

// openClone reads the clone of p. temp is a working directory for git.
func openClone(ctx context.Context, p *Plugin, temp string) (*clone, error) {
	c := &clone{dir: filepath.Join(p.Dir, ".git")}
	for _, path := range []string{p.Dir, c.dir} {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, &FixedError{
				p.Name, path + " is a link or a file, so that helm cannot update it; use git pull",
			}
		}
	}
	config, err := file.ReadIn(c.dir, "config", maxFile)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", p.Name, err)
	}
	g := git{dir: temp, in: string(config)}
	get := func(key string) (string, error) {
		return g.run(ctx, "config", "config", "--no-includes", "--file", "-", "--get", key)
	}
	if c.url, err = get("remote.origin.url"); isUnset(err) {
		return nil, &FixedError{p.Name, c.dir + " has no remote origin"}
	} else if err != nil {
		return nil, err
	}
	// helm records the version that was requested; other installers do not.
	if c.requested, err = get(wantKey); err != nil && !isUnset(err) {
		return nil, err
	}
	if err := c.readHead(); err != nil {
		return nil, &FixedError{p.Name, err.Error()}
	}
	return c, nil
}

// isUnset reports whether err is that of git config --get for a key that is not set.
func isUnset(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 1
}

// readHead reads the current branch and commit.
func (c *clone) readHead() error {
	head, err := file.ReadIn(c.dir, "HEAD", maxFile)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(head))
	if ref, ok := strings.CutPrefix(text, "ref: "); ok {
		if c.branch, ok = strings.CutPrefix(ref, "refs/heads/"); !ok || !filepath.IsLocal(ref) {
			return fmt.Errorf("%s/HEAD is not a branch", c.dir)
		}
		text = c.resolve(ref)
	}
	if len(text) != 40 && len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return fmt.Errorf("%s/HEAD does not refer to a commit", c.dir)
	}
	c.commit = text
	return nil
}

// resolve returns the commit of a reference, or "".
func (c *clone) resolve(ref string) string {
	if text, err := file.ReadIn(c.dir, filepath.FromSlash(ref), maxFile); err == nil {
		return strings.TrimSpace(string(text))
	}
	packed, err := file.ReadIn(c.dir, "packed-refs", maxPackedRefs)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if commit, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return commit
		}
	}
	return ""
}

// reclone clones the origin of c to dir and checks out the new version: the newest commit of
// its branch, or the newest tag in the requested range. It returns nil if there is nothing to
// update to: HEAD is detached and no version was recorded.
func (c *clone) reclone(ctx context.Context, p *Plugin, temp, dir string) (*staged, error) {
	if c.branch == "" && c.requested == "" {
		return nil, nil
	}
	source, err := ParseSource(c.url)
	if err != nil || source.Kind != Git {
		return nil, &FixedError{p.Name, "plugins cannot be installed from its origin; uninstall it and install it " +
			"from another source"}
	}
	_, err = git{dir: temp}.run(ctx, "clone "+source.String(), "clone", "--quiet", "--", source.Location, dir)
	if err != nil {
		return nil, err
	}
	g, version := git{dir: dir}, c.requested
	if c.branch != "" {
		version = c.branch
	}
	if err := g.checkout(ctx, version); err != nil {
		return nil, fmt.Errorf("update plugin %q: %w", p.Name, err)
	}
	if c.requested != "" {
		if _, err := g.run(ctx, "config", "config", wantKey, c.requested); err != nil {
			return nil, err
		}
	}
	return &staged{dir: dir, record: record{Source: source.plain(), Git: true}}, nil
}

// compare returns the untracked files in the plugin's directory, and an error if tracked files
// were changed. It uses the configuration of the new clone in fresh, with the old clone's
// objects as alternates. differs reports whether fresh is at another commit.
func (c *clone) compare(ctx context.Context, p *Plugin, temp, fresh string) (untracked []string, differs bool,
	err error) {
	g := git{dir: fresh}
	after, err := g.run(ctx, "rev-parse", "rev-parse", "HEAD")
	if err != nil {
		return nil, false, err
	}
	alternates := filepath.Join(fresh, ".git", "objects", "info", "alternates")
	if err := os.WriteFile(alternates, []byte(filepath.ToSlash(filepath.Join(c.dir, "objects"))+"\n"), 0o600); err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, os.Remove(alternates)) }()
	worktree := git{dir: p.Dir, env: []string{
		"GIT_DIR=" + filepath.Join(fresh, ".git"), "GIT_WORK_TREE=" + p.Dir, "GIT_INDEX_FILE=" + filepath.Join(temp, "index"),
	}}
	if _, err := worktree.run(ctx, "read-tree", "read-tree", c.commit); err != nil {
		return nil, false, err
	}
	_, _ = worktree.run(ctx, "update-index", "update-index", "-q", "--refresh") // fails if a file was changed
	changed, err := worktree.run(ctx, "diff-files", "diff-files", "--name-only", "--ignore-submodules=all")
	if err != nil {
		return nil, false, err
	}
	if changed != "" {
		return nil, false, &DirtyError{p.Name, p.Dir}
	}
	list, err := worktree.run(ctx, "ls-files", "ls-files", "--others", "-z")
	if err != nil {
		return nil, false, err
	}
	if c.branch != "" {
		if _, err := g.run(ctx, "merge-base", "merge-base", "--is-ancestor", c.commit, after); err != nil {
			return nil, false, &FixedError{
				p.Name, fmt.Sprintf("the installed commit is not part of the branch %q any more; uninstall it and install it again",
					c.branch),
			}
		}
	}
	return strings.FieldsFunc(list, func(r rune) bool { return r == 0 }), after != c.commit, nil
}

// copyUntracked copies untracked files, such as programs that install hooks have built, to a
// new clone in the directory to. As in git, it is an error if the new version has a file with
// the same name.
func copyUntracked(p *Plugin, untracked []string, to string) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range untracked {
		name = filepath.Clean(filepath.FromSlash(name)) // a trailing slash means a nested repository
		err := filepath.WalkDir(filepath.Join(p.Dir, name), func(from string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(p.Dir, from)
			if err != nil {
				return err
			}
			return copyEntry(root, from, name, d)
		})
		if errors.Is(err, fs.ErrExist) {
			return &FixedError{p.Name, fmt.Sprintf(
				"the new version contains %s, which is an untracked file in %s: remove the untracked file", name, p.Dir)}
		}
		if err != nil {
			return fmt.Errorf("update plugin %q: keep %s: %w", p.Name, name, err)
		}
	}
	return nil
}

// copyEntry copies a directory, link or regular file to name in root. Others are skipped.
func copyEntry(root *os.Root, from, name string, d fs.DirEntry) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return root.MkdirAll(name, mode.Perm())
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return root.Symlink(target, name)
	case mode.IsRegular():
		return copyRegular(root, from, name, mode.Perm())
	}
	return nil // a FIFO or a socket
}

func copyRegular(root *os.Root, from, name string, perm fs.FileMode) error {
	in, err := file.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	// Writable until it is written: perm may be read-only.
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(perm), out.Close())
}
