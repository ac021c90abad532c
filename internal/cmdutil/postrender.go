// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
	"github.com/moonhelm/moonhelm/plugin/postrender"
)

// PostRenderFlags are the flags for the post-renderer.
type PostRenderFlags struct {
	Name string
	Args []string
}

// Bind registers the flags.
func (f *PostRenderFlags) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.Name, "post-renderer", "",
		"post-render objects and hooks with this plugin or program: a plugin's name, a program in PATH, or a path")
	StringArrayVarP(fs, &f.Args, "post-renderer-args", "", "argument for the post-renderer (may be repeated)")
}

// Renderer returns the post-renderer that the flags name, or nil if they name none.
func (f PostRenderFlags) Renderer(factory *Factory) (action.PostRenderer, error) {
	if f.Name == "" {
		return nil, nil
	}
	runner, err := f.runner(factory)
	if err != nil {
		return nil, err
	}
	return postrender.Renderer{Name: f.Name, Runner: runner,
		Stderr: factory.board().Above(term.SafeWriter(factory.Err))}, nil
}

// runner returns the runner for f.Name. A name with a slash is a path; other names are plugins (as
// in Helm 4), or programs in PATH or the current directory (as in Helm 3).
func (f PostRenderFlags) runner(factory *Factory) (postrender.Runner, error) {
	var other *plugin.Plugin
	if !strings.ContainsAny(f.Name, `/`+string(filepath.Separator)) {
		p, err := factory.Plugins().Lookup(f.Name)
		var none *plugin.NotFoundError
		switch {
		case err == nil && p.Type == plugin.PostRenderer:
			return pluginRenderer{factory.Plugins(), p, f.Args}, nil
		case err == nil:
			other = p
		case err != nil && !errors.As(err, &none):
			return nil, err
		}
	}
	path, err := exec.LookPath(f.Name)
	if errors.Is(err, exec.ErrNotFound) && filepath.Base(f.Name) == f.Name {
		path, err = exec.LookPath("." + string(filepath.Separator) + f.Name)
	}
	switch {
	case err == nil:
		return postrender.Program{Path: path, Args: f.Args}, nil
	case other != nil:
		return nil, fmt.Errorf("--post-renderer %s: the plugin of that name is not a post-renderer, but of the type %s",
			f.Name, other.Type)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(fmt.Errorf("invalid argument %q for \"--post-renderer\" flag: plugin: %[1]s not found, and "+
			"unable to find binary at %[1]s", f.Name), "helm plugin list shows the plugins; of them those of the type "+
			"postrenderer/v1 are post-renderers")
	}
	return nil, fmt.Errorf("--post-renderer %s: %w", f.Name, err)
}

// pluginRenderer runs a plugin as a post-renderer.
type pluginRenderer struct {
	plugins *Plugins
	plugin  *plugin.Plugin
	args    []string
}

// Run implements postrender.Runner.
func (r pluginRenderer) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	err := r.plugins.PostRender(ctx, r.plugin, r.args, in, out, stderr)
	if exit, ok := errors.AsType[*plugin.ExitError](err); ok {
		return fmt.Errorf("it failed with exit code %d", exit.Code)
	}
	return err
}
