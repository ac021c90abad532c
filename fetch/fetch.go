// SPDX-License-Identifier: Apache-2.0

// Package fetch downloads charts by the references that users give ([Finder]), and content of
// any URL ([Client]).
//
//	cache := &fetch.Cache{Dir: dir}
//	defer cache.Close()
//	finder := &fetch.Finder{HTTP: &fetch.Client{}, Registry: &action.Registries{}, Cache: cache}
//	archive, err := finder.Find(ctx, fetch.Ref{Name: "oci://registry.example.com/charts/web", Version: "^1.2"})
//	...
//	c, err := loader.Load(archive.Path) // package chart/loader
//
// A reference is "repository/name", an oci:// reference, a URL, or a chart in the repository
// Ref.Repo. An [Archive] is a file in the [Cache], named and verified by its SHA-256, so that
// fetching it again needs no request. Sizes and times are limited, and credentials are
// sent only to the host that they were given for ([HostOptions.For]).
//
// Repositories, registries, plugins and signatures are interfaces ([Repositories], [Registry],
// [Downloader], [Verifier]); package action implements the first two with NewRepositories and
// Registries. Finder, Client and Cache are safe for concurrent use: simultaneous requests for
// the same archive share one download. Errors have types and never contain a password.
package fetch

import "strings"

// MaxText is the largest content that [Client.Text] returns, in bytes.
const MaxText = 20 << 20

// MaxArchive is the largest chart archive that is fetched, in bytes.
const MaxArchive = 200 << 20

// IsURL reports whether location is an http or https URL.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}
