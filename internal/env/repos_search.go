// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/repo"
)

// WarnUnusable tells of entries of an index that are passed over.
func (e *Env) WarnUnusable(r repo.Result) {
	const most = 3
	for i, bad := range r.Unusable {
		text := fmt.Sprintf("repository %s: %v", r.Entry.Name, bad)
		if left := len(r.Unusable) - i; i == most-1 && left > 1 {
			text += fmt.Sprintf(" (and %d more)", left-1)
		}
		if i < most {
			e.Report().Send(progress.Event{Kind: progress.Warning, Text: text})
		}
	}
}

// Search looks for charts in all repositories that were added, the best first.
// It warns of those whose index cannot be used.
func (r *Repositories) Search(ctx context.Context, q *repo.Query) ([]repo.Found, error) {
	f, err := r.load()
	if err != nil {
		return nil, err
	}
	if len(f.Entries) == 0 {
		return nil, &repo.NoneError{}
	}
	found := make([][]repo.Found, len(f.Entries))
	var wg sync.WaitGroup
	turn := make(chan struct{}, manySearched)
	for i, e := range f.Entries {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if ctx.Err() != nil {
				return
			}
			x, err := r.home.Cache.Index(e.Name)
			if err == nil {
				found[i], err = q.In(e.Name, x)
				err = errors.Join(err, x.Close())
			}
			if err != nil {
				r.warn(progress.Event{Kind: progress.Warning, Text: fmt.Sprintf("%v; helm repo update %s fetches it", err, e.Name)})
			}
		})
	}
	wg.Wait()
	all := slices.Concat(found...)
	repo.SortFound(all)
	return all, ctx.Err()
}

// manySearched is how many indexes are searched at once: each is in memory whole.
const manySearched = 2
