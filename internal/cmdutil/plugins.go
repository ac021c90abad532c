// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plugin"
)

// Plugins are the installed plugins. It implements fetch.Downloader and is safe for concurrent use.
type Plugins struct {
	factory *Factory
	load    func() ([]*plugin.Plugin, []error)
	warn    func()
	// namespace is the current namespace. It is read once: downloads need it concurrently, and
	// reading the kubeconfig is not safe for concurrent use.
	namespace func() string
	// stderr is safe for concurrent use by downloads.
	stderr io.Writer
}

// newSyncWriter makes w safe for concurrent use. It returns a file unchanged: files are safe
// already, and a subprocess can inherit them.
func newSyncWriter(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok {
		return w
	}
	return &syncWriter{w: w}
}

type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *syncWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// Plugins returns the installed plugins, which are searched for at the first use.
func (f *Factory) Plugins() *Plugins {
	if f.plugins == nil {
		f.plugins = newPlugins(f)
	}
	return f.plugins
}

func newPlugins(f *Factory) *Plugins {
	p := &Plugins{factory: f, namespace: sync.OnceValue(f.Namespace), stderr: newSyncWriter(f.Err)}
	p.load = sync.OnceValues(func() ([]*plugin.Plugin, []error) {
		if p.Off() {
			return nil, nil
		}
		return plugin.Find(f.Settings.Plugins)
	})
	p.warn = sync.OnceFunc(func() {
		_, errs := p.load()
		for _, err := range errs {
			fmt.Fprintf(p.stderr, "%s %s\n", f.Style(f.Err).Yellow("Warning:"), term.SafeLine(err.Error()))
		}
	})
	return p
}

// Off reports whether HELM_NO_PLUGINS switches all plugins off.
func (p *Plugins) Off() bool { return boolOr(p.factory.Getenv("HELM_NO_PLUGINS"), false) }

// All returns the usable plugins, sorted by name. The first call warns on standard error of plugins
// that cannot be loaded.
func (p *Plugins) All() []*plugin.Plugin {
	p.warn()
	return p.Quietly()
}

// Quietly is All without the warnings, for shell completion.
func (p *Plugins) Quietly() []*plugin.Plugin {
	found, _ := p.load()
	return found
}

// Lookup returns the plugin called name, or a [*plugin.NotFoundError].
func (p *Plugins) Lookup(name string) (*plugin.Plugin, error) {
	missing := &plugin.NotFoundError{Name: name}
	for _, candidate := range p.All() {
		if candidate.Name == name {
			return candidate, nil
		}
		missing.Has = append(missing.Has, candidate.Name)
	}
	return nil, missing
}

// Environ returns the environment of a plugin: the user's, the variables of `helm env`, and the
// plugin's name and paths, as in Helm.
func (p *Plugins) Environ(of *plugin.Plugin) []string {
	s := p.factory.Settings
	env := os.Environ()
	add := func(name, value string) { env = append(env, name+"="+value) }
	for _, v := range s.Vars(p.namespace()) {
		add(v.Name, v.Value)
	}
	add("HELM_PLUGIN_NAME", of.Name)
	add("HELM_PLUGIN_DIR", of.Dir)
	add("HELM_PATH_CACHE", s.CacheHome)
	add("HELM_PATH_CONFIG", s.ConfigHome)
	add("HELM_PATH_DATA", s.DataHome)
	add("HELM_HOME", s.DataHome)
	if s.KubeConfig != "" {
		add("KUBECONFIG", s.KubeConfig)
	}
	return env
}

func (p *Plugins) invocation(of *plugin.Plugin) plugin.Invocation {
	return plugin.Invocation{
		Plugin: of, Env: p.Environ(of), In: p.factory.In, Out: p.factory.Out, Err: p.factory.Err,
		Debug: p.factory.Settings.Debug,
	}
}

func (p *Plugins) run(ctx context.Context, inv plugin.Invocation) error {
	switch inv.Plugin.Runtime {
	case plugin.Subprocess:
		return plugin.Process{}.Run(ctx, inv)
	case plugin.Lua:
		return p.factory.luaPlugins().Run(ctx, inv)
	}
	return fmt.Errorf("plugin %q has the runtime %q, which this helm does not have", inv.Plugin.Name, inv.Plugin.Runtime)
}

// Command runs a plugin's command with the user's streams. It drops the arguments if the plugin
// ignores flags.
func (p *Plugins) Command(ctx context.Context, of *plugin.Plugin, args []string) error {
	inv := p.invocation(of)
	if !of.IgnoreFlags {
		inv.Args = args
	}
	return p.run(ctx, inv)
}

// Complete asks a plugin for completions of the last of args.
func (p *Plugins) Complete(ctx context.Context, of *plugin.Plugin, args []string) (words []string, directive int,
	err error) {
	inv := p.invocation(of)
	inv.In, inv.Args = nil, args
	return plugin.Complete(ctx, inv, p.factory.luaPlugins())
}

// Hook runs a plugin's hook.
func (p *Plugins) Hook(ctx context.Context, name string, of *plugin.Plugin) error {
	if len(of.Hooks[name]) == 0 {
		return nil // and the namespace is not looked up
	}
	return plugin.Hook(ctx, name, p.invocation(of))
}

// PostRender passes rendered objects through a plugin.
func (p *Plugins) PostRender(ctx context.Context, of *plugin.Plugin, args []string, in io.Reader, out,
	stderr io.Writer) error {
	if of.Type != plugin.PostRenderer {
		return fmt.Errorf("plugin %q is a %s, not a %s", of.Name, of.Type, plugin.PostRenderer)
	}
	inv := p.invocation(of)
	inv.Call, inv.Args, inv.In, inv.Out, inv.Err = plugin.Render, args, in, out, stderr
	return p.run(ctx, inv)
}

// builtinSchemes are the URL schemes that plugins cannot replace.
var builtinSchemes = []string{"http", "https", "oci", "file"}

// Schemes implements fetch.Downloader.
func (p *Plugins) Schemes() []string {
	var all []string
	for _, candidate := range p.All() {
		for _, s := range candidate.Schemes() {
			if !slices.Contains(builtinSchemes, s) && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// maxDownload is the largest download of a plugin, in bytes.
const maxDownload = fetch.MaxArchive

// Get implements fetch.Downloader. The caller checks that a's credentials are for the host of
// address. Errors name the plugin but not the address.
func (p *Plugins) Get(ctx context.Context, address string, a fetch.HostOptions, w io.Writer) error {
	scheme, _, _ := strings.Cut(address, "://")
	of := p.byScheme(strings.ToLower(scheme))
	if of == nil {
		return fmt.Errorf("no plugin serves %s:// URLs", scheme)
	}
	out := &file.LimitWriter{W: w, Left: maxDownload}
	inv := p.invocation(of)
	inv.Call, inv.In, inv.Out, inv.Err = plugin.Get, nil, out, p.stderr
	inv.Args = []string{a.CertFile, a.KeyFile, a.CAFile, address}
	inv.Env = append(inv.Env,
		"HELM_PLUGIN_USERNAME="+a.Username, "HELM_PLUGIN_PASSWORD="+a.Password,
		"HELM_PLUGIN_PASS_CREDENTIALS_ALL="+strconv.FormatBool(a.PassAll))
	err := p.run(ctx, inv)
	if out.Exceeded {
		return fmt.Errorf("plugin %q returned more than %d MiB", of.Name, maxDownload>>20)
	}
	return err
}

func (p *Plugins) byScheme(scheme string) *plugin.Plugin {
	for _, candidate := range p.All() {
		if slices.Contains(candidate.Schemes(), scheme) {
			return candidate
		}
	}
	return nil
}
