// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo/index"
)

// indexOptions are the flags of `helm repo index`.
type indexOptions struct {
	URL   string
	Merge string
	JSON  bool
}

func newIndex(f *cmdutil.Factory) *cobra.Command {
	var o indexOptions
	cmd := &cobra.Command{
		Use:   "index DIR",
		Short: "Generate the index of a chart directory",
		Long: `Read the chart archives in a directory and its subdirectories, and write
index.yaml to it. Any web server can then serve the directory as a repository.

With --merge, add the entries of another index, so that only new archives
need to be in the directory. Archives that are not charts are skipped with a warning.`,
		Example: `  helm package ./mychart -d public
  helm repo index public --url https://charts.example.com`,
		Args: cmdutil.Args(1, 1, "a directory of chart archives"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), f, args[0]) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	cmd.Flags().StringVar(&o.URL, "url", "", "URL at which the directory will be served (default: "+
		"relative to the index)")
	cmd.Flags().StringVar(&o.Merge, "merge", "", "index to merge; archives in the directory override its entries")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "write the index as JSON")
	return cmd
}

func (o *indexOptions) run(ctx context.Context, f *cmdutil.Factory, dir string) error {
	listing, err := index.Build(ctx, dir, o.URL, f.Now())
	if err != nil {
		return err
	}
	if err := o.merge(listing); err != nil {
		return err
	}
	for _, skipped := range listing.Skipped {
		f.Report().Send(progress.Event{Kind: progress.Warning, Text: skipped.Error()})
	}
	return o.write(listing, filepath.Join(dir, "index.yaml"))
}

// merge adds the entries of the other index, if it exists: there is none before the first
// publication.
func (o *indexOptions) merge(listing *index.Listing) error {
	if o.Merge == "" {
		return nil
	}
	prev, err := index.Open(o.Merge)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--merge: %w", err)
	}
	return errors.Join(listing.Merge(prev), prev.Close())
}

// write writes the index atomically, so that a server of the directory never serves a partial one.
func (o *indexOptions) write(listing *index.Listing, path string) error {
	text := listing.WriteYAML
	if o.JSON {
		text = listing.WriteJSON
	}
	if err := file.WriteAtomic(path, 0o644, func(f *os.File) error { return text(f) }); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
