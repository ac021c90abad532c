// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/release"
)

// selectTests sets the tests of the release that the filters select, in the order in which
// they run.
func (w *testRun) selectTests() error {
	var all []*release.Hook
	for _, h := range w.out.Release.Hooks {
		if h.On(release.Test) {
			all = append(all, h)
		}
	}
	release.SortHooks(all)
	only, excluded, err := testFilters(w.req.Filters)
	if err != nil {
		return err
	}
	unknown := &UnknownTestError{Release: w.out.Release.Name}
	for _, h := range all {
		unknown.Tests = append(unknown.Tests, h.Name)
	}
	for _, name := range slices.Concat(only, excluded) {
		if !slices.Contains(unknown.Tests, name) && !slices.Contains(unknown.Names, name) {
			unknown.Names = append(unknown.Names, name)
		}
	}
	if len(unknown.Names) > 0 {
		return unknown
	}
	for _, h := range all {
		if (len(only) == 0 || slices.Contains(only, h.Name)) && !slices.Contains(excluded, h.Name) {
			w.tests = append(w.tests, h)
		}
	}
	return nil
}

// testFilters parses the values of --filter, "name=TEST" and "!name=TEST", several of which may be
// separated by commas. If only is not empty, no other tests run; excluded tests never run.
func testFilters(filters []string) (only, excluded []string, err error) {
	for _, text := range filters {
		for _, filter := range strings.Split(text, ",") {
			attribute, name, ok := strings.Cut(strings.TrimSpace(filter), "=")
			attribute, not := strings.CutPrefix(strings.TrimSpace(attribute), "!")
			name = strings.TrimSpace(name)
			if !ok || strings.TrimSpace(attribute) != "name" || name == "" {
				return nil, nil, fmt.Errorf("invalid filter %q: want name=TEST or !name=TEST", filter)
			}
			if not {
				excluded = append(excluded, name)
			} else {
				only = append(only, name)
			}
		}
	}
	return only, excluded, nil
}

// An UnknownTestError is returned if a filter names tests that the release does not have.
type UnknownTestError struct {
	Release string
	Names   []string // the unknown tests
	Tests   []string // the tests of the release
}

func (e *UnknownTestError) Error() string {
	has := "it has no tests"
	if len(e.Tests) > 0 {
		has = "its tests are " + strings.Join(e.Tests, ", ")
	}
	return fmt.Sprintf("release %q has no test %s: %s", e.Release, strings.Join(e.Names, ", "), has)
}
