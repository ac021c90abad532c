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
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// The limits of archives. Plugins may contain large programs.
const (
	// MaxArchive is the largest archive, in bytes.
	MaxArchive = 200 << 20
	// maxUnpacked is the largest total size of the files, in bytes.
	maxUnpacked = 512 << 20
	// maxEntries is the maximum number of files and directories.
	maxEntries = 50_000
)

// An EntryError is returned for an invalid entry of an archive.
type EntryError struct{ Entry, Problem string }

func (e *EntryError) Error() string {
	return fmt.Sprintf("the archive's entry %q %s", e.Entry, e.Problem)
}

// A SizeError is returned for an archive that exceeds a limit.
type SizeError struct{ Problem string }

func (e *SizeError) Error() string { return "the archive " + e.Problem }

// ErrNotArchive is returned for content that is not a gzip-compressed tar archive.
var ErrNotArchive = errors.New("it is not an archive (a gzip-compressed tar file was expected)")

// unpack extracts an archive to the existing directory dst. Names outside of dst and links are
// errors (CVE-2020-4053). The plugin's directory in the archive may have any name; unpack
// returns its path.
func unpack(r io.Reader, dst string) (string, error) {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return "", err
	}
	defer root.Close()
	zr, err := gzip.NewReader(r)
	if err != nil {
		return "", ErrNotArchive
	}
	defer zr.Close()
	bounded := &file.LimitWriter{W: io.Discard, Left: maxUnpacked + maxEntries*1024}
	tr := tar.NewReader(io.TeeReader(zr, bounded))
	left := int64(maxUnpacked)
	for n := 0; ; n++ {
		h, err := tr.Next()
		switch {
		case bounded.Exceeded:
			return "", &SizeError{fmt.Sprintf("unpacks to more than %d MiB", maxUnpacked>>20)}
		case err == io.EOF:
			return top(root, dst)
		case err != nil:
			return "", fmt.Errorf("%w: %w", ErrNotArchive, err)
		case n >= maxEntries:
			return "", &SizeError{fmt.Sprintf("has more than %d entries", maxEntries)}
		}
		if left -= max(h.Size, 0); left < 0 {
			return "", &SizeError{fmt.Sprintf("unpacks to more than %d MiB", maxUnpacked>>20)}
		}
		if err := extract(root, h, tr); err != nil && !bounded.Exceeded {
			return "", err
		}
	}
}

// extract extracts an entry.
func extract(root *os.Root, h *tar.Header, body io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if problem := entryProblem(h); problem != "" {
		return &EntryError{h.Name, problem}
	}
	name := filepath.FromSlash(path.Clean(h.Name))
	if h.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}

// entryProblem returns why an entry is invalid on some platform, or "".
func entryProblem(h *tar.Header) string {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink, tar.TypeLink:
		return "is a link"
	default:
		return "is neither a file nor a directory"
	}
	for key := range h.PAXRecords { // a sparse file could be huge
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "is a sparse file"
		}
	}
	switch {
	case strings.ContainsAny(h.Name, "\\\x00"):
		return "has a backslash or a zero byte in its name"
	case h.Name == "", strings.HasPrefix(h.Name, "/"):
		return "has an absolute path or no path"
	}
	for part := range strings.SplitSeq(h.Name, "/") {
		if part == ".." {
			return "is outside of the plugin's directory"
		}
		if strings.ContainsRune(part, ':') { // a drive letter or an alternate data stream
			return "has a colon in its name"
		}
	}
	return ""
}

// top returns the directory with the manifest: the root of the archive or a directory in it.
func top(root *os.Root, dst string) (string, error) {
	if _, err := root.Stat(ManifestFile); err == nil {
		return dst, nil
	}
	entries, err := os.ReadDir(dst)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := root.Stat(filepath.Join(e.Name(), ManifestFile)); err == nil {
			return filepath.Join(dst, e.Name()), nil
		}
	}
	return "", fmt.Errorf("the archive has no %s", ManifestFile)
}
