// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/plugin"
)

// pluginHints say what to do about an error that has to do with a plugin, nil for
// others.
func pluginHints(err error) []string {
	var (
		unsigned *plugin.UnsignedError
		missing  *plugin.NotFoundError
		exists   *plugin.ExistsError
		memory   *plugin.MemoryError
	)
	switch {
	case errors.As(err, &memory):
		return []string{"HELM_SCRIPT_MEMORY=8Gi gives it more; without that it is 1 GiB"}
	case errors.As(err, &unsigned) && unsigned.Git:
		return []string{"--verify=false installs it unverified"}
	case errors.As(err, &unsigned):
		return []string{"--verify=false installs it unverified: do that only if you trust where it comes from, and the way from there"}
	case errors.As(err, &missing) && len(missing.Has) == 0:
		return []string{"no plugin is installed; helm plugin install adds one"}
	case errors.As(err, &missing):
		return []string{"helm plugin list shows those that are installed"}
	case errors.As(err, &exists):
		return []string{fmt.Sprintf("helm plugin update %s brings its newest version, helm plugin uninstall %[1]s removes it", exists.Name)}
	}
	return nil
}
