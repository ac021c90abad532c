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

// Installer puts plugins into a directory. What it does not get by itself, its
// functions bring; one that is nil cannot be asked.
type Installer struct {
	// Dir is the directory of plugins; it is created where it is missing.
	Dir string
	// Download writes what is at an http or https URL to w, at most limit bytes.
	Download func(ctx context.Context, url string, limit int64, w io.Writer) error
	// Pull writes the archive of the plugin at oci://host/path[:tag] to w.
	Pull func(ctx context.Context, ref, version string, w io.Writer) (Pulled, error)
	// Verify tells who signed an archive; without a valid signature it is an
	// error.
	Verify func(name string, archive io.Reader, provenance []byte) (signer string, err error)
	// Hook runs a plugin's hook.
	Hook func(ctx context.Context, name string, p *Plugin) error
	// Verified, if any, is told who signed an archive, before it is unpacked.
	Verified func(signer string)
}

// Pulled is what a registry says of a plugin.
type Pulled struct {
	Name       string // of the archive, name-version.tgz
	Provenance []byte // nil where there is none
	Version    string // that its tag means, "" where it means none
}

// InstallRequest is what to install.
type InstallRequest struct {
	Source Source
	// Version is a version or a range, for git and registries; for git also a
	// tag, a branch or a commit. "" is the newest, or git's default branch.
	Version string
	// Verify refuses archives without a valid signature, and what is not an archive.
	// A local directory needs none.
	Verify bool
}

// An ExistsError is returned when a plugin of that name is installed, or Dir exists. It
// is an [fs.ErrExist].
type ExistsError struct{ Name, Dir string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("plugin already exists: %q is in %s", e.Name, e.Dir)
}
func (e *ExistsError) Unwrap() error { return fs.ErrExist }

// An UnsignedError is returned when a signature is wanted and the plugin has no
// provenance file (CVE-2026-35205), or comes from git, where there is none.
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

// A StaleError is returned when a registry has another version of a plugin, even a signed
// one, under the tag of Want.
type StaleError struct{ Source, Want, Version string }

func (e *StaleError) Error() string {
	return fmt.Sprintf("plugin verification failed: %s has version %s under the tag of %s", e.Source, e.Version, e.Want)
}

// Install installs a plugin and runs its install hook. If anything fails, the
// hook included, nothing stays behind.
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
	if err := in.free(s); err != nil {
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

// staging begins the names of directories in which installations are under way.
const staging = ".install-"

// sweep removes what installations have left that were killed. No one's takes a
// day.
func (in Installer) sweep() {
	left, _ := filepath.Glob(filepath.Join(in.Dir, staging+"*")) // the pattern is sound
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = removeAll(dir) // or the next one does
		}
	}
}

// staged is a plugin that is complete and not yet in its place.
type staged struct {
	dir       string // "" for a link
	link      string // what to link to
	directory string // the name that it gets
	plugin    *Plugin
	record    record
	// archive and prov are kept beside the plugin, as Helm does.
	archive string
	prov    []byte
	// version is the one that a registry says it is.
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

// stageArchive brings an archive, verifies it and unpacks it.
func (in Installer) stageArchive(ctx context.Context, req InstallRequest, temp string) (*staged, error) {
	s := &staged{archive: filepath.Join(temp, "archive")}
	name, err := in.bring(ctx, req, s)
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
		var bad *LoadError
		if errors.As(err, &bad) { // the directory is gone in a moment
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

// bring writes the archive to s.archive, with its provenance, if any. It returns
// the archive's name.
func (in Installer) bring(ctx context.Context, req InstallRequest, s *staged) (string, error) {
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
		return &SourceError{req.Source.String(), "there is nothing here to download with"}
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

// withSuffix lengthens a URL's path.
func withSuffix(location, suffix string) string {
	if at := strings.IndexAny(location, "?#"); at >= 0 {
		return location[:at] + suffix + location[at:]
	}
	return location + suffix
}

func (in Installer) pull(ctx context.Context, req InstallRequest, out io.Writer, s *staged, name *string) error {
	if in.Pull == nil {
		return &SourceError{req.Source.String(), "this helm cannot pull plugins from registries"}
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

// readProvenance reads a provenance file, nil where it is not there or of no use.
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

// free reports whether nothing is where the plugin goes, by name and by directory.
func (in Installer) free(s *staged) error {
	// A name that was fine for git or the user's directory may not be one for ours,
	// and what begins with a dot is not a plugin's there, but a record's or hidden.
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
		return os.Remove(target) // a link to a directory that is gone: no plugin, and in no one's list
	}
	return &ExistsError{s.plugin.Name, target}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// place moves a staged plugin to where it belongs.
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

// keep puts the archive and its provenance beside the plugin, where Helm keeps
// them, and writes down where the plugin came from.
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

// archiveOf is where the archive of a plugin is kept. Name and version cannot
// lead out of the directory: [Parse] has seen to it.
func archiveOf(p *Plugin) string {
	name := p.Name
	if p.Version != "" {
		name += "-" + p.Version
	}
	return filepath.Join(filepath.Dir(p.Dir), name+".tgz")
}

// remove takes a plugin away, with what is kept beside it.
func remove(p *Plugin) error {
	errs := []error{removeAll(p.Dir)}
	for _, path := range kept(p) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = os.Remove(filepath.Dir(recordOf(p))) // where it was the last one
	return errors.Join(errs...)
}

// kept are the files beside a plugin that belong to it.
func kept(p *Plugin) []string {
	archive := archiveOf(p)
	return []string{archive, archive + ".prov", recordOf(p)}
}

// removeAll removes a directory, or a link to one. Git keeps files that cannot be
// written to, which Windows does not remove.
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

// Uninstall runs a plugin's delete hook and removes the plugin, even where the
// hook fails; then the error says so.
func (in Installer) Uninstall(ctx context.Context, p *Plugin) error {
	return errors.Join(in.Hook(ctx, HookDelete, p), remove(p))
}
