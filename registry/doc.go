// SPDX-License-Identifier: Apache-2.0

// Package registry keeps charts in OCI registries: it pushes and pulls archives with
// their provenance, lists versions, and knows who we are to a registry.
//
// In come references ("oci://host/path/name:version"), archives, and the files
// in which Helm and Docker keep credentials; out come manifests and blobs in the
// format that Helm has (see CONTRACTS.md), whose sizes are bounded and whose
// digests are checked. Credentials go to the registry that they are for, and to
// the token server that it names, and nowhere else. The package does not load
// charts, does not choose versions, and does not check signatures.
package registry
