// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/chart/values"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// Chart loads the chart that ref names: a directory or archive on disk, a chart of an added
// repository ("repo/name"), or a URL (http, https, oci, or a plugin's scheme). flags may be nil.
func (f *Factory) Chart(ctx context.Context, ref string, flags *ChartFlags) (*chart.Chart, error) {
	if flags == nil {
		flags = &ChartFlags{}
	}
	if flags.Repo == "" {
		info, err := os.Stat(ref)
		switch {
		case err == nil && flags.Verify:
			return f.loadVerified(ref, flags.Keyring)
		case err == nil && flags.update && info.IsDir():
			return f.loadUpdated(ctx, ref, flags)
		case err == nil && info.Mode()&fs.ModeNamedPipe != 0: // the shell's <(...)
			data, err := file.ReadInput(ctx, ref, maxArchive)
			if err != nil {
				return nil, fmt.Errorf("open chart: %w", err)
			}
			return f.sendWarnings(f.Loader().LoadArchive(ref, bytes.NewReader(data)))
		case err == nil:
			return f.sendWarnings(f.Loader().Load(ref))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("open chart: %w", err)
		}
	}
	found, err := f.Finder(flags.Keyring).Find(ctx, flags.Ref(ref))
	if _, ok := errors.AsType[*repo.NotFoundError](err); ok { // ref may have been meant as a path
		return nil, fmt.Errorf("%w, and there is no directory or archive %q", err, ref)
	}
	if _, ok := errors.AsType[*fetch.NameError](err); ok { // ref can only be a path
		return nil, &action.ChartNotFoundError{Ref: ref, Named: true}
	}
	if err != nil {
		return nil, err
	}
	return f.open(found)
}

// loadUpdated loads the chart in the directory at path after fetching the dependencies that it
// lacks.
func (f *Factory) loadUpdated(ctx context.Context, path string, flags *ChartFlags) (*chart.Chart, error) {
	c, warnings, err := f.Loader().Load(path)
	if err == nil && len(values.Missing(c)) == 0 {
		return f.sendWarnings(c, warnings, nil)
	}
	update := DependencyFlags{AccessFlags: flags.AccessFlags, VerifyFlags: VerifyFlags{Keyring: flags.Keyring},
		ScriptFlags: *flags.scripts}
	if err := f.UpdateDependencies(ctx, path, update, f.Err); err != nil {
		return nil, err
	}
	return f.sendWarnings(f.Loader().Load(path))
}

// open loads a fetched archive.
func (f *Factory) open(a *fetch.Archive) (*chart.Chart, error) {
	archive, err := file.Open(a.Path)
	if err != nil {
		return nil, fmt.Errorf("open chart %s: %w", a.Name, err)
	}
	defer archive.Close()
	return f.sendWarnings(f.Loader().LoadArchive(a.Name, archive))
}

// Loader returns the chart loader for the settings.
func (f *Factory) Loader() loader.Loader { return loader.Loader{ChartV3: f.Settings.ChartV3} }

// sendWarnings reports the warnings of a loaded chart.
func (f *Factory) sendWarnings(c *chart.Chart, warnings []string, err error) (*chart.Chart, error) {
	report := f.Report()
	for _, w := range warnings {
		report.Send(progress.Event{Kind: progress.Warning, Text: w})
	}
	return c, err
}

// maxArchive is the size of the largest archive that is verified, in bytes.
const maxArchive = 200 << 20

// loadVerified verifies the archive at path with the provenance file beside it, and loads it. It
// reads the archive once, so the loaded chart is the verified one even if the file changes
// meanwhile.
func (f *Factory) loadVerified(path, keyring string) (*chart.Chart, error) {
	var data bytes.Buffer
	tooLarge := fmt.Errorf("%s is larger than %d MiB", path, maxArchive>>20)
	if _, err := f.VerifyArchive(path, keyring, &file.LimitWriter{W: &data, Left: maxArchive, Err: tooLarge}); err != nil {
		return nil, err
	}
	return f.sendWarnings(f.Loader().LoadArchive(path, &data))
}

// Finder returns a finder of charts that verifies them with the public keys of keyring.
func (f *Factory) Finder(keyring string) *fetch.Finder {
	return &fetch.Finder{
		HTTP: f.HTTP(), Repositories: f.Repositories(), Registry: f.Registry(), Plugins: f.Plugins(),
		Verifier: f.Verifier(keyring), Cache: f.Cache(), Progress: f.Report(),
	}
}
