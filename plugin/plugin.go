// SPDX-License-Identifier: Apache-2.0

// Package plugin reads, installs and runs plugins: other people's programs that
// add a command to helm, bring charts from places that helm does not know, or
// change what charts render to.
//
//	found, problems := plugin.Find(os.Getenv("HELM_PLUGINS"))
//	...
//	err := plugin.Process{}.Run(ctx, plugin.Invocation{
//		Plugin: found[0], Args: os.Args[2:], Env: os.Environ(), Out: os.Stdout, Err: os.Stderr,
//	})
//
// In comes a directory with a plugin.yaml, of Helm 3's form or of Helm 4's. Out
// comes a [Plugin], and a process where it is run. A plugin is as much trusted as
// any program that the user starts; its manifest and the archive that it came in
// are not. The package knows no command line, and fetches nothing by itself but
// what git fetches.
package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/moonhelm/moonhelm/internal/file"
)

// ManifestFile is what a plugin's manifest is called.
const ManifestFile = "plugin.yaml"

// LuaFile is what a plugin of the runtime [Lua] is written in.
const LuaFile = "main.lua"

// LuaCompleteFile is what such a plugin completes command lines with.
const LuaCompleteFile = "complete.lua"

// maxManifest is the largest manifest that is read, in bytes.
const maxManifest = 1 << 20

// Plugin is a plugin in its directory.
type Plugin struct {
	// Dir is its directory, an absolute path. It may be a symbolic link.
	Dir string
	Manifest
}

// A LoadError is returned for a plugin that cannot be used; Err is the reason.
type LoadError struct {
	Path string // of the manifest
	Err  error
}

func (e *LoadError) Error() string { return fmt.Sprintf("plugin %s: %v", e.Path, e.Err) }
func (e *LoadError) Unwrap() error { return e.Err }

// A NotFoundError is returned for the name of a plugin that is not installed.
type NotFoundError struct {
	Name string
	Has  []string // the names of those that are
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("plugin: %s not found", e.Name) }

// Load reads the plugin in a directory. The error is a [*LoadError].
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

// hasLua is an error unless the program of a plugin in Lua is there, as a regular file
// by the rules of [openOwn].
func hasLua(dir string) error {
	f, err := openOwn(dir, LuaFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing, which the runtime %s needs", LuaFile, Lua)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", LuaFile, bare(err))
	}
	return f.Close()
}

// openOwn opens a file of a plugin that helm itself understands. In a clone it must be
// in the plugin's directory: a link that leads out of it would have helm obey, and show,
// files that no one has installed. Archives have no links. Any other directory is made
// by the user or by a package manager, some of which make plugins of links to files in
// a store of theirs; such links are followed.
func openOwn(dir, name string) (*os.File, error) {
	if exists(filepath.Join(dir, ".git")) {
		return file.OpenIn(dir, name)
	}
	return file.Open(filepath.Join(dir, name))
}

// readOwn is openOwn, and reads the file.
func readOwn(dir, name string) ([]byte, error) {
	if exists(filepath.Join(dir, ".git")) {
		data, err := file.ReadIn(dir, name, maxManifest)
		return data, bare(err)
	}
	data, err := file.Read(filepath.Join(dir, name), maxManifest)
	return data, bare(err)
}

// bare is err without the path, which is told anyway.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Find reads the plugins below a list of directories, as PATH has them: each directory
// with a plugin.yaml directly below one of these. They come sorted by name; of
// two with one name, the one found first counts and the other is among the
// errors. A plugin that is broken hides no other one: the errors are
// [*LoadError] and [*ClashError].
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
	sort.Slice(found, func(i, j int) bool { return found[i].Name < found[j].Name })
	return found, errs
}

// candidate reads the plugin in a directory, nil where there is none: other things
// may lie beside plugins.
func candidate(dir string) (*Plugin, error) {
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return nil, nil // an installation that is under way, or was cut off
	}
	if _, err := os.Stat(filepath.Join(dir, ManifestFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotFolder(dir) {
			return nil, nil
		}
		return nil, &LoadError{Path: filepath.Join(dir, ManifestFile), Err: err}
	}
	return Load(dir)
}

func isNotFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || !info.IsDir()
}

// A ClashError is returned for a plugin, in Dir, whose name another one has, in With,
// which is used.
type ClashError struct{ Name, Dir, With string }

func (e *ClashError) Error() string {
	return fmt.Sprintf("two plugins claim the name %q: %s is used, %s is not", e.Name, e.With, e.Dir)
}
