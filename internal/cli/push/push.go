// SPDX-License-Identifier: Apache-2.0

// Package push provides the command that pushes charts to registries.
package push

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
)

// Options are the flags of `helm push`.
type Options struct {
	cmdutil.AccessFlags
	File   string
	Remote string
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "push CHART REMOTE",
		Short: "Push a chart to a registry",
		Long: `Push a chart archive to an OCI registry, and its provenance file
if there is one beside it. REMOTE is the parent path; the chart's name becomes
the last element of the path, and its version the tag, with _ for + (registries
do not allow + in tags; a pull reverts it).`,
		Example: `  helm package ./mychart
  helm push mychart-0.1.0.tgz oci://registry.example.com/charts
  helm pull oci://registry.example.com/charts/mychart --version 0.1.0`,
		Args: cmdutil.Args(2, 2, "a chart archive and a remote such as oci://registry.example.com/charts"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"tgz"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return []string{"oci://"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Remote = args[0], args[1]
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Username, "username", "", "user name for the registry, instead of the stored one")
	fs.StringVar(&o.Password, "password", "", "password for the registry, instead of the stored one")
	o.BindTLS(fs)
	o.BindPlain(fs)
	return cmd
}

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	push := action.Push{Registries: f.Registry(), Loader: f.Loader(), Progress: f.Report()}
	pushed, err := push.Run(ctx, action.PushRequest{Path: o.File, Remote: o.Remote, Host: o.HostOptions()})
	if err != nil {
		return err
	}
	ref := term.SafeLine(pushed.Ref.String())
	if _, err := fmt.Fprintf(f.Out, "Pushed: %s\nDigest: %s\n", ref, pushed.Manifest); err != nil {
		return err
	}
	if strings.Contains(pushed.Ref.Tag, "_") {
		_, err = fmt.Fprintf(f.Err, "The tag has _ for the + of the version, because registries do not allow + in tags; "+
			"a pull reverts it.\n")
	}
	return err
}
