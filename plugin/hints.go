// SPDX-License-Identifier: Apache-2.0

package plugin

import "fmt"

// Hint says what a user of the command line can do about it.
func (e *MemoryError) Hint() string {
	return "HELM_SCRIPT_MEMORY=8Gi gives it more; without that it is 1 GiB"
}

// Hint says what a user of the command line can do about it.
func (e *UnsignedError) Hint() string {
	if e.Git {
		return "--verify=false installs it unverified"
	}
	return "--verify=false installs it unverified: do that only if you trust where it comes from, and the way from there"
}

// Hint says what a user of the command line can do about it.
func (e *NotFoundError) Hint() string {
	if len(e.Has) == 0 {
		return "no plugin is installed; helm plugin install adds one"
	}
	return "helm plugin list shows those that are installed"
}

// Hint says what a user of the command line can do about it.
func (e *ExistsError) Hint() string {
	return fmt.Sprintf("helm plugin update %s brings its newest version, helm plugin uninstall %[1]s removes it", e.Name)
}
