// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/kube/apply"
)

// RemovalFlags are the flags of an uninstall that say what it deletes and how.
type RemovalFlags struct {
	KeepHistory   bool
	Cascade       string
	NoHooks       bool
	Description   string
	TakeOwnership bool
}

// Bind registers the flags.
func (r *RemovalFlags) Bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&r.KeepHistory, "keep-history", false, "keep the release records, with the status uninstalled")
	fs.StringVar(&r.Cascade, "cascade", string(apply.Background),
		"deletion policy for dependents of deleted objects: background, foreground or orphan")
	fs.BoolVar(&r.NoHooks, "no-hooks", false, "do not run hooks")
	fs.BoolVar(&r.TakeOwnership, "take-ownership", false,
		"allow hooks to replace objects that do not belong to the release")
	fs.StringVar(&r.Description, "description", "", "description in the kept history")
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("cascade",
		cobra.FixedCompletions([]string{"background", "foreground", "orphan"}, cobra.ShellCompDirectiveNoFileComp))
	CompleteChoices(cmd)
}

// Check returns an error if a flag is invalid.
func (r *RemovalFlags) Check() error {
	switch apply.Cascade(r.Cascade) {
	case apply.Background, apply.Foreground, apply.Orphan:
		return nil
	}
	return fmt.Errorf("--cascade is %q, must be background, foreground or orphan", r.Cascade)
}
