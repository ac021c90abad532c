// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"time"

	"github.com/moonhelm/moonhelm/lock"
	"github.com/moonhelm/moonhelm/op"
)

// Locker keeps others from changing the releases of records. It waits for its
// turn up to patience.
func (e *Env) Locker(cluster *Cluster, records *Records, patience time.Duration) op.Locker {
	return locker{lock.New(cluster.client, pulses{records}, records.namespace, lock.Options{Patience: patience, Progress: e.Report()})}
}

// locker is package lock's, as package op calls it.
type locker struct{ *lock.Locker }

// Lock implements op.Locker.
func (l locker) Lock(ctx context.Context, name, doing string) (context.Context, op.Lock, error) {
	locked, held, err := l.Locker.Lock(ctx, name, doing)
	if err != nil {
		return ctx, nil, err
	}
	return locked, held, nil
}

// pulses are records' signs of life, as package lock asks for them.
type pulses struct{ records *Records }

// Beat implements lock.Pulses.
func (p pulses) Beat(ctx context.Context, name string, revision int) error {
	return p.records.store.Beat(ctx, name, revision)
}

// Pulse implements lock.Pulses.
func (p pulses) Pulse(ctx context.Context, name string, revision int) (lock.Pulse, error) {
	found, err := p.records.store.Pulse(ctx, name, revision)
	return lock.Pulse(found), p.records.translate(err)
}
