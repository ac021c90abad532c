// SPDX-License-Identifier: Apache-2.0

package registry

// StartFake starts a registry for an example, and returns its host and how to stop it.
func StartFake() (host string, stop func()) {
	f := startFake(nil)
	return f.host(), f.Close
}
