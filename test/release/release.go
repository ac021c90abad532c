// SPDX-License-Identifier: Apache-2.0

// Package release tests the files of a release as users get them: the installer get-moonhelm
// against a file server, the configuration of goreleaser and, if MOONHELM_DIST is the directory
// of make release-snapshot, the archives and packages. It is a module of its own so that the
// product does not depend on the libraries of these tests.
package release
