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

// Latest goes through the newest entry of each chart, by name: the newest
// release, or with devel the newest of all. Charts without one are passed over.
// For errors see [Index.Select].
func (x *Index) Latest(devel bool) iter.Seq2[*Entry, error] {
	return x.Select(func(have []string) []string {
		v, err := newest(have, devel)
		if err != nil {
			return nil
		}
		return []string{v}
	})
}

// All goes through all entries: the charts by name, their entries as they are
// listed. For errors see [Index.Select].
func (x *Index) All() iter.Seq2[*Entry, error] {
	return x.Select(func(have []string) []string { return have })
}

// Select goes through the charts by name, and through the entries whose versions
// choose picks from each chart's, in the order that it gives. Nothing else is
// decoded.
//
// An entry that cannot be used comes as a [*EntryError], and then, if choose
// picked only this one, what it picks of the others. Any other error refuses the
// index and is the last.
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

// Chart is [Index.Select] for one chart only; one that is not there has no entries.
func (x *Index) Chart(name string, choose func(have []string) []string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if _, ok := x.place[name]; ok {
			x.selected(&reader{block: x.body}, name, choose, yield)
		}
	}
}

// selected goes through what choose picks of one chart. It is false when it was
// told to stop.
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
			items[n].version = "" // of two equal versions the next is the second
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

// Check decodes everything: what `repo add` and `repo update` do before they
// trust an index. The error refuses the index; entries that cannot be used are
// no error (see [Index.Survey]).
func (x *Index) Check() error {
	_, err := x.Unusable()
	return err
}

// mostTold is how many unusable entries of a chart are told of.
const mostTold = 100

// Unusable is [Index.Check], and returns the entries that cannot be used, by name: the
// first hundred of each chart.
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
				found, err := x.survey(&r, x.sorted[i])
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

func (x *Index) survey(r *reader, name string) (unusable []*EntryError, err error) {
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

// asEntry puts an error that is about an entry to the others.
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
