// SPDX-License-Identifier: Apache-2.0

// Package fetch downloads charts, by the names that users give them ([Finder]), and
// anything at a URL ([Client]).
//
//	cache := &fetch.Cache{Dir: dir}
//	defer cache.Close()
//	finder := &fetch.Finder{HTTP: &fetch.Client{}, Registry: &action.Registries{}, Cache: cache}
//	archive, err := finder.Find(ctx, fetch.Ref{Name: "oci://registry.example.com/charts/web", Version: "^1.2"})
//	...
//	c, err := loader.Load(archive.Path) // package chart/loader
//
// A name is "repository/name", an oci:// reference, a URL, or a chart in the repository
// Ref.Repo. An [Archive] is a file of the [Cache], named and verified by its SHA-256, so
// that what was fetched before needs no request. Sizes and times are bounded, and
// credentials are sent only to the host that they were given for ([HostOptions.For]).
//
// Repositories, registries, plugins and signatures come in as small interfaces
// ([Repositories], [Registry], [Downloader], [Verifier]); package action has
// implementations of the first two, NewRepositories and Registries. Finder, Client and
// Cache are safe for concurrent use: simultaneous requests for one archive share one
// download. Errors have types and hold no password.
package fetch

import "strings"

// MaxText is the largest text that [Client.Text] reads, in bytes.
const MaxText = 20 << 20

// MaxArchive is the largest archive of a chart that is fetched, in bytes.
const MaxArchive = 200 << 20

// IsURL reports whether location is an http or https URL.
func IsURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}
