// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// text returns a function that writes s to a file of the cache.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// files returns the paths of the files in dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCacheKeepsByDigest(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "a", "content")}
	digest := digestOf("web")
	if _, ok := c.Lookup(digest); ok {
		t.Error("an empty cache has something")
	}
	file, got, err := c.Add(text("web"))
	if err != nil || got != digest || read(t, file) != "web" {
		t.Fatalf("%s, %s, %v", file, got, err)
	}
	// Helm 4's layout.
	if want := []string{digest[:2] + "/" + digest + ".chart"}; !slices.Equal(files(t, c.Dir), want) {
		t.Errorf("%v, want %v", files(t, c.Dir), want)
	}
	if found, ok := c.Lookup(digest); !ok || found != file {
		t.Errorf("%s, %t", found, ok)
	}
	if again, _, err := c.Add(text("web")); err != nil || again != file {
		t.Errorf("%s, %v", again, err)
	}
}

func TestCacheLookupRemovesDamaged(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, file string) error{
		"changed": func(_ *testing.T, file string) error { return os.WriteFile(file, []byte("wev"), 0o600) },
		"cut":     func(_ *testing.T, file string) error { return os.Truncate(file, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cache{Dir: t.TempDir()}
			file, digest, err := c.Add(text("web"))
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(t, file); err != nil {
				t.Fatal(err)
			}
			if found, ok := c.Lookup(digest); ok {
				t.Errorf("%s: %s", name, found)
			}
			if left := files(t, c.Dir); len(left) > 0 {
				t.Errorf("%s: %v stays", name, left)
			}
		})
	}
}

// Neither names nor links can lead out of the directory.
func TestCacheStaysInItsDirectory(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	digest := digestOf("secret")
	for _, name := range []string{"", "../secret", strings.Repeat("../", 21) + "x", strings.ToUpper(digest), digest + "x", strings.Repeat("/", 64), strings.Repeat(".", 64)} {
		if found, ok := (&Cache{Dir: filepath.Dir(secret)}).Lookup(name); ok {
			t.Errorf("%q: %s", name, found)
		}
	}
	linked := &Cache{Dir: t.TempDir()}
	directory := filepath.Join(linked.Dir, digest[:2])
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(directory, digest+".chart")); err != nil {
		t.Skip(err)
	}
	if found, ok := linked.Lookup(digest); ok {
		t.Errorf("a link is followed to %s", found)
	}
	// New content replaces a link instead of its target.
	if file, _, err := linked.Add(text("secret")); err != nil || read(t, file) != "secret" {
		t.Error(err)
	}
	if info, err := os.Lstat(filepath.Join(directory, digest+".chart")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}

	away := &Cache{Dir: t.TempDir()}
	defer away.Close()
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(away.Dir, digest[:2])); err != nil {
		t.Fatal(err)
	}
	file, _, err := away.Add(text("secret"))
	if err != nil || read(t, file) != "secret" {
		t.Error(err)
	}
	if left := append(files(t, elsewhere), files(t, away.Dir)...); len(left) != 1 {
		t.Errorf("written through a link: %v", left)
	}
}

func TestCacheAddFailure(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	broken := errors.New("broken")
	_, _, err := c.Add(func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	if !errors.Is(err, broken) || len(files(t, c.Dir)) > 0 {
		t.Errorf("%v, %v", err, files(t, c.Dir))
	}
	_, _, err = c.add(cacheExt, digestOf("this"), text("that"))
	var wrong *DigestError
	if !errors.As(err, &wrong) || wrong.Want != digestOf("this") || wrong.Got != digestOf("that") || len(files(t, c.Dir)) > 0 {
		t.Errorf("%v, %v", err, files(t, c.Dir))
	}
}

func TestCacheFallback(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a file is there": file, "below a file": filepath.Join(file, "x"), "none": ""} {
		t.Run(name, func(t *testing.T) {
			c := &Cache{Dir: dir}
			kept, digest, err := c.Add(text("web"))
			if err != nil || read(t, kept) != "web" {
				t.Fatalf("%s: %v", name, err)
			}
			if found, ok := c.Lookup(digest); !ok || found != kept {
				t.Errorf("%s: %s, %t", name, found, ok)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Dir(filepath.Dir(kept))); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s stays: %v", name, kept, err)
			}
		})
	}
}

func TestCacheAddConcurrently(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c := &Cache{Dir: dir} // as in separate processes
			content := fmt.Sprint("web", i%2)
			file, digest, err := c.Add(text(content))
			if err != nil || digest != digestOf(content) {
				t.Errorf("%s, %v", digest, err)
			}
			if found, ok := c.Lookup(digest); !ok || found != file {
				t.Errorf("%s, %t", found, ok)
			}
		})
	}
	all.Wait()
	if got := files(t, dir); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestCacheSweep(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "[a-z]*")} // not a pattern
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		t.Skip(err)
	}
	old, young := filepath.Join(c.Dir, ".part-1"), filepath.Join(c.Dir, ".part-2")
	for _, file := range []string{old, young} {
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Add(text("web")); err != nil {
		t.Fatal(err)
	}
	if left := files(t, c.Dir); len(left) != 2 || left[0] != ".part-2" {
		t.Errorf("%v", left)
	}
}

func TestNilCache(t *testing.T) {
	var c *Cache
	digest := digestOf("web")
	if file, ok := c.Lookup(digest); ok {
		t.Errorf("Lookup = %q, want nothing", file)
	}
	if _, _, err := c.Add(text("web")); err == nil {
		t.Error("Add = nil, want an error")
	}
	if err := c.AddProvenance(digest, []byte("signed")); err != nil {
		t.Errorf("AddProvenance = %v, want nil", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
}

func TestCacheKeepsProvenance(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	digest := digestOf("web")
	if got := c.Provenance(digest); got != nil {
		t.Errorf("%q", got)
	}
	if err := c.AddProvenance(digest, []byte("signed")); err != nil || string(c.Provenance(digest)) != "signed" {
		t.Errorf("%q, %v", c.Provenance(digest), err)
	}
	if _, ok := c.Lookup(digest); ok {
		t.Error("a provenance file is not content")
	}
	if err := c.AddProvenance(digest, make([]byte, maxProvenance+1)); err != nil || c.Provenance(digest) != nil {
		t.Error("one that is too large is used")
	}
}
