// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/manifest"
)

// adoptOptions are the flags of `helm adopt`.
type adoptOptions struct {
	Options
	Files    []string
	Selector string
}

// NewAdopt creates `helm adopt`.
func NewAdopt(f *cmdutil.Factory) *cobra.Command {
	var o adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt RELEASE KIND/NAME...",
		Short: "Make existing objects belong to a release",
		Long: `Make objects that exist in the cluster belong to a release, as a new revision of
it. The objects are neither deleted nor restarted: they only get the label and the
annotations that say which release they belong to. The record of the release gets
their manifests: those of -f as they are, otherwise what the live objects have
without their status, the fields that the server sets, and defaults.

The change is shown first, and made when it is confirmed, or with --yes.

An upgrade with a chart that contains the objects changes them as usual. An upgrade
with a chart that does not contain them deletes them, as it does all objects that
leave a chart.

The release must exist. To make a new one of objects that exist, use
helm install --take-ownership; helm diff upgrade --install --take-ownership shows
the changes first.`,
		Example: `  helm adopt web deployment/web service/web

  # What adopting the objects of a file that was applied with kubectl would change
  helm adopt web -f web.yaml --dry-run

  # All objects of two kinds with a label, without asking
  helm adopt web deployment,configmap -l app=web --yes`,
		Args:              cmdutil.Args(1, -1, "the name of a release, and objects"),
		ValidArgsFunction: f.CompleteReleases(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.adopt(cmd, f, args[0], args[1:])
		},
	}
	o.bind(cmd, f)
	fs := cmd.Flags()
	cmdutil.StringSliceVarP(fs, &o.Files, "filename", "f", "files with the manifests of the objects, - for standard input")
	fs.StringVarP(&o.Selector, "selector", "l", "", "adopt the objects of the given kinds that have these labels")
	return cmd
}

func (o *adoptOptions) adopt(cmd *cobra.Command, f *cmdutil.Factory, name string, args []string) error {
	req := action.AdoptRequest{Name: name, Selector: o.Selector}
	var words []string
	for _, arg := range args {
		if strings.Contains(arg, "/") {
			words = append(words, arg)
			continue
		}
		req.Kinds = append(req.Kinds, strings.Split(arg, ",")...)
	}
	var err error
	if req.Objects, err = names(cmd, words); err != nil {
		return err
	}
	if req.Manifests, err = o.readFiles(cmd.Context(), f.In); err != nil {
		return err
	}
	switch {
	case len(req.Kinds) > 0 && o.Selector == "":
		return hint.With(fmt.Errorf("%q names a kind and no object", req.Kinds[0]),
			"write KIND/NAME, or select objects of the kind by their labels with --selector")
	case len(req.Kinds) == 0 && o.Selector != "":
		return hint.With(errors.New("--selector needs the kinds of the objects"),
			"name them: helm adopt "+name+" deployment,service -l "+o.Selector)
	case len(req.Kinds)+len(req.Objects)+len(req.Manifests) == 0:
		return hint.With(errors.New("no objects to adopt"), "name them as KIND/NAME, or a file with --filename")
	}
	config, err := o.config(f)
	if err != nil {
		return err
	}
	a := action.Adopt{Config: config}
	req.TransferOptions = o.options(f)
	return run(cmd.Context(), f, &o.Options, req, verb[action.AdoptRequest]{
		plan: a.Plan, run: a.Run,
		done: func(t *action.Transfer) string {
			return fmt.Sprintf("adopted %s into release %s, revision %d", count(t), name, t.To.To.Revision)
		},
	})
}

// maxManifests is the maximum size of a file of -f.
const maxManifests = 16 << 20

// readFiles returns the objects in the files.
func (o *adoptOptions) readFiles(ctx context.Context, in io.Reader) ([]*manifest.Object, error) {
	var out []*manifest.Object
	for _, path := range o.Files {
		var text []byte
		var err error
		if path == "-" {
			text, err = io.ReadAll(io.LimitReader(in, maxManifests+1))
			if len(text) > maxManifests {
				err = &file.SizeError{Limit: maxManifests}
			}
		} else {
			text, err = file.ReadInput(ctx, path, maxManifests)
		}
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		objects, err := manifest.Parse(path, string(text))
		if err == nil {
			objects, err = manifest.Flatten(objects)
		}
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		for _, object := range objects {
			if !object.Empty {
				out = append(out, object)
			}
		}
	}
	return out, nil
}
