// SPDX-License-Identifier: Apache-2.0

package plugin

import "fmt"

// Hint returns advice for users of the command line.
func (e *MemoryError) Hint() string {
	return "HELM_SCRIPT_MEMORY=8Gi sets a higher limit; the default is 1 GiB"
}

// Hint returns advice for users of the command line.
func (e *UnsignedError) Hint() string {
	if e.Git {
		return "--verify=false installs it unverified"
	}
	return "--verify=false installs it unverified: use it only if you trust the source and the connection"
}

// Hint returns advice for users of the command line.
func (e *NotFoundError) Hint() string {
	if len(e.Has) == 0 {
		return "no plugin is installed; helm plugin install adds one"
	}
	return "helm plugin list shows the installed plugins"
}

// Hint returns advice for users of the command line.
func (e *ExistsError) Hint() string {
	return fmt.Sprintf("helm plugin update %s installs its newest version, helm plugin uninstall %[1]s removes it", e.Name)
}
