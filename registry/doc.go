// SPDX-License-Identifier: Apache-2.0

// Package registry keeps charts in OCI registries: it pushes and pulls archives with their
// provenance, lists versions, and logs in.
//
//	client := &registry.Client{Credentials: &registry.Credentials{File: "config.json"}}
//	ref, err := registry.ParseRef("oci://registry.example.com/charts/web:1.2.0")
//	...
//	pulled, err := client.Pull(ctx, ref, file, registry.PullOptions{})
//
// Manifests and blobs have the format of Helm's; sizes are bounded, and digests are checked.
// Credentials are read from the files in which Helm and Docker keep them. They are sent to
// the registry that they are for, and to the token server that it names, and nowhere else.
// The package does not load charts, choose versions or check signatures.
package registry
