// SPDX-License-Identifier: Apache-2.0

// Package repo manages a user's chart repositories: the file with their settings, and their
// cached indexes. Both have Helm's format and location, and Helm may use them at the same
// time.
//
//	repos := repo.Collection{Path: "repositories.yaml", Cache: repo.Cache{Dir: "cache"}, HTTP: &action.IndexGetter{}}
//	_, err := repos.Add(ctx, repo.Entry{Name: "stable", URL: "https://charts.example.com"}, false, false)
//	...
//	index, err := repos.Cache.Index("stable")
//
// The package does not fetch indexes itself, see [Getter]. Package index reads them.
package repo
