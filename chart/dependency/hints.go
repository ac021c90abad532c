// SPDX-License-Identifier: Apache-2.0

package dependency

// Hint suggests to update the lock file. It begins like Helm's message, which scripts look
// for.
func (e *SyncError) Hint() string {
	return "Please update the dependencies with 'helm dependency update'; helm dependency list shows what is there"
}
