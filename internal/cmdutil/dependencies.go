// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

// DependencyFlags are the flags for resolving the dependencies of a chart.
type DependencyFlags struct {
	AccessFlags
	VerifyFlags
	ScriptFlags
	SkipRefresh bool
}

// Bind registers the flags.
func (f *DependencyFlags) Bind(fs *pflag.FlagSet, factory *Factory) {
	fs.BoolVar(&f.SkipRefresh, "skip-refresh", false, "do not update the indexes of added repositories")
	fs.StringVar(&f.Username, "username", "",
		"user name for the registry or repository, if all dependencies are in the same one")
	fs.StringVar(&f.Password, "password", "",
		"password for the registry or repository, if all dependencies are in the same one")
	f.BindTLS(fs)
	f.BindPlain(fs)
	f.VerifyFlags.Bind(fs, factory)
	f.ScriptFlags.Bind(fs)
}

// UpdateDependencies resolves the dependencies of the chart in the directory at path, fetches them
// into charts/ and writes the lock file. It writes Helm's progress lines to out, unless that is
// nil.
func (f *Factory) UpdateDependencies(ctx context.Context, path string, flags DependencyFlags, out io.Writer) error {
	verb, req, err := f.dependencies(path, flags, out)
	if err != nil {
		return err
	}
	return verb.Run(ctx, req)
}

// BuildDependencies fetches the locked dependencies of the chart in the directory at path. out is
// as in [Factory.UpdateDependencies].
func (f *Factory) BuildDependencies(ctx context.Context, path string, flags DependencyFlags, out io.Writer) error {
	verb, req, err := f.dependencies(path, flags, out)
	if err != nil {
		return err
	}
	return action.DependencyBuild(verb).Run(ctx, req)
}

func (f *Factory) dependencies(path string, flags DependencyFlags, out io.Writer) (verb action.DependencyUpdate,
	req action.DependencyRequest, err error) {
	if err := loader.Recover(path); err != nil {
		return verb, req, err
	}
	directory, err := f.openDirectory(path, f.Loader().OpenDirectory)
	if err != nil {
		return verb, req, err
	}
	report := f.Report()
	verb.Progress = func(ev progress.Event) {
		if ev.Kind != progress.Step {
			report(ev)
		} else if out != nil {
			fmt.Fprintln(out, term.Safe(ev.Text))
		}
	}
	verb.Now = f.Now
	modTime, err := loader.ModTime(f.Getenv)
	if err != nil {
		return verb, req, err
	}
	verb.Resolver = &action.RepositoryResolver{
		Directory: path, Finder: f.Finder(flags.Keyring), Repositories: f.Repositories(),
		Host: flags.HostOptions(), Verify: flags.Verify, Loader: f.Loader(), ModTime: modTime, Progress: verb.Progress,
	}
	verb.Events, err = f.Events(flags.ScriptFlags)
	return verb, action.DependencyRequest{Directory: directory, SkipRefresh: flags.SkipRefresh}, err
}
