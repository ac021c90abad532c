// SPDX-License-Identifier: Apache-2.0

// Package repo keeps the chart repositories that a user has added: the file that lists
// them, and the indexes that were fetched from them. Both have Helm's formats and places,
// and Helm may use them at the same time.
//
//	repos := repo.Collection{Path: "repositories.yaml", Cache: repo.Cache{Dir: "cache"}, HTTP: &action.IndexGetter{}}
//	_, err := repos.Add(ctx, repo.Entry{Name: "stable", URL: "https://charts.example.com"}, false, false)
//	...
//	index, err := repos.Cache.Index("stable")
//
// It fetches nothing itself: how an index is fetched is the caller's, see [Getter], and
// what an index lists is a matter of package index.
package repo
