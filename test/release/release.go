// SPDX-License-Identifier: Apache-2.0

// Package release tests what users take a release from: the installer get-moonhelm against a
// file server, the configuration that releases are made by, and, with MOONHELM_DIST naming
// what make release-snapshot built, the archives and packages themselves. It is a module of its
// own, so that the product does not depend on what these tests need.
package release
