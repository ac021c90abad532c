// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"sync"
)

// flight identifies a download.
type flight struct {
	url, digest, home string
	access            HostOptions
	prov              bool
}

// flights lets concurrent callers share a download. The zero value is ready to use.
type flights struct {
	mu   sync.Mutex
	list map[flight]*landing
}

type landing struct {
	done chan struct{}
	got  Archive
	err  error
}

// join returns the result of fn, or that of a concurrent call with the same key. If the
// context of that call is canceled, another caller calls its fn.
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
			return Archive{}, &InterruptedError{URL: RedactURL(key.url), Err: ctx.Err()}
		case <-l.done:
		}
		if l.err == nil || ctx.Err() == nil && !isInterrupted(l.err) {
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

func isInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
