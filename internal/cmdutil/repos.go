// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"sync"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// Repositories returns the added repositories, and gives access to others by URL. There is one for
// each run of the program, so that nothing is fetched twice.
func (f *Factory) Repositories() *action.Repositories {
	if f.repositories == nil {
		f.repositories = action.NewRepositories(f.Collection(), f.Report())
	}
	return f.repositories
}

// Collection returns the repositories that the user has added.
func (f *Factory) Collection() repo.Collection {
	return repo.Collection{
		Path: f.Settings.RepositoryConfig, Cache: repo.Cache{Dir: f.Settings.RepositoryCache},
		HTTP:    &action.IndexGetter{HTTP: f.HTTP(), Plugins: sync.OnceValue(func() fetch.Downloader { return f.Plugins() })},
		Waiting: func(l *repo.LockedError) { f.Report().Send(progress.Event{Kind: progress.Warning, Text: l.Error()}) },
	}
}

// Entry returns the entry of a repository to add, with the flags' options.
func (a *AccessFlags) Entry(name, address string, passAll bool) repo.Entry {
	return repo.Entry{
		Name: name, URL: address, Username: a.Username, Password: a.Password, PassAll: passAll,
		CertFile: a.CertFile, KeyFile: a.KeyFile, CAFile: a.CAFile, SkipTLS: a.SkipTLS,
	}
}
