// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/progress"
)

// WarnFlags warns of flags in use that are insecure or have no effect.
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

// passwordWarning returns Helm's warning if there is a password on the command line, where other
// processes can read it and shells record it, or "" if there is none.
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

// BindRecreatePods registers Helm 3's --recreate-pods, which deleted pods. Here it has no effect,
// and [Factory.WarnFlags] says so.
func BindRecreatePods(fs *pflag.FlagSet) {
	fs.Bool(recreatePods, false, "accepted for compatibility: pods are recreated by their owners")
	_ = fs.MarkHidden(recreatePods) // the flag exists: it is registered above
}
