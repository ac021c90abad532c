// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A FixedError is returned for a plugin that cannot be updated.
type FixedError struct{ Plugin, Problem string }

func (e *FixedError) Error() string {
	return fmt.Sprintf("plugin %q cannot be updated: %s", e.Plugin, e.Problem)
}

// A DirtyError is returned for a plugin from git whose files were changed.
type DirtyError struct{ Plugin, Dir string }

func (e *DirtyError) Error() string {
	return fmt.Sprintf("plugin %q has local changes in %s: undo them, or install it again", e.Plugin, e.Dir)
}

// Update updates a plugin from its source and runs its update hook: for git to the newest
// commit of its branch or the newest version in the requested range, for registries and URLs to
// their current content. If anything fails, the old version is restored. Update returns the
// updated plugin. Errors are those of Install, a [*FixedError] for a plugin that cannot be
// updated, and a [*DirtyError] for one whose files were changed.
func (in Installer) Update(ctx context.Context, p *Plugin) (*Plugin, error) {
	r, known, err := readRecord(p)
	switch {
	case err != nil:
		return nil, err
	case known && !r.Git && digestOf(archiveOf(p)) == r.Digest:
		return in.updateArchive(ctx, p, r)
	case known && r.Git, exists(filepath.Join(p.Dir, ".git")) && !exists(archiveOf(p)):
		// The .git in an archive is untrusted, and git would run commands in its configuration.
		return in.updateGit(ctx, p)
	}
	if to, err := os.Readlink(p.Dir); err == nil {
		return nil, &FixedError{p.Name, fmt.Sprintf("it is a link to %s; update that directory", to)}
	}
	return nil, &FixedError{p.Name, "its source is unknown; uninstall it and install it again"}
}

// digestOf returns a file's SHA-256 in hex, or "" if it cannot be read.
func digestOf(path string) string {
	sum := sha256.New()
	if err := copyFile(sum, path); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// updateGit replaces a clone by a new one and copies the untracked files.
func (in Installer) updateGit(ctx context.Context, p *Plugin) (*Plugin, error) {
	temp, err := os.MkdirTemp(filepath.Dir(p.Dir), staging)
	if err != nil {
		return nil, err
	}
	defer removeAll(temp)
	old, err := openClone(ctx, p, temp)
	if err != nil {
		return nil, err
	}
	fresh := filepath.Join(temp, "clone")
	s, err := old.reclone(ctx, p, temp, fresh)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p, in.Hook(ctx, HookUpdate, p)
	}
	untracked, newer, err := old.compare(ctx, p, temp, fresh)
	if err != nil {
		return nil, err
	}
	if !newer {
		return p, in.Hook(ctx, HookUpdate, p)
	}
	if s.plugin, err = Load(fresh); err != nil {
		return nil, fmt.Errorf("update plugin %q: %w", p.Name, err)
	}
	if s.plugin.Name != p.Name {
		return nil, fmt.Errorf("plugin %q is called %q in its new version", p.Name, s.plugin.Name)
	}
	if err := copyUntracked(p, untracked, fresh); err != nil {
		return nil, err
	}
	return in.swap(ctx, p, s, temp)
}

func (in Installer) updateArchive(ctx context.Context, p *Plugin, r record) (*Plugin, error) {
	source, err := ParseSource(r.Source)
	if err != nil {
		return nil, err
	}
	if source.Kind != Download && source.Kind != Registry {
		return nil, &FixedError{p.Name, fmt.Sprintf("it came from %s", source)}
	}
	home := filepath.Dir(p.Dir)
	temp, err := os.MkdirTemp(home, staging)
	if err != nil {
		return nil, err
	}
	defer removeAll(temp)
	s, err := in.stageArchive(ctx, InstallRequest{Source: source, Version: r.Version, Verify: r.Verify}, temp)
	if err != nil {
		return nil, err
	}
	if s.plugin.Name != p.Name {
		return nil, fmt.Errorf("plugin %q: %s has another plugin now, %q", p.Name, source, s.plugin.Name)
	}
	if s.record.Digest == r.Digest {
		return p, in.Hook(ctx, HookUpdate, p)
	}
	return in.swap(ctx, p, s, temp)
}

// swap replaces a plugin by a staged one, and restores it if the hook fails.
func (in Installer) swap(ctx context.Context, p *Plugin, s *staged, temp string) (*Plugin, error) {
	old := map[string]string{} // the temporary paths of the old files
	for _, path := range append(kept(p), p.Dir) {
		if exists(path) {
			old[path] = filepath.Join(temp, "old-"+strings.TrimPrefix(filepath.Base(path), "."))
			if err := os.Rename(path, old[path]); err != nil {
				return nil, errors.Join(err, back(old))
			}
		}
	}
	s.directory = filepath.Base(p.Dir)
	updated, err := Installer{Dir: filepath.Dir(p.Dir)}.place(s)
	if err != nil {
		return nil, errors.Join(err, back(old))
	}
	if err := in.Hook(ctx, HookUpdate, updated); err != nil {
		return nil, errors.Join(err, remove(updated), back(old))
	}
	return updated, nil
}

func back(old map[string]string) error {
	var errs []error
	for path, waits := range old {
		if exists(waits) {
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.Rename(waits, path))
		}
	}
	return errors.Join(errs...)
}
