// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/env"
)

// New makes the command.
func New(e *env.Env) *cobra.Command { return &cobra.Command{Use: "repo"} }
