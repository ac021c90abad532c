// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/progress"
)

// WarnFlags warns of flags that cmd was called with and that do harm, or nothing.
func (f *Factory) WarnFlags(cmd *cobra.Command) {
	warn := func(text string) { f.Report().Send(progress.Event{Kind: progress.Warning, Text: text}) }
	if text := passwordWarning(cmd.Flags()); text != "" {
		warn(text)
	}
	if on, err := cmd.Flags().GetBool(recreatePods); err == nil && on {
		warn("--" + recreatePods + " has no effect: a pod is replaced when its template changes: an annotation " +
			"with a checksum of the configuration does that, or kubectl rollout restart")
	}
}

// passwordWarning is what is said of a password on the command line, in Helm's words: every
// process of the machine can read it there, and shells write it down. It is "" where there
// is none.
func passwordWarning(fs *pflag.FlagSet) string {
	given := fs.Lookup("password")
	if given == nil || given.Value.String() == "" {
		return ""
	}
	const insecure = "using --password via the CLI is insecure. "
	if fs.Lookup("password-stdin") != nil {
		return insecure + "Use --password-stdin"
	}
	return insecure + "helm repo add and helm registry login have --password-stdin, and keep what they read"
}

const recreatePods = "recreate-pods"

// BindRecreatePods registers a flag that Helm 3 has: it deletes pods there. Here it has no
// effect, and [Factory.WarnFlags] says so.
func BindRecreatePods(fs *pflag.FlagSet) {
	fs.Bool(recreatePods, false, "accepted for compatibility: pods are recreated by what owns them")
	_ = fs.MarkHidden(recreatePods) // the flag exists: it was registered one line above
}
