// SPDX-License-Identifier: Apache-2.0

// Package registry is a client of OCI registries for charts: it pushes and pulls archives with
// their provenance files, lists versions, and logs in.
//
//	client := &registry.Client{Credentials: &registry.Credentials{File: "config.json"}}
//	ref, err := registry.ParseRef("oci://registry.example.com/charts/web:1.2.0")
//	...
//	pulled, err := client.Pull(ctx, ref, file, registry.PullOptions{})
//
// Manifests and blobs have Helm's format; sizes are limited, and digests are verified.
// Credentials are read from the files of Helm and Docker. They are sent only to their registry
// and to the token server that it names. The package does not load charts, choose versions or
// verify signatures.
package registry
