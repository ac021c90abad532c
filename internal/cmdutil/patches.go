// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/plan/patch"
)

// PatchFlags are the flags for patches of rendered objects.
type PatchFlags struct {
	names        []string
	allowMissing bool
	files        []patch.File
}

// Bind registers the flags.
func (p *PatchFlags) Bind(fs *pflag.FlagSet) {
	StringArrayVarP(fs, &p.names, "patch", "",
		"patch the rendered objects with a file in kustomize's syntax, a URL, or - for standard input (may be repeated)")
	fs.BoolVar(&p.allowMissing, "patch-allow-missing", false, "skip patches whose target matches no object")
}

// Load reads the files.
func (p *PatchFlags) Load(ctx context.Context, f *Factory) error {
	p.files = nil
	for _, name := range p.names {
		text, err := f.ReadSource(ctx, name)
		if err != nil {
			return fmt.Errorf("--patch: %w", err)
		}
		shown := name
		if name == "-" {
			shown = "stdin"
		}
		read, err := patch.Read(filepath.ToSlash(shown), text, func(other string) ([]byte, error) {
			return readBeside(ctx, name, other)
		})
		if err != nil {
			return fmt.Errorf("--patch: %w", err)
		}
		p.files = append(p.files, read)
	}
	return nil
}

// readBeside reads a file that the file name names, in its directory or below it.
func readBeside(ctx context.Context, name, other string) ([]byte, error) {
	if name == "-" || fetch.IsURL(name) || strings.Contains(name, "://") {
		return nil, fmt.Errorf("a path such as %s can be read only by patches in a file: write the patch into "+
			"the field patch", other)
	}
	return file.ReadInput(ctx, filepath.Join(filepath.Dir(name), filepath.FromSlash(path.Clean(other))), maxSource)
}

// Options returns the flags as options of package action. Load must have been called.
func (p *PatchFlags) Options() action.PatchOptions {
	return action.PatchOptions{Patches: p.files, AllowMissing: p.allowMissing}
}
