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

// Plugins are the plugins that are installed. It implements fetch.Downloader
// and is safe for concurrent use.
type Plugins struct {
	e    *Factory
	load func() ([]*plugin.Plugin, []error)
	warn func()
	// namespace is the one in force. Downloads ask for it at the same time, and
	// who reads the kubeconfig must be alone.
	namespace func() string
	// stderr takes what several downloads say at the same time.
	stderr io.Writer
}

// together lets several write to w. A file does so by itself, and must stay a
// file, which a program can have as its own.
func together(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok {
		return w
	}
	return &oneByOne{w: w}
}

type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneByOne) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// Plugins are those that are installed; they are looked for when first needed.
func (f *Factory) Plugins() *Plugins {
	if f.plugins == nil {
		f.plugins = newPlugins(f)
	}
	return f.plugins
}

func newPlugins(f *Factory) *Plugins {
	p := &Plugins{e: f, namespace: sync.OnceValue(f.Namespace), stderr: together(f.Err)}
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
func (p *Plugins) Off() bool { return boolOr(p.e.Getenv("HELM_NO_PLUGINS"), false) }

// All are the plugins that can be used, by name. Of the others there is a
// warning on the error stream, once.
func (p *Plugins) All() []*plugin.Plugin {
	p.warn()
	return p.Quietly()
}

// Quietly is [Plugins.All] without a warning: for shells that complete.
func (p *Plugins) Quietly() []*plugin.Plugin {
	found, _ := p.load()
	return found
}

// Lookup is the plugin of that name, or a [*plugin.NotFoundError].
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

// Environ is the environment of a plugin: the user's own, what `helm env`
// prints, and who the plugin is. The names are Helm's.
func (p *Plugins) Environ(of *plugin.Plugin) []string {
	s := p.e.Settings
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
		Plugin: of, Env: p.Environ(of), In: p.e.In, Out: p.e.Out, Err: p.e.Err, Debug: p.e.Settings.Debug,
	}
}

func (p *Plugins) run(ctx context.Context, inv plugin.Invocation) error {
	switch inv.Plugin.Runtime {
	case plugin.Subprocess:
		return plugin.Process{}.Run(ctx, inv)
	case plugin.Lua:
		return p.e.luaPlugins().Run(ctx, inv)
	}
	return fmt.Errorf("plugin %q has the runtime %q, which this helm does not have", inv.Plugin.Name, inv.Plugin.Runtime)
}

// Command runs a plugin's command with the user's streams. Arguments are not
// passed on where the plugin wants none.
func (p *Plugins) Command(ctx context.Context, of *plugin.Plugin, args []string) error {
	inv := p.invocation(of)
	if !of.IgnoreFlags {
		inv.Args = args
	}
	return p.run(ctx, inv)
}

// Complete asks a plugin what the last of args may become.
func (p *Plugins) Complete(ctx context.Context, of *plugin.Plugin, args []string) (words []string, directive int,
	err error) {
	inv := p.invocation(of)
	inv.In, inv.Args = nil, args
	return plugin.Complete(ctx, inv, p.e.luaPlugins())
}

// Hook runs a plugin's hook.
func (p *Plugins) Hook(ctx context.Context, name string, of *plugin.Plugin) error {
	if len(of.Hooks[name]) == 0 {
		return nil // and nothing looks for a namespace
	}
	return plugin.Hook(ctx, name, p.invocation(of))
}

// PostRender has a plugin change what a chart has rendered to.
func (p *Plugins) PostRender(ctx context.Context, of *plugin.Plugin, args []string, in io.Reader, out,
	stderr io.Writer) error {
	if of.Type != plugin.PostRenderer {
		return fmt.Errorf("plugin %q is a %s, not a %s", of.Name, of.Type, plugin.PostRenderer)
	}
	inv := p.invocation(of)
	inv.Call, inv.Args, inv.In, inv.Out, inv.Err = plugin.Render, args, in, out, stderr
	return p.run(ctx, inv)
}

// ownSchemes are those that plugins cannot take over.
var ownSchemes = []string{"http", "https", "oci", "file"}

// Schemes implements fetch.Downloader.
func (p *Plugins) Schemes() []string {
	var all []string
	for _, candidate := range p.All() {
		for _, s := range candidate.Schemes() {
			if !slices.Contains(ownSchemes, s) && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// maxDownload is the most that a plugin may bring at once, in bytes.
const maxDownload = fetch.MaxArchive

// Get implements fetch.Downloader. The caller sees to it that a's credentials
// are for the host of address. Errors name the plugin, and leave the address to
// the caller.
func (p *Plugins) Get(ctx context.Context, address string, a fetch.HostOptions, w io.Writer) error {
	scheme, _, _ := strings.Cut(address, "://")
	of := p.serving(strings.ToLower(scheme))
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
		return fmt.Errorf("plugin %q brings more than %d MiB", of.Name, maxDownload>>20)
	}
	return err
}

func (p *Plugins) serving(scheme string) *plugin.Plugin {
	for _, candidate := range p.All() {
		if slices.Contains(candidate.Schemes(), scheme) {
			return candidate
		}
	}
	return nil
}
