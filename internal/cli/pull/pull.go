// SPDX-License-Identifier: Apache-2.0

// Package pull provides the command that downloads charts.
package pull

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/registry"
)

// Options are the flags of `helm pull`.
type Options struct {
	Chart       cmdutil.ChartFlags
	Prov        bool
	Untar       bool
	UntarDir    string
	Destination string
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:     "pull CHART...",
		Aliases: []string{"fetch"},
		Short:   "Download charts from a repository or a registry",
		Long: `Download charts, and unpack them with --untar. CHART is repo/name, the
URL of an archive, or oci://host/path/name.

Archives are written completely or not at all. With --verify, an archive is
discarded if its provenance file is missing or invalid.`,
		Example: `  helm pull example/web --version '^1.2'
  helm pull example/web --untar --untardir charts
  helm pull web --repo https://charts.example.com
  helm pull oci://registry.example.com/charts/web --verify --keyring ann.asc`,
		Args:              cmdutil.Args(1, -1, "a chart: repo/name, or a URL"),
		ValidArgsFunction: f.CompleteChart(-1, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, ref := range args {
				if err := run(cmd.Context(), f, o, ref); err != nil {
					return err
				}
			}
			return nil
		},
	}
	fs := cmd.Flags()
	o.Chart.Bind(cmd, f)
	fs.BoolVar(&o.Prov, "prov", false, "download the provenance file too, without verification")
	fs.BoolVar(&o.Untar, "untar", false, "unpack the chart, and discard the archive")
	fs.StringVar(&o.UntarDir, "untardir", ".",
		"with --untar, directory to unpack to, relative to --destination")
	fs.StringVarP(&o.Destination, "destination", "d", ".", "directory to write to")
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options, name string) error {
	ref := o.Chart.Ref(name)
	ref.Prov = o.Prov || o.Chart.Verify
	found, err := f.Finder(o.Chart.Keyring).Find(ctx, ref)
	if err != nil {
		return err
	}
	if found.Pushed != "" {
		// in the registry's form, with _ for +: scripts pass it to other tools
		from := strings.TrimPrefix(found.URL, registry.Scheme)
		if parsed, err := registry.ParseRef(found.URL); err == nil {
			from = parsed.String()
		}
		fmt.Fprintf(f.Lines(), "Pulled: %s\nDigest: %s\n", from, found.Pushed)
	}
	if found.Signer != "" {
		fmt.Fprintln(f.Out, found.Signer)
	}
	if o.Prov && found.Provenance == nil {
		fmt.Fprintf(f.Err, "WARNING: there is no provenance file for %s\n", found.URL)
	}
	if o.Untar {
		dir := o.UntarDir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(o.Destination, dir)
		}
		_, err = unpack(found, dir)
		return err
	}
	_, err = keep(found, o.Destination)
	return err
}

// keep copies a fetched archive and its provenance file, if there is one, into dir, replacing
// existing files. It returns the archive's path.
func keep(a *fetch.Archive, dir string) (string, error) {
	f, err := file.Open(a.Path)
	if err != nil {
		return "", fmt.Errorf("keep %s: %w", a.Name, err)
	}
	defer f.Close()
	path, err := loader.Put(dir, a.Name, f)
	if err != nil || a.Provenance == nil {
		return path, err
	}
	_, err = loader.Put(dir, a.Name+".prov", bytes.NewReader(a.Provenance))
	return path, err
}

// unpack unpacks a fetched archive into a directory in dir with the chart's name, and returns its
// path.
func unpack(a *fetch.Archive, dir string) (string, error) {
	f, err := file.Open(a.Path)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", a.Name, err)
	}
	defer f.Close()
	return loader.Expand(dir, f)
}
