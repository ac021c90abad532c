// SPDX-License-Identifier: Apache-2.0

package env

import (
	"sync"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/fetch"
	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// Repositories are those that were added, and any other by its URL. One run of
// the program has one, so that nothing is fetched twice.
func (e *Env) Repositories() *action.Repositories {
	if e.repositories == nil {
		e.repositories = action.NewRepositories(e.Collection(), e.Report())
	}
	return e.repositories
}

// Collection is what the user has added.
func (e *Env) Collection() repo.Collection {
	return repo.Collection{
		Path: e.Settings.RepositoryConfig, Cache: repo.Cache{Dir: e.Settings.RepositoryCache},
		HTTP:    &action.IndexGetter{HTTP: e.HTTP(), Plugins: sync.OnceValue(func() fetch.Downloader { return e.Plugins() })},
		Waiting: func(l *repo.LockedError) { e.Report().Send(progress.Event{Kind: progress.Warning, Text: l.Error()}) },
	}
}

// Entry is a repository as it is added, with what the flags say.
func (a *AccessFlags) Entry(name, address string, passAll bool) repo.Entry {
	return repo.Entry{
		Name: name, URL: address, Username: a.Username, Password: a.Password, PassAll: passAll,
		CertFile: a.CertFile, KeyFile: a.KeyFile, CAFile: a.CAFile, SkipTLS: a.SkipTLS,
	}
}
