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
	"sync"
	"time"
)

// Cache is a directory of archives, each under its SHA-256. It is safe for concurrent use,
// by several processes too, and must not be copied. Its layout is that of Helm 4,
// ab/abcd....chart, and both may share a directory: content that is not what its name says
// is not used. It grows without bound.
type Cache struct {
	// Dir is the directory, which is created when something is added. Where it cannot be
	// written to, or is "", a temporary one takes its place, which [Cache.Close] removes.
	Dir string

	swept sync.Once

	mu   sync.Mutex
	temp string
}

const (
	cacheExt  = ".chart"
	provExt   = ".prov"
	imageExt  = ".json"   // Helm puts archives under their manifest's digest, too
	partGlob  = ".part-*" // what is being written
	dirMode   = 0o755
	digestLen = 2 * sha256.Size

	partAge       = 24 * time.Hour // after which no one writes to it any more
	maxProvenance = 1 << 20        // bytes
)

// cachePath is where content of that digest is, below Dir, "" for what is no
// SHA-256 in hex.
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

// Lookup returns the file with the content whose SHA-256 is digest, in lower case hex. It
// reads the whole file, each time: one that is damaged is removed, and ok is false. ok is
// false for symbolic links too.
func (c *Cache) Lookup(digest string) (file string, ok bool) { return c.lookup(digest, cacheExt) }

func (c *Cache) lookup(digest, ext string) (file string, ok bool) {
	name := cachePath(digest, ext)
	if c == nil || name == "" {
		return "", false
	}
	for _, dir := range c.dirs() {
		if holds(dir, name, digest) {
			return filepath.Join(dir, filepath.FromSlash(name)), true
		}
	}
	return "", false
}

// holds reports whether the file below dir has that digest, and removes it where
// it has another.
func holds(dir, name, digest string) bool {
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
	// If it stays, it is not used either. What another process has put there meanwhile
	// is not touched.
	now, err := root.Lstat(name)
	read, err2 := f.Stat()
	if err == nil && err2 == nil && os.SameFile(now, read) {
		_ = root.Remove(name)
	}
	return false
}

// Add stores what fill writes, and returns its file and its digest. If fill or a write
// fails, nothing is stored and the error is returned.
func (c *Cache) Add(fill func(w io.Writer) error) (file, digest string, err error) {
	return c.add(cacheExt, "", fill)
}

// add is Add of content of a kind that should have that digest, "" for any. With
// another it is not kept, and the error is a *[DigestError] without a URL.
func (c *Cache) add(ext, should string, fill func(w io.Writer) error) (file, digest string, err error) {
	if c == nil {
		return "", "", errors.New("there is no content cache")
	}
	part, dir, err := c.create()
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
	if should != "" && should != digest {
		return "", "", &DigestError{Want: should, Got: digest}
	}
	if err := part.Close(); err != nil {
		return "", "", fmt.Errorf("content cache: %w", err)
	}
	file, err = c.settle(dir, part.Name(), cachePath(digest, ext))
	return file, digest, err
}

// Provenance returns the provenance file stored beside the content of that digest, nil
// where there is none. It is untrusted until its signature is verified.
func (c *Cache) Provenance(digest string) []byte {
	name := cachePath(digest, provExt)
	if c == nil || name == "" {
		return nil
	}
	for _, dir := range c.dirs() {
		if data := readBelow(dir, name); data != nil {
			return data
		}
	}
	return nil
}

func readBelow(dir, name string) []byte {
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

// AddProvenance stores a provenance file beside the content of that digest, in place of
// an earlier one. An invalid digest is ignored.
func (c *Cache) AddProvenance(digest string, text []byte) error {
	name := cachePath(digest, provExt)
	if c == nil || name == "" {
		return nil
	}
	part, dir, err := c.create()
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(text)
	if err := errors.Join(err, part.Close()); err != nil {
		return fmt.Errorf("content cache: %w", err)
	}
	_, err = c.settle(dir, part.Name(), name)
	return err
}

// create makes a file to write to, in Dir or in what takes its place.
func (c *Cache) create() (part *os.File, dir string, err error) {
	if c.Dir != "" && os.MkdirAll(c.Dir, dirMode) == nil {
		if part, err := os.CreateTemp(c.Dir, partGlob); err == nil {
			c.swept.Do(func() { sweep(c.Dir, time.Now().Add(-partAge)) })
			return part, c.Dir, nil
		}
	}
	if dir, err = c.makeTemp(); err != nil {
		return nil, "", err
	}
	if part, err = os.CreateTemp(dir, partGlob); err != nil {
		return nil, "", fmt.Errorf("content cache: %w", err)
	}
	return part, dir, nil
}

// sweep removes what processes that were killed have left half written.
func sweep(dir string, before time.Time) {
	parts, _ := filepath.Glob(filepath.Join(dir, partGlob)) // the pattern is well formed
	for _, part := range parts {
		if info, err := os.Lstat(part); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = os.Remove(part) // next time, then
		}
	}
}

// settle gives what was written its place; where another process's directory is in
// the way, one in what takes the place of Dir.
func (c *Cache) settle(dir, part, name string) (string, error) {
	err := place(dir, filepath.Base(part), name)
	if err == nil {
		return filepath.Join(dir, filepath.FromSlash(name)), nil
	}
	temp, again := c.makeTemp()
	if again != nil || temp == dir {
		return "", fmt.Errorf("content cache: %w", err)
	}
	moved := filepath.Join(temp, filepath.Base(part))
	if err := copyFile(part, moved); err != nil {
		return "", fmt.Errorf("content cache: %w", err)
	}
	return c.settle(temp, moved, name)
}

// place moves a file to its name below dir, and never out of dir.
func place(dir, part, name string) error {
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

// dirs are where content may be.
func (c *Cache) dirs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var dirs []string
	if c.Dir != "" {
		dirs = append(dirs, c.Dir)
	}
	if c.temp != "" {
		dirs = append(dirs, c.temp)
	}
	return dirs
}

func (c *Cache) makeTemp() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.temp == "" {
		dir, err := os.MkdirTemp("", "moonhelm-content-")
		if err != nil {
			return "", fmt.Errorf("content cache: %w", err)
		}
		c.temp = dir
	}
	return c.temp, nil
}

// Close removes the temporary directory that took the place of Dir, if there is one, with
// all archives in it. Dir stays.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.temp == "" {
		return nil
	}
	dir := c.temp
	c.temp = ""
	return os.RemoveAll(dir)
}

// A DigestError is returned for content whose digest is not the expected one.
type DigestError struct {
	URL       string // without credentials
	Want, Got string // SHA-256 in hex
}

func (e *DigestError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("the content has the digest sha256:%s, and should have sha256:%s", e.Got, e.Want)
	}
	return fmt.Sprintf("fetch %s: the content has the digest sha256:%s, and should have sha256:%s", e.URL, e.Got, e.Want)
}
