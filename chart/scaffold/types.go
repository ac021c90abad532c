// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

// definitions are generated, but for those of tests: see TestScriptTypes in internal/cli.
//
//go:embed types/*.lua
var definitions embed.FS

//go:embed types/luarc.json
var editorSettings []byte

const (
	fileIgnore   = ".helmignore"
	fileSettings = ".luarc.json"
	dirTypes     = ".luals"
)

// Types returns the files from which lua-language-server knows what a chart's scripts can use:
// definitions in .luals, with those for tests and of what the permissions add, and .luarc.json,
// its settings.
func Types(permissions []string) []*chart.File {
	files := []*chart.File{{Name: fileSettings, Data: editorSettings}}
	for _, name := range append([]string{"moonhelm", "tests"}, permissions...) {
		data, err := definitions.ReadFile(path.Join("types", name+".lua"))
		if err == nil { // else it is not a permission that adds functions
			files = append(files, &chart.File{Name: path.Join(dirTypes, name+".lua"), Data: data})
		}
	}
	return files
}

// ignoreTypes adds the files of [Types] to a .helmignore.
func ignoreTypes(text []byte) []byte {
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	var add []string
	for _, pattern := range []string{fileSettings, dirTypes + "/"} {
		if !slices.Contains(lines, pattern) {
			add = append(add, pattern)
		}
	}
	if add == nil {
		return text
	}
	if len(text) > 0 {
		text = append(bytes.TrimRight(text, "\n"), "\n\n"...)
	}
	return append(text, "# Types of scripts, for editors\n"+strings.Join(add, "\n")+"\n"...)
}

// WriteTypes writes the files of [Types] into the directory of a chart, and has .helmignore
// leave them out of packages. It returns the names of the files that it wrote, and of
// .luarc.json if that was there before: it may be the user's own, and is kept. It does not
// follow symbolic links out of the directory.
func WriteTypes(dir string, permissions []string) (written []string, kept string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	files := Types(permissions)
	ignore, err := readRegular(root, fileIgnore)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	if data := ignoreTypes(slices.Clone(ignore)); !bytes.Equal(data, ignore) {
		files = append(files, &chart.File{Name: fileIgnore, Data: data})
	}
	for _, f := range files {
		old, err := readRegular(root, filepath.FromSlash(f.Name))
		switch {
		case err == nil && bytes.Equal(old, f.Data):
			continue
		case err == nil && f.Name == fileSettings:
			kept = f.Name
			continue
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return written, kept, err
		}
		if err := writeFile(root, filepath.FromSlash(f.Name), f.Data); err != nil {
			return written, kept, err
		}
		written = append(written, f.Name)
	}
	return written, kept, nil
}

// readRegular reads a file that is not a pipe, which could block.
func readRegular(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is not a regular file", filepath.Join(root.Name(), name))
	}
	return root.ReadFile(name)
}
