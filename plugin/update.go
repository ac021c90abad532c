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

// A FixedError is returned for a plugin that cannot be updated where it is.
type FixedError struct{ Plugin, Problem string }

func (e *FixedError) Error() string {
	return fmt.Sprintf("plugin %q cannot be updated: %s", e.Plugin, e.Problem)
}

// A DirtyError is returned for a plugin from git whose files were changed by hand.
type DirtyError struct{ Plugin, Dir string }

func (e *DirtyError) Error() string {
	return fmt.Sprintf("plugin %q has been changed by hand in %s: undo that, or install it again", e.Plugin, e.Dir)
}

// Update brings a plugin's newest version from where it came: for git the newest
// of its branch, or of the range of versions that was asked for; for registries
// and URLs what is there now. Then the update hook runs. If anything fails, the
// old version is in its place. The plugin as it is now is returned.
func (in Installer) Update(ctx context.Context, p *Plugin) (*Plugin, error) {
	r, known, err := recall(p)
	switch {
	case err != nil:
		return nil, err
	case known && !r.Git && digestOf(archiveOf(p)) == r.Digest:
		return in.updateArchive(ctx, p, r)
	case known && r.Git, exists(filepath.Join(p.Dir, ".git")) && !exists(archiveOf(p)):
		// The .git of an archive is untrusted, and git would run what it says.
		return in.updateGit(ctx, p)
	}
	if to, err := os.Readlink(p.Dir); err == nil {
		return nil, &FixedError{p.Name, fmt.Sprintf("it is a link to %s, which is always as new as that directory", to)}
	}
	return nil, &FixedError{p.Name, "it is not recorded where it came from; uninstall it and install it again"}
}

// digestOf is a file's SHA-256 in hex, "" where it cannot be read.
func digestOf(path string) string {
	sum := sha256.New()
	if err := copyFile(sum, path); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// updateGit puts a new clone into the place of the one that is there, with the files
// that git does not know.
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
	s, err := old.renew(ctx, p, temp, fresh)
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
	if err := carry(p, untracked, fresh); err != nil {
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
		return nil, fmt.Errorf("plugin %q: what is at %s now is the plugin %q", p.Name, source, s.plugin.Name)
	}
	if s.record.Digest == r.Digest {
		return p, in.Hook(ctx, HookUpdate, p)
	}
	return in.swap(ctx, p, s, temp)
}

// swap puts a staged plugin into the place of the one that is there, and back
// again if its hook fails.
func (in Installer) swap(ctx context.Context, p *Plugin, s *staged, temp string) (*Plugin, error) {
	old := map[string]string{} // from its place to where it waits
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
