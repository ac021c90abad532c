// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"sync"

	"github.com/moonhelm/moonhelm/kube"
)

// ForEachKind calls fn for the targets in order, concurrently for consecutive targets of one kind.
// If one fails, the others of that kind are still processed, but no later ones.
func ForEachKind(ctx context.Context, targets []*Target, fn func(context.Context, *Target) error) error {
	return ForEachBatch(ctx, targets, func(a, b *Target) bool { return a.Kind == b.Kind }, fn)
}

// ForEachBatch is like [ForEachKind] for any type: consecutive elements that are alike are
// processed concurrently.
func ForEachBatch[T any](ctx context.Context, all []T, alike func(a, b T) bool, fn func(context.Context,
	T) error) error {
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && alike(all[start], all[end]) {
			end++
		}
		if err := ForEach(ctx, all[start:end], fn); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// ForEach calls fn for all elements, at most [kube.Parallel] at once, and joins the errors in
// the order of the elements.
func ForEach[T any](ctx context.Context, all []T, fn func(context.Context, T) error) error {
	errs := make([]error, len(all))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(kube.Parallel, len(all)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = fn(ctx, all[i])
			}
		})
	}
	for i := range all {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(errs...)
}
