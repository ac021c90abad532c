// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
)

// Installer installs plugins in a directory. Dir and Hook are required. A source that needs
// Download or Pull while it is nil is a [*SourceError]. An Installer has no state of its own, but
// two must not change one plugin at the same time.
type Installer struct {
	// Dir is the plugins' directory. It is created if it does not exist.
	Dir string
	// Download writes the content of an http or https URL to w, at most limit bytes.
	Download func(ctx context.Context, url string, limit int64, w io.Writer) error
	// Pull writes the archive of the plugin oci://host/path[:tag] to w.
	Pull func(ctx context.Context, ref, version string, w io.Writer) (Pulled, error)
	// Verify returns the signer of an archive, or an error if there is no valid
	// signature. It is required for requests with Verify set.
	Verify func(name string, archive io.Reader, provenance []byte) (signer string, err error)
	// Hook runs a plugin's hook, as the function [Hook] does.
	Hook func(ctx context.Context, name string, p *Plugin) error
	// Verified, if not nil, is called with the signer before an archive is unpacked.
	Verified func(signer string)
}

// Pulled describes a plugin that was pulled from a registry.
type Pulled struct {
	Name       string // of the archive, name-version.tgz
	Provenance []byte // nil if there is none
	Version    string // of the tag, or "" if the tag is not a version
}

// InstallRequest describes a plugin to install.
type InstallRequest struct {
	Source Source
	// Version is a version or a range, for git and registries; for git also a tag, a branch
	// or a commit. "" is the newest version, or git's default branch.
	Version string
	// Verify requires archives with a valid signature. It does not apply to a local
	// directory.
	Verify bool
}

// An ExistsError is returned if a plugin with the same name is installed, or Dir exists. It is
// an [fs.ErrExist].
type ExistsError struct{ Name, Dir string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("plugin already exists: %q is in %s", e.Name, e.Dir)
}
func (e *ExistsError) Unwrap() error { return fs.ErrExist }

// An UnsignedError is returned if a signature is required and the plugin has no provenance file
// (CVE-2026-35205), or is from git, which has none.
type UnsignedError struct {
	Source string
	Git    bool
}

func (e *UnsignedError) Error() string {
	if e.Git {
		return fmt.Sprintf("plugin from %s: git repositories have no provenance that could be verified", e.Source)
	}
	return fmt.Sprintf("plugin from %s: there is no provenance file (.prov) to verify it with", e.Source)
}

// A StaleError is returned if a registry has another version of a plugin, even a signed one,
// under the tag of Want.
type StaleError struct{ Source, Want, Version string }

func (e *StaleError) Error() string {
	return fmt.Sprintf("plugin verification failed: %s has version %s under the tag of %s", e.Source, e.Version, e.Want)
}

// Install installs a plugin and runs its install hook. If anything fails, including the hook, no
// files are left.
//
// Errors: [*SourceError], [*ExistsError], [*GitError], [ErrNotArchive], [*EntryError],
// [*SizeError], [*LoadError], [*UnsignedError] and [*StaleError] if a signature is required, and
// those of the Installer's functions.
func (in Installer) Install(ctx context.Context, req InstallRequest) (*Plugin, error) {
	if err := os.MkdirAll(in.Dir, 0o755); err != nil {
		return nil, err
	}
	in.sweep()
	temp, err := os.MkdirTemp(in.Dir, staging)
	if err != nil {
		return nil, err
	}
	defer removeAll(temp)
	s, err := in.stage(ctx, req, temp)
	if err != nil {
		return nil, err
	}
	if err := in.checkFree(s); err != nil {
		return nil, err
	}
	p, err := in.place(s)
	if err != nil {
		return nil, err
	}
	if err := in.Hook(ctx, HookInstall, p); err != nil {
		return nil, errors.Join(err, remove(p))
	}
	return p, nil
}

// staging is the prefix of the temporary directories of installations.
const staging = ".install-"

// sweep removes the directories of killed installations, which are older than a day.
func (in Installer) sweep() {
	left, _ := filepath.Glob(filepath.Join(in.Dir, staging+"*")) // the pattern is valid
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = removeAll(dir) // the next installation tries again
		}
	}
}

// staged is a plugin in a temporary directory.
type staged struct {
	dir       string // "" for a link
	link      string // the target of the link
	directory string // the final name
	plugin    *Plugin
	record    record
	// archive and prov are stored next to the plugin, as Helm does.
	archive string
	prov    []byte
	// version is the registry's version.
	version string
}

func (in Installer) stage(ctx context.Context, req InstallRequest, temp string) (*staged, error) {
	switch req.Source.Kind {
	case Directory:
		p, err := Load(req.Source.Location)
		if err != nil {
			return nil, err
		}
		return &staged{link: req.Source.Location, directory: req.Source.base(), plugin: p}, nil
	case Git:
		if req.Verify {
			return nil, &UnsignedError{Source: req.Source.String(), Git: true}
		}
		return stageGit(ctx, req, temp)
	}
	return in.stageArchive(ctx, req, temp)
}

// stageArchive fetches, verifies and unpacks an archive.
func (in Installer) stageArchive(ctx context.Context, req InstallRequest, temp string) (*staged, error) {
	s := &staged{archive: filepath.Join(temp, "archive")}
	name, err := in.fetch(ctx, req, s)
	if err != nil {
		return nil, err
	}
	if req.Verify {
		if err := in.verify(name, req.Source, s); err != nil {
			return nil, err
		}
	}
	f, err := file.Open(s.archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	inside := filepath.Join(temp, "unpacked")
	if err := os.Mkdir(inside, 0o755); err != nil {
		return nil, err
	}
	if s.dir, err = unpack(io.TeeReader(f, sum), inside); err != nil {
		return nil, fmt.Errorf("install a plugin from %s: %w", req.Source, err)
	}
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	if s.plugin, err = Load(s.dir); err != nil {
		if bad, ok := errors.AsType[*LoadError](err); ok { // the directory is temporary
			bad.Path = filepath.Join(name, ManifestFile)
		}
		return nil, err
	}
	if req.Verify && s.version != "" && strings.TrimPrefix(s.plugin.Version, "v") != strings.TrimPrefix(s.version, "v") {
		return nil, &StaleError{Source: req.Source.String(), Want: s.version, Version: s.plugin.Version}
	}
	s.directory = s.plugin.Name
	if req.Source.Kind != Archive {
		s.record = record{Source: req.Source.plain(), Version: req.Version, Verify: req.Verify,
			Digest: hex.EncodeToString(sum.Sum(nil))}
	}
	return s, nil
}

// fetch writes the archive to s.archive and its provenance file to s.prov. It returns the
// archive's name.
func (in Installer) fetch(ctx context.Context, req InstallRequest, s *staged) (string, error) {
	f, err := os.Create(s.archive)
	if err != nil {
		return "", err
	}
	name := req.Source.base()
	out := &file.LimitWriter{W: f, Left: MaxArchive}
	switch req.Source.Kind {
	case Archive:
		err = copyFile(out, req.Source.Location)
		s.prov = readProvenance(req.Source.Location + ".prov")
	case Download:
		err = in.download(ctx, req, out, s)
	case Registry:
		err = in.pull(ctx, req, out, s, &name)
	}
	if out.Exceeded {
		err = &SizeError{fmt.Sprintf("has more than %d MiB", MaxArchive>>20)}
	}
	return name, errors.Join(err, f.Close())
}

func (in Installer) download(ctx context.Context, req InstallRequest, out io.Writer, s *staged) error {
	if in.Download == nil {
		return &SourceError{req.Source.String(), "downloads are not supported"}
	}
	if err := in.Download(ctx, req.Source.Location, MaxArchive, out); err != nil {
		return err
	}
	if !req.Verify {
		return nil
	}
	var prov strings.Builder
	if err := in.Download(ctx, withSuffix(req.Source.Location, ".prov"), maxManifest, &prov); err != nil {
		return fmt.Errorf("%w (%w)", &UnsignedError{Source: req.Source.String()}, err)
	}
	s.prov = []byte(prov.String())
	return nil
}

// withSuffix appends to a URL's path.
func withSuffix(location, suffix string) string {
	if i := strings.IndexAny(location, "?#"); i >= 0 {
		return location[:i] + suffix + location[i:]
	}
	return location + suffix
}

func (in Installer) pull(ctx context.Context, req InstallRequest, out io.Writer, s *staged, name *string) error {
	if in.Pull == nil {
		return &SourceError{req.Source.String(), "registries are not supported"}
	}
	pulled, err := in.Pull(ctx, req.Source.Location, req.Version, out)
	if err != nil {
		return err
	}
	s.prov, s.version = pulled.Provenance, pulled.Version
	if pulled.Name != "" {
		*name = filepath.Base(pulled.Name)
	}
	return nil
}

func copyFile(w io.Writer, path string) error {
	f, err := file.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// readProvenance reads a provenance file. It returns nil if it cannot be read.
func readProvenance(path string) []byte {
	data, err := file.Read(path, maxManifest)
	if err != nil {
		return nil
	}
	return data
}

func (in Installer) verify(name string, source Source, s *staged) error {
	if len(s.prov) == 0 {
		return &UnsignedError{Source: source.String()}
	}
	f, err := file.Open(s.archive)
	if err != nil {
		return err
	}
	defer f.Close()
	signer, err := in.Verify(name, f, s.prov)
	if err != nil {
		return fmt.Errorf("plugin verification failed: %w", err)
	}
	if in.Verified != nil {
		in.Verified(signer)
	}
	return nil
}

// checkFree returns an error if the plugin's name or directory is used.
func (in Installer) checkFree(s *staged) error {
	// The name of a repository or of the user's directory may be invalid here. Names that
	// start with a dot are reserved.
	if strings.HasPrefix(s.directory, ".") || !ValidName(strings.ReplaceAll(s.directory, ".", "")) {
		s.directory = s.plugin.Name
	}
	installed, _ := Find(in.Dir)
	for _, p := range installed {
		if p.Name == s.plugin.Name {
			return &ExistsError{p.Name, p.Dir}
		}
	}
	target := filepath.Join(in.Dir, s.directory)
	if !exists(target) {
		return nil
	}
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Remove(target) // a broken link is not a plugin
	}
	return &ExistsError{s.plugin.Name, target}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// place moves a staged plugin to its directory.
func (in Installer) place(s *staged) (*Plugin, error) {
	target := filepath.Join(in.Dir, s.directory)
	var err error
	if s.link != "" {
		err = os.Symlink(s.link, target)
	} else {
		err = os.Rename(s.dir, target)
	}
	if err != nil {
		return nil, err
	}
	p, err := Load(target)
	if err != nil {
		return nil, errors.Join(err, removeAll(target))
	}
	if err := keep(p, s); err != nil {
		return nil, errors.Join(err, remove(p))
	}
	return p, nil
}

// keep stores the archive and its provenance file next to the plugin, as Helm does, and records
// the plugin's source.
func keep(p *Plugin, s *staged) error {
	if err := s.record.write(p); err != nil || s.archive == "" {
		return err
	}
	path := archiveOf(p)
	if err := os.Rename(s.archive, path); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o644); err != nil {
		return err
	}
	if len(s.prov) == 0 {
		return nil
	}
	return os.WriteFile(path+".prov", s.prov, 0o644)
}

// archiveOf returns the path of a plugin's archive. [Parse] has checked that name and version
// are valid in file names.
func archiveOf(p *Plugin) string {
	name := p.Name
	if p.Version != "" {
		name += "-" + p.Version
	}
	return filepath.Join(filepath.Dir(p.Dir), name+".tgz")
}

// remove removes a plugin and its files.
func remove(p *Plugin) error {
	errs := []error{removeAll(p.Dir)}
	for _, path := range kept(p) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = os.Remove(filepath.Dir(recordOf(p))) // fails unless it is empty
	return errors.Join(errs...)
}

// kept returns the files of a plugin next to its directory.
func kept(p *Plugin) []string {
	archive := archiveOf(p)
	return []string{archive, archive + ".prov", recordOf(p)}
}

// removeAll removes a directory or a link to one. Git has read-only files, which Windows does
// not remove.
func removeAll(dir string) error {
	if runtime.GOOS == "windows" {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				_ = os.Chmod(path, 0o666)
			}
			return nil
		})
	}
	return os.RemoveAll(dir)
}

// Uninstall runs a plugin's delete hook and removes the plugin. If the hook fails, the plugin is
// removed and an error is returned.
func (in Installer) Uninstall(ctx context.Context, p *Plugin) error {
	return errors.Join(in.Hook(ctx, HookDelete, p), remove(p))
}
