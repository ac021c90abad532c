// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// duration converts a string ("1h30m" or a number of seconds), a number of seconds or a
// duration.
func duration(v any) (time.Duration, error) {
	switch v := v.(type) {
	case nil:
		return 0, errors.New("invalid duration")
	case time.Duration:
		return v, nil
	case string:
		text := strings.TrimSpace(v)
		if text == "" {
			return 0, errors.New("invalid duration")
		}
		if d, err := time.ParseDuration(text); err == nil {
			return d, nil
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return seconds(f)
		}
		return 0, fmt.Errorf("could not parse duration %q", v)
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return seconds(float64(r.Int()))
	case r.CanUint():
		return seconds(float64(r.Uint()))
	case r.CanFloat():
		return seconds(r.Float())
	}
	return 0, fmt.Errorf("could not convert %T to a duration", v)
}

func seconds(f float64) (time.Duration, error) {
	ns := f * float64(time.Second)
	if math.IsNaN(ns) || math.Abs(ns) > math.MaxInt64 {
		return 0, fmt.Errorf("%v seconds do not fit a duration", f)
	}
	return time.Duration(ns), nil
}

// durationOr0 is like duration, but returns 0 for an invalid duration.
func durationOr0(v any) time.Duration {
	d, err := duration(v)
	if err != nil {
		return 0
	}
	return d
}

func durationFuncs() map[string]any {
	return map[string]any{
		"mustToDuration":       duration,
		"durationNanoseconds":  func(v any) int64 { return durationOr0(v).Nanoseconds() },
		"durationMicroseconds": func(v any) int64 { return durationOr0(v).Microseconds() },
		"durationMilliseconds": func(v any) int64 { return durationOr0(v).Milliseconds() },
		"durationSeconds":      func(v any) float64 { return durationOr0(v).Seconds() },
		"durationMinutes":      func(v any) float64 { return durationOr0(v).Minutes() },
		"durationHours":        func(v any) float64 { return durationOr0(v).Hours() },
		"durationDays":         func(v any) float64 { return durationOr0(v).Hours() / 24 },
		"durationWeeks":        func(v any) float64 { return durationOr0(v).Hours() / 24 / 7 },
		"durationRoundTo":      func(v, m any) time.Duration { return durationOr0(v).Round(durationOr0(m)) },
		"durationTruncateTo":   func(v, m any) time.Duration { return durationOr0(v).Truncate(durationOr0(m)) },
	}
}
