// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Locker keeps others from changing the releases of records. It waits for its
// turn up to patience.
func (e *Env) Locker(cluster *Cluster, records *Records, patience time.Duration) action.Locker {
	return locker{lock.New(cluster.client, pulses{records}, records.namespace, lock.Options{Patience: patience, Progress: e.Report()})}
}

// locker is package lock's, as package op calls it.
type locker struct{ *lock.Locker }

// Lock implements action.Locker.
func (l locker) Lock(ctx context.Context, name, doing string) (context.Context, action.Lock, error) {
	locked, held, err := l.Locker.Lock(ctx, name, doing)
	if err != nil {
		return ctx, nil, err
	}
	return locked, held, nil
}

// pulses are the heartbeats on records, as package lock asks for them.
type pulses struct{ records *Records }

// Beat implements lock.Pulses.
func (p pulses) Beat(ctx context.Context, name string, revision int, seen lock.Pulse, holder string) (lock.Pulse, error) {
	next, err := p.records.store.Beat(ctx, name, revision, storage.Pulse(seen), holder)
	return lock.Pulse(next), p.translate(err)
}

// Pulse implements lock.Pulses.
func (p pulses) Pulse(ctx context.Context, name string, revision int) (lock.Pulse, error) {
	found, err := p.records.store.Pulse(ctx, name, revision)
	return lock.Pulse(found), p.translate(err)
}

func (p pulses) translate(err error) error {
	switch {
	case errors.Is(err, storage.ErrChanged):
		return fmt.Errorf("%w: %w", lock.ErrChanged, err)
	case errors.Is(err, storage.ErrNotFound):
		return fmt.Errorf("%w: %w", lock.ErrNoRecord, p.records.translate(err))
	}
	return err
}
