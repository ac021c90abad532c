// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"sync"
)

// flight is what makes two downloads the same.
type flight struct {
	url, digest, home string
	access            HostOptions
	prov              bool
}

// flights let those who want the same at the same time share one download. The
// zero value has none.
type flights struct {
	mu   sync.Mutex
	list map[flight]*landing
}

type landing struct {
	done chan struct{}
	got  Archive
	err  error
}

// join returns what fn returns, or what it returns to a caller who was there
// first. If that one was interrupted, the next takes over.
func (f *flights) join(ctx context.Context, key flight, fn func() (Archive, error)) (Archive, error) {
	for {
		f.mu.Lock()
		l, ok := f.list[key]
		if !ok {
			l = &landing{done: make(chan struct{}), err: errors.New("the download ended without a result")}
			if f.list == nil {
				f.list = map[flight]*landing{}
			}
			f.list[key] = l
			f.mu.Unlock()
			return f.lead(key, l, fn)
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return Archive{}, &InterruptedError{URL: Clean(key.url), Err: ctx.Err()}
		case <-l.done:
		}
		if l.err == nil || ctx.Err() == nil && !interrupted(l.err) {
			return l.got, l.err
		}
	}
}

func (f *flights) lead(key flight, l *landing, fn func() (Archive, error)) (Archive, error) {
	defer func() {
		f.mu.Lock()
		delete(f.list, key)
		f.mu.Unlock()
		close(l.done)
	}()
	l.got, l.err = fn()
	return l.got, l.err
}

func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
