// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Latest returns the newest entry of each chart, by name: the newest release, or with devel
// the newest version. It skips charts without one. For errors see [Index.Select].
func (x *Index) Latest(devel bool) iter.Seq2[*Entry, error] {
	return x.Select(func(have []string) []string {
		v, err := newest(have, devel)
		if err != nil {
			return nil
		}
		return []string{v}
	})
}

// All returns all entries: the charts by name, their entries in the order of the index. For
// errors see [Index.Select].
func (x *Index) All() iter.Seq2[*Entry, error] {
	return x.Select(func(have []string) []string { return have })
}

// Select returns, for each chart by name, the entries with the versions that choose returns, in
// that order. Other entries are not decoded.
//
// For an invalid entry the error is an [*EntryError]. If choose has returned only that version,
// it is called again with the others. With any other error the index is invalid and the
// iteration ends.
func (x *Index) Select(choose func(have []string) []string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		r := reader{block: x.body}
		for _, name := range x.sorted {
			if !x.selected(&r, name, choose, yield) {
				return
			}
		}
	}
}

// Chart is [Index.Select] for one chart. A chart that does not exist has no entries.
func (x *Index) Chart(name string, choose func(have []string) []string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if _, ok := x.place[name]; ok {
			x.selected(&reader{block: x.body}, name, choose, yield)
		}
	}
}

// selected yields the selected entries of a chart. It returns false if the iteration was
// stopped.
func (x *Index) selected(r *reader, name string, choose func([]string) []string, yield func(*Entry, error) bool) bool {
	items, err := x.body.items(x.place[name])
	if err != nil {
		return yield(nil, err) && isEntry(err)
	}
	failed := false
	picked := choose(versions(items))
	take := func() bool {
		for _, v := range picked {
			n := slices.IndexFunc(items, func(it item) bool { return it.version == v })
			if n < 0 {
				continue
			}
			e, err := r.entry(name, n, items[n])
			items[n].version = "" // of equal versions, the next one is found
			failed = failed || err != nil
			if !yield(e, err) || err != nil && !isEntry(err) {
				return false
			}
		}
		return true
	}
	if !take() {
		return false
	}
	if !failed || len(picked) > 1 {
		return true
	}
	r.weed(name, items)
	picked = choose(versions(items))
	return take()
}

func isEntry(err error) bool {
	_, ok := errors.AsType[*EntryError](err)
	return ok
}

// Check decodes all entries. repo add and repo update call it before they cache an index. It
// returns an error if the index is invalid; invalid entries are not an error, see
// [Index.Unusable].
func (x *Index) Check() error {
	_, err := x.Unusable()
	return err
}

// mostTold is the maximum number of reported invalid entries of a chart.
const mostTold = 100

// Unusable is [Index.Check], and returns the invalid entries by name, at most a hundred of
// each chart.
func (x *Index) Unusable() (unusable []*EntryError, err error) {
	if err := x.body.check(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var next atomic.Int64
	refused := map[int]error{}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(x.sorted)) {
		wg.Go(func() {
			r := reader{block: x.body}
			for i := int(next.Add(1)) - 1; i < len(x.sorted); i = int(next.Add(1)) - 1 {
				found, err := x.invalidEntries(&r, x.sorted[i])
				mu.Lock()
				unusable = append(unusable, found...)
				if err != nil {
					refused[i] = err
					next.Store(int64(len(x.sorted)))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i := range x.sorted {
		if refused[i] != nil {
			return nil, refused[i]
		}
	}
	slices.SortStableFunc(unusable, func(a, b *EntryError) int {
		return cmp.Or(cmp.Compare(a.Chart, b.Chart), cmp.Compare(a.Number, b.Number))
	})
	return unusable, nil
}

// invalidEntries returns the entries of a chart that cannot be used.
func (x *Index) invalidEntries(r *reader, name string) (unusable []*EntryError, err error) {
	items, err := x.body.items(x.place[name])
	if err != nil {
		return asEntry(nil, err)
	}
	var e Entry
	for n, it := range items {
		e = Entry{}
		if err := r.into(&e, name, n, it); err != nil {
			if unusable, err = asEntry(unusable, err); err != nil {
				return nil, err
			}
		}
	}
	return unusable, nil
}

// asEntry appends err to all if it is an [*EntryError], and returns it otherwise.
func asEntry(all []*EntryError, err error) ([]*EntryError, error) {
	e, ok := errors.AsType[*EntryError](err)
	switch {
	case !ok:
		return nil, err
	case len(all) < mostTold:
		all = append(all, e)
	}
	return all, nil
}
