// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Cache is a directory of archives, named by their SHA-256. It has the layout of Helm 4,
// ab/abcd....chart, and both may share a directory: a file whose content does not have the
// digest in its name is ignored. It grows without bound.
//
// A Cache is safe for concurrent use, by several processes too, and must not be copied. A nil
// Cache is empty, and Add fails.
type Cache struct {
	// Dir is created by the first Add. If it is "" or cannot be written to, a temporary
	// directory is used beside it, the fallback, which [Cache.Close] removes.
	Dir string

	sweepOnce sync.Once

	mu       sync.Mutex
	fallback string
}

const (
	cacheExt    = ".chart"
	provExt     = ".prov"
	manifestExt = ".json"  // of an OCI manifest: Helm stores archives under that digest, with .chart
	partPrefix  = ".part-" // of files that are being written
	dirMode     = 0o755
	digestLen   = 2 * sha256.Size

	partAge       = 24 * time.Hour // older ones are left from a killed process
	maxProvenance = 1 << 20        // bytes
)

// cachePath returns the slash-separated path of a file below Dir, or "" if digest is not a
// SHA-256 in lower case hex.
func cachePath(digest, ext string) string {
	if len(digest) != digestLen {
		return ""
	}
	for _, c := range digest {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return path.Join(digest[:2], digest+ext)
}

// Lookup returns the file with the archive whose SHA-256 is digest, in lower case hex. It
// verifies the file each time, which reads all of it, and removes one that is damaged.
// Symbolic links are not followed.
func (c *Cache) Lookup(digest string) (file string, ok bool) { return c.lookup(digest, cacheExt) }

func (c *Cache) lookup(digest, ext string) (file string, ok bool) {
	name := cachePath(digest, ext)
	if c == nil || name == "" {
		return "", false
	}
	for _, dir := range c.dirs() {
		if verifyOrRemove(dir, name, digest) {
			return filepath.Join(dir, filepath.FromSlash(name)), true
		}
	}
	return "", false
}

// verifyOrRemove reports whether the file at name below dir has the digest. A file with
// another digest is removed.
func verifyOrRemove(dir, name, digest string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, MaxArchive+1)); err != nil {
		return false
	}
	if hex.EncodeToString(sum.Sum(nil)) == digest {
		return true
	}
	// Remove only the file that was read: another process may have replaced it.
	current, err := root.Lstat(name)
	read, err2 := f.Stat()
	if err == nil && err2 == nil && os.SameFile(current, read) {
		_ = root.Remove(name)
	}
	return false
}

// Add stores the archive that fill writes, and returns its file and digest. If fill fails,
// Add returns its error and stores nothing.
func (c *Cache) Add(fill func(w io.Writer) error) (file, digest string, err error) {
	return c.add(cacheExt, "", fill)
}

// add is Add for files with the extension ext. If want is not "" and the content has another
// digest, it is not stored, and the error is a [*DigestError] without a URL.
func (c *Cache) add(ext, want string, fill func(w io.Writer) error) (file, digest string, err error) {
	if c == nil {
		return "", "", errors.New("there is no content cache")
	}
	part, dir, err := c.createTemp()
	if err != nil {
		return "", "", err
	}
	defer os.Remove(part.Name())
	defer part.Close()
	sum := sha256.New()
	if err := fill(io.MultiWriter(part, sum)); err != nil {
		return "", "", err
	}
	digest = hex.EncodeToString(sum.Sum(nil))
	if want != "" && want != digest {
		return "", "", &DigestError{Want: want, Got: digest}
	}
	if err := part.Close(); err != nil {
		return "", "", fmt.Errorf("content cache: %w", err)
	}
	file, err = c.commit(dir, part.Name(), cachePath(digest, ext))
	return file, digest, err
}

// Provenance returns the provenance file of the archive with the digest, or nil if there is
// none. It is untrusted until its signature is verified.
func (c *Cache) Provenance(digest string) []byte {
	name := cachePath(digest, provExt)
	if c == nil || name == "" {
		return nil
	}
	for _, dir := range c.dirs() {
		if data := readProvenance(dir, name); data != nil {
			return data
		}
	}
	return nil
}

// readProvenance returns the file at name below dir, or nil if it is too large or not there.
func readProvenance(dir, name string) []byte {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxProvenance {
		return nil
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}

// AddProvenance stores the provenance file of the archive with the digest, and replaces an
// earlier one. It does nothing if digest is invalid, or c is nil.
func (c *Cache) AddProvenance(digest string, text []byte) error {
	name := cachePath(digest, provExt)
	if c == nil || name == "" {
		return nil
	}
	part, dir, err := c.createTemp()
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(text)
	if err := errors.Join(err, part.Close()); err != nil {
		return fmt.Errorf("content cache: %w", err)
	}
	_, err = c.commit(dir, part.Name(), name)
	return err
}

// createTemp creates a file to write to, in Dir or in the fallback, and returns that
// directory.
func (c *Cache) createTemp() (part *os.File, dir string, err error) {
	if c.Dir != "" && os.MkdirAll(c.Dir, dirMode) == nil {
		if part, err := os.CreateTemp(c.Dir, partPrefix+"*"); err == nil {
			c.sweepOnce.Do(func() { sweep(c.Dir, time.Now().Add(-partAge)) })
			return part, c.Dir, nil
		}
	}
	if dir, err = c.fallbackDir(); err != nil {
		return nil, "", err
	}
	if part, err = os.CreateTemp(dir, partPrefix+"*"); err != nil {
		return nil, "", fmt.Errorf("content cache: %w", err)
	}
	return part, dir, nil
}

// sweep removes the unfinished files of dir that were last written before a time. Errors are
// ignored: it is tried again by the next command.
func sweep(dir string, before time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), partPrefix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// commit renames the finished file part, in dir, to name, and returns its path. If that fails
// in Dir, where another process may have made a directory of the name, part is copied to the
// fallback.
func (c *Cache) commit(dir, part, name string) (string, error) {
	err := rename(dir, filepath.Base(part), name)
	if err == nil {
		return filepath.Join(dir, filepath.FromSlash(name)), nil
	}
	fallback, fallbackErr := c.fallbackDir()
	if fallbackErr != nil || fallback == dir {
		return "", fmt.Errorf("content cache: %w", err)
	}
	copied := filepath.Join(fallback, filepath.Base(part))
	if err := copyFile(part, copied); err != nil {
		return "", fmt.Errorf("content cache: %w", err)
	}
	return c.commit(fallback, copied, name)
}

// rename renames part to name, both below dir, without following links out of dir.
func rename(dir, part, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), dirMode); err != nil {
		return err
	}
	return root.Rename(part, name)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// dirs returns the directories to search, in order.
func (c *Cache) dirs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var dirs []string
	if c.Dir != "" {
		dirs = append(dirs, c.Dir)
	}
	if c.fallback != "" {
		dirs = append(dirs, c.fallback)
	}
	return dirs
}

// fallbackDir returns the fallback, which it creates if needed.
func (c *Cache) fallbackDir() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback == "" {
		dir, err := os.MkdirTemp("", "moonhelm-content-")
		if err != nil {
			return "", fmt.Errorf("content cache: %w", err)
		}
		c.fallback = dir
	}
	return c.fallback, nil
}

// Close removes the fallback directory with all archives in it. Dir stays.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback == "" {
		return nil
	}
	dir := c.fallback
	c.fallback = ""
	return os.RemoveAll(dir)
}

// A DigestError is returned for content whose digest is not the expected one.
type DigestError struct {
	URL       string // without credentials
	Want, Got string // SHA-256 in hex
}

func (e *DigestError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("digest mismatch: got sha256:%s, want sha256:%s", e.Got, e.Want)
	}
	return fmt.Sprintf("fetch %s: digest mismatch: got sha256:%s, want sha256:%s", e.URL, e.Got, e.Want)
}
