// SPDX-License-Identifier: Apache-2.0

// Package version provides the command that prints helm's version.
package version

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/internal/build"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// Options are the flags of `helm version`.
type Options struct {
	Short    bool
	Template string
	Check    bool
	Client   bool // Helm 2's; no effect
}

// New makes the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of helm",
		Long: `Print the version of this binary.

The fields of --template are Version, GitCommit, GitTreeState, GoVersion
and KubeClientVersion.

The number is the compatible version of Helm 4, and after the plus
this program's own. For programs that support Helm 3 only, HELM_COMPAT=3, or calling
this binary helm3, prints a version of Helm 3, and "helm plugin list" the columns
of Helm 3; HELM_COMPAT=4 and helm4 revert that. Either prints the number without the
plus, for programs that cannot parse it. They change nothing else.

--check compares this version with the newest release of the project. Without it, neither
this command nor any other looks for new versions. The request contains nothing about
you, your machine or your version. MOONHELM_RELEASES is the address of a mirror.`,
		Example: `  helm version
  helm version --short
  helm version --template '{{.Version}}'
  helm version --check`,
		Args:              cmdutil.Args(0, 0, ""),
		ValidArgsFunction: cmdutil.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := run(f.Out, f.Settings.Compat, o); err != nil || !o.Check {
				return err
			}
			return check(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.Short, "short", false, "print the version number only")
	fs.StringVar(&o.Template, "template", "", "Go template for the output")
	fs.BoolVar(&o.Check, "check", false, "check whether this is the newest release")
	fs.BoolVarP(&o.Client, "client", "c", false, "accepted for compatibility: there is only a client")
	_ = fs.MarkHidden("client") // the flag exists: it is registered one line above
	return cmd
}

// helm3 is Helm 3's build information.
type helm3 struct{ Version, GitCommit, GitTreeState, GoVersion string }

func run(w io.Writer, compat string, o Options) error {
	info := build.Current()
	if compat != "" {
		info = build.Helm(compat)
	}
	var shown any = info
	if compat == "3" {
		shown = helm3{info.Version, info.GitCommit, info.GitTreeState, info.GoVersion}
	}
	switch {
	case o.Template != "":
		return engine.Text{Name: "--template", Text: o.Template, Data: shown}.Execute(w)
	case o.Short:
		_, err := fmt.Fprintln(w, info.Short())
		return err
	}
	kube := ""
	if info.KubeClientVersion != "" {
		kube = fmt.Sprintf(", KubeClientVersion:%q", info.KubeClientVersion)
	}
	_, err := fmt.Fprintf(w, "version.BuildInfo{Version:%q, GitCommit:%q, GitTreeState:%q, GoVersion:%q%s}\n",
		info.Version, info.GitCommit, info.GitTreeState, info.GoVersion, kube)
	return err
}
