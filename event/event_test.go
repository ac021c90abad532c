// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/release"
)

// A Go program that embeds Moonhelm handles an event.
func Example() {
	bus := &event.Bus{}
	event.On(bus, "replica policy", event.DefaultPriority, func(_ context.Context, e *event.PreRender) error {
		e.Values["replicas"] = 3
		return nil
	})

	// An operation such as action.Install emits events.
	moment := &event.PreRender{Payload: event.Payload{Values: map[string]any{"replicas": 1}}}
	if err := bus.Emit(context.Background(), moment); err != nil {
		fmt.Println(err)
	}
	fmt.Println(moment.Values["replicas"])
	// Output: 3
}

func TestEmitRegistrationOrder(t *testing.T) {
	bus := &event.Bus{}
	var got []string
	for _, h := range []struct {
		name     string
		priority float64
	}{{"last", 1}, {"middle-1", event.DefaultPriority}, {"first", 0}, {"middle-2", 0.5}, {"middle-3", 0.5}} {
		event.On(bus, h.name, h.priority, func(context.Context, *event.PreInstall) error {
			got = append(got, h.name)
			return nil
		})
	}
	event.On(bus, "another event's", 0, func(context.Context, *event.PostInstall) error {
		t.Error("answered an event that is not its own")
		return nil
	})
	if err := bus.Emit(t.Context(), &event.PreInstall{}); err != nil {
		t.Fatal(err)
	}
	if want := "first middle-1 middle-2 middle-3 last"; strings.Join(got, " ") != want {
		t.Errorf("got %v, wanted %s", got, want)
	}
}

func TestEmitStopsAtError(t *testing.T) {
	bus := &event.Bus{}
	no := errors.New("no")
	event.On(bus, "policy", 0, func(context.Context, *event.PreDelete) error { return no })
	event.On(bus, "later", 1, func(context.Context, *event.PreDelete) error {
		t.Error("went on after an error")
		return nil
	})
	err := bus.Emit(t.Context(), &event.PreDelete{Payload: event.Payload{Release: &release.Release{}}})
	var handler *event.HandlerError
	if !errors.As(err, &handler) || handler.Owner != "policy" || handler.Event != "pre-delete" || !errors.Is(err, no) {
		t.Fatal(err)
	}
	if got := err.Error(); got != "pre-delete handler of policy: no" {
		t.Error(got)
	}
}

func TestEmitWithoutHandlers(t *testing.T) {
	var none *event.Bus
	for _, bus := range []*event.Bus{none, {}} {
		if err := bus.Emit(t.Context(), &event.PostRender{}); err != nil {
			t.Error(err)
		}
	}
}

func TestEmitStopsAtInterrupt(t *testing.T) {
	bus := &event.Bus{}
	ctx, cancel := context.WithCancel(t.Context())
	event.On(bus, "interrupted", 0, func(context.Context, *event.PostDelete) error { cancel(); return nil })
	event.On(bus, "next", 1, func(context.Context, *event.PostDelete) error {
		t.Error("went on")
		return nil
	})
	if err := bus.Emit(ctx, &event.PostDelete{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNamesMatchHookEvents(t *testing.T) {
	for want, e := range map[string]event.Event{
		"pre-render": &event.PreRender{}, "post-render": &event.PostRender{},
		"pre-install": &event.PreInstall{}, "post-install": &event.PostInstall{},
		"pre-delete": &event.PreDelete{}, "post-delete": &event.PostDelete{},
	} {
		t.Run(want, func(t *testing.T) {
			if e.Name() != want {
				t.Errorf("got %s, wanted %s", e.Name(), want)
			}
		})
	}
}

// A handler may register others and emit; they are called from the next event on.
func TestOnAndEmitConcurrently(t *testing.T) {
	bus := &event.Bus{}
	var calls atomic.Int64
	event.On(bus, "nested", 0, func(ctx context.Context, _ *event.PreInstall) error {
		event.On(bus, "inner", 1, func(context.Context, *event.PostInstall) error { calls.Add(1); return nil })
		return bus.Emit(ctx, &event.PostInstall{})
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			event.On(bus, "more", float64(i)/8, func(context.Context, *event.PreInstall) error { calls.Add(1); return nil })
			if err := bus.Emit(t.Context(), &event.PreInstall{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls.Load() < 16 {
		t.Errorf("%d calls", calls.Load())
	}
}
