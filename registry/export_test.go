// SPDX-License-Identifier: Apache-2.0

package registry

// StartFake starts a registry for an example and returns its host and a function that stops it.
func StartFake() (host string, stop func()) {
	f := startFake(nil)
	return f.host(), f.Close
}
