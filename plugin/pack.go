// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// ArchiveName returns the name of the plugin's archive.
func (m *Manifest) ArchiveName() string { return m.Name + "-" + m.Version + ".tgz" }

// Pack writes the plugin as an archive that Helm 4 can install: its files in a directory with
// its name, with the modification time at, without .git. The same files result in the same
// bytes.
func Pack(p *Plugin, modified time.Time, w io.Writer) error {
	if p.Version == "" {
		return &FieldError{"version", "is missing; an archive needs one"}
	}
	zw := gzip.NewWriter(w)
	tw := tar.NewWriter(zw)
	err := filepath.WalkDir(p.Dir+string(filepath.Separator), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(p.Dir, name)
		if err != nil {
			return err
		}
		return pack(tw, name, path.Join(p.Name, filepath.ToSlash(rel)), modified)
	})
	return errors.Join(err, tw.Close(), zw.Close())
}

func pack(tw *tar.Writer, from, name string, modified time.Time) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, ModTime: modified, Mode: 0o644, Typeflag: tar.TypeReg, Size: info.Size(),
		Format: tar.FormatPAX}
	switch {
	case info.IsDir() || info.Mode()&fs.ModeSymlink != 0 && name == path.Base(name):
		h.Name, h.Mode, h.Typeflag, h.Size = name+"/", 0o755, tar.TypeDir, 0
		return tw.WriteHeader(h)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a directory; links are not allowed in archives of plugins", from)
	case info.Mode()&0o111 != 0:
		h.Mode = 0o755
	}
	if problem := entryProblem(h); problem != "" {
		return &EntryError{name, problem}
	}
	f, err := file.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(tw, f, h.Size)
	return err
}

// Metadata returns the plugin's metadata in a provenance file, as YAML.
func (m *Manifest) Metadata() ([]byte, error) {
	generation := "v1"
	if m.Legacy {
		generation = "legacy"
	}
	return yaml.MarshalV3(struct {
		APIVersion string `yaml:"apiVersion"`
		Name       string `yaml:"name"`
		Version    string `yaml:"version"`
		Type       string `yaml:"type"`
		Runtime    string `yaml:"runtime"`
		SourceURL  string `yaml:"sourceURL,omitempty"`
	}{generation, m.Name, m.Version, m.Type, m.Runtime, m.SourceURL})
}

// Provenance returns the provenance of an installed plugin in Helm's words: "local dev" for a
// link to a directory, "signed" and "unsigned" for archives, or else "unknown".
func (p *Plugin) Provenance() string {
	if info, err := os.Lstat(p.Dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "local dev"
	}
	archive := archiveOf(p)
	switch {
	case !exists(archive):
		return "unknown"
	case !exists(archive + ".prov"):
		return "unsigned"
	}
	return "signed"
}

// Source returns the source of the plugin from its manifest, or the recorded one of its
// installation, or "unknown".
func (p *Plugin) Source() string {
	if p.SourceURL != "" {
		return p.SourceURL
	}
	if r, ok, err := readRecord(p); ok && err == nil {
		return printable(Source{Location: r.Source}.String())
	}
	return "unknown"
}
