// SPDX-License-Identifier: Apache-2.0

package dependency

// Hint says what a user of the command line can do about it, close to Helm's words, which
// scripts look for.
func (e *SyncError) Hint() string {
	return "Please update the dependencies with 'helm dependency update'; helm dependency list shows what is there"
}
