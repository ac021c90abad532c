// SPDX-License-Identifier: Apache-2.0

// Package plugin loads, installs and runs plugins: third-party programs that add a command
// to helm, download charts from URLs with other schemes, or post-process rendered charts.
//
//	found, problems := plugin.Find(os.Getenv("HELM_PLUGINS"))
//	...
//	err := plugin.Process{}.Run(ctx, plugin.Invocation{
//		Plugin: found[0], Args: os.Args[2:], Env: os.Environ(), Out: os.Stdout, Err: os.Stderr,
//	})
//
// A [Plugin] is a directory with a plugin.yaml in the format of Helm 3 or Helm 4. A plugin is
// trusted like any program that the user starts; its manifest and its archive are not. The
// package does not depend on the command line, and makes no network requests except those of
// git.
package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// ManifestFile is the name of a plugin's manifest.
const ManifestFile = "plugin.yaml"

// LuaFile is the main file of a plugin with the runtime [Lua].
const LuaFile = "main.lua"

// LuaCompleteFile is the file that completes command lines of such a plugin.
const LuaCompleteFile = "complete.lua"

// maxManifest is the largest size of a manifest, in bytes.
const maxManifest = 1 << 20

// Plugin is an installed plugin.
type Plugin struct {
	// Dir is its absolute path. It may be a symbolic link.
	Dir string
	Manifest
}

// A LoadError is returned for an invalid plugin. Err is the reason.
type LoadError struct {
	Path string // of the manifest
	Err  error
}

func (e *LoadError) Error() string { return fmt.Sprintf("plugin %s: %v", e.Path, e.Err) }
func (e *LoadError) Unwrap() error { return e.Err }

// A NotFoundError is returned if a plugin is not installed.
type NotFoundError struct {
	Name string
	Has  []string // the names of the installed plugins
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("plugin: %s not found", e.Name) }

// Load loads the plugin in a directory. The error is a [*LoadError].
func Load(dir string) (*Plugin, error) {
	name := filepath.Join(dir, ManifestFile)
	p, err := load(dir)
	if err != nil {
		return nil, &LoadError{Path: name, Err: err}
	}
	return p, nil
}

func load(dir string) (*Plugin, error) {
	data, err := readOwn(dir, ManifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("plugin metadata (%s) missing: %w", ManifestFile, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	m, err := Parse(data)
	if err != nil {
		return nil, err
	}
	if m.Runtime == Lua {
		if err := hasLua(dir); err != nil {
			return nil, err
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &Plugin{Dir: abs, Manifest: m}, nil
}

// hasLua returns an error unless the main file of a Lua plugin is a regular file according to
// [openOwn].
func hasLua(dir string) error {
	f, err := openOwn(dir, LuaFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing, which the runtime %s needs", LuaFile, Lua)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", LuaFile, file.WithoutPath(err))
	}
	return f.Close()
}

// openOwn opens a file of a plugin that helm interprets. In a clone of a git repository it
// must be in the plugin's directory: a symbolic link could make helm read files outside of it.
// Archives have no links. Other directories are from the user or a package manager; some of
// those use links to files in a store, so links are followed.
func openOwn(dir, name string) (*os.File, error) {
	if exists(filepath.Join(dir, ".git")) {
		return file.OpenIn(dir, name)
	}
	return file.Open(filepath.Join(dir, name))
}

// readOwn reads a file like openOwn.
func readOwn(dir, name string) ([]byte, error) {
	if exists(filepath.Join(dir, ".git")) {
		data, err := file.ReadIn(dir, name, maxManifest)
		return data, file.WithoutPath(err)
	}
	data, err := file.Read(filepath.Join(dir, name), maxManifest)
	return data, file.WithoutPath(err)
}

// Find loads the plugins in a list of directories in the format of PATH: each subdirectory of
// one of them with a plugin.yaml. It returns them sorted by name. If two have the same name, the
// first is returned and the other is an error. Invalid plugins do not affect others: the errors
// are [*LoadError] and [*ClashError].
func Find(paths string) ([]*Plugin, []error) {
	var (
		found  []*Plugin
		errs   []error
		byName = map[string]*Plugin{}
	)
	for _, root := range filepath.SplitList(paths) {
		if root == "" {
			continue
		}
		entries, err := os.ReadDir(root)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		for _, e := range entries {
			p, err := candidate(filepath.Join(root, e.Name()))
			if err != nil {
				errs = append(errs, err)
			}
			if p == nil {
				continue
			}
			if first, twice := byName[p.Name]; twice {
				errs = append(errs, &ClashError{Name: p.Name, Dir: p.Dir, With: first.Dir})
				continue
			}
			byName[p.Name] = p
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *Plugin) int { return strings.Compare(a.Name, b.Name) })
	return found, errs
}

// candidate loads the plugin in a directory. It returns nil if there is none, because the
// parent may contain other files.
func candidate(dir string) (*Plugin, error) {
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return nil, nil // an installation in progress, or an interrupted one
	}
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDirectory(dir) {
			return nil, nil
		}
		return nil, &LoadError{Path: filepath.Join(dir, ManifestFile), Err: err}
	}
	return Load(dir)
}

func isNotDirectory(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || !info.IsDir()
}

// A ClashError is returned for the plugin in Dir if the plugin in With has the same name and
// is used.
type ClashError struct{ Name, Dir, With string }

func (e *ClashError) Error() string {
	return fmt.Sprintf("two plugins claim the name %q: %s is used, %s is not", e.Name, e.With, e.Dir)
}
