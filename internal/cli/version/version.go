// SPDX-License-Identifier: Apache-2.0

// Package version is the command that tells which helm this is.
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
	Client   bool // Helm 2's; accepted and needless
}

// New makes the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of helm",
		Long: `Print the version of this binary.

--template takes a Go template over Version, GitCommit, GitTreeState, GoVersion
and KubeClientVersion:

  helm version --template '{{.Version}}'

The number is that of the Helm 4 whose flags and files this takes; our own stands
behind the plus. For programs that refuse any Helm but 3, HELM_COMPAT=3, or calling
this binary helm3, prints the number of a Helm 3, and "helm plugin list" the columns
of Helm 3; HELM_COMPAT=4 and helm4 undo that. Either prints Helm's number alone, for
programs that cannot read what is behind a plus. Nothing else follows from it.

--check asks the project's releases which one is the newest, and prints whether this is
it. Without it, neither this command nor any other looks for new versions. The request
says nothing of you, your machine or your version. MOONHELM_RELEASES is the address of a
mirror.`,
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
	fs.StringVar(&o.Template, "template", "", "Go template to print the version with")
	fs.BoolVar(&o.Check, "check", false, "ask whether this is the newest release")
	fs.BoolVarP(&o.Client, "client", "c", false, "accepted for compatibility: there is only a client")
	_ = fs.MarkHidden("client") // the flag exists: it was registered one line above
	return cmd
}

// helm3 is what Helm 3 tells of itself.
type helm3 struct{ Version, GitCommit, GitTreeState, GoVersion string }

func run(w io.Writer, compat string, o Options) error {
	info := build.Current()
	if compat != "" {
		info = build.Helm(compat)
	}
	var told any = info
	if compat == "3" {
		told = helm3{info.Version, info.GitCommit, info.GitTreeState, info.GoVersion}
	}
	switch {
	case o.Template != "":
		return engine.Text{Name: "--template", Text: o.Template, Data: told}.Execute(w)
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
