// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"cmp"
	"errors"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// Limits of the search. It usually takes one step for each library; untrusted charts can
// require many more.
const (
	maxSteps  = 10_000    // versions tried
	maxChecks = 1_000_000 // versions checked against ranges
)

// search finds a version of each library so that all requirements are satisfied.
type search struct {
	have      map[string][]*chart.Chart // by name, nearest to the root first
	roots     []string                  // names of the libraries that other charts require
	elsewhere map[string]string         // paths of charts that are not in library/, by name

	queue        []string // names of the required libraries, in the order of discovery
	requirements map[string][]Requirement
	chosen       map[string]*chart.Chart

	matcher matcher
	steps   int
	stopped bool  // the search has failed
	failed  error // the first error, which is about the highest versions
}

func newSearch(c *chart.Chart) *search {
	s := &search{have: map[string][]*chart.Chart{}, elsewhere: map[string]string{},
		requirements: map[string][]Requirement{},
		chosen:       map[string]*chart.Chart{}}
	depth := map[*chart.Chart]int{}
	c.Walk(func(x *chart.Chart) {
		if p := x.Parent(); p != nil && x != c {
			depth[x] = depth[p] + 1
		}
		if x.FromLibrary && x != c {
			s.have[x.Name()] = append(s.have[x.Name()], x)
		} else if _, ok := s.elsewhere[x.Name()]; !ok {
			s.elsewhere[x.Name()] = x.FullPath()
		}
	})
	for _, charts := range s.have {
		slices.SortStableFunc(charts, func(a, b *chart.Chart) int { return cmp.Compare(depth[a], depth[b]) })
	}
	s.add(requirementsOf(c))
	s.roots = slices.Clone(s.queue)
	return s
}

// requirementsOf returns the requirements of c and the charts below it.
func requirementsOf(c *chart.Chart) []Requirement {
	var out []Requirement
	walk(c, func(x *chart.Chart) {
		by := ""
		add := func(r Requirement) {
			if by == "" {
				by = x.FullPath()
			}
			r.By = by
			out = append(out, r)
		}
		for _, e := range entriesOf(x) {
			add(Requirement{Library: e.Name, Range: e.Version})
		}
		for _, name := range unlisted(x) {
			add(Requirement{Library: name, Unlisted: true})
		}
	})
	return out
}

func (s *search) add(requirements []Requirement) {
	for _, r := range requirements {
		if len(s.requirements[r.Library]) == 0 {
			s.queue = append(s.queue, r.Library)
		}
		s.requirements[r.Library] = append(s.requirements[r.Library], r)
	}
}

// remove removes requirements, which must have been added last.
func (s *search) remove(requirements []Requirement) {
	for _, r := range slices.Backward(requirements) {
		s.requirements[r.Library] = s.requirements[r.Library][:len(s.requirements[r.Library])-1]
		if len(s.requirements[r.Library]) == 0 {
			s.queue = s.queue[:len(s.queue)-1]
		}
	}
}

// solve chooses versions for the libraries of the queue, beginning with index at. It reports
// whether there is a version for each.
func (s *search) solve(n int) bool {
	if n == len(s.queue) {
		return true
	}
	name := s.queue[n]
	ranked, err := s.rank(name)
	if err != nil {
		s.fail(err)
		return false
	}
	for _, c := range ranked {
		if s.steps++; s.stopped || s.steps > maxSteps || s.matcher.checks > maxChecks {
			return false
		}
		requirements := requirementsOf(c)
		s.chosen[name] = c
		s.add(requirements)
		if s.satisfies(requirements) && s.solve(n+1) {
			return true
		}
		s.remove(requirements)
		delete(s.chosen, name)
	}
	return false
}

// satisfies reports whether the chosen versions satisfy requirements.
func (s *search) satisfies(requirements []Requirement) bool {
	for _, r := range requirements {
		c := s.chosen[r.Library]
		if c == nil {
			continue
		}
		err := s.matcher.parse(r)
		if err == nil && s.matcher.satisfies(r.Range, c.Version()) {
			continue
		}
		if err == nil {
			err = s.conflict(r.Library)
		}
		s.fail(err)
		return false
	}
	return true
}

// fail records the first error. If it is not a conflict, no other version helps, and the
// search stops. Later errors come from trying other versions.
func (s *search) fail(err error) {
	if s.failed != nil {
		return
	}
	s.failed = err
	var conflict *ConflictError
	s.stopped = !errors.As(err, &conflict)
}

// rank returns the charts that satisfy all requirements of the library name, best first.
func (s *search) rank(name string) ([]*chart.Chart, error) {
	charts := s.have[name]
	if len(charts) == 0 {
		return nil, s.missing()
	}
	versions := make([]string, len(charts))
	for i, c := range charts {
		versions[i] = c.Version()
	}
	ranked, err := s.matcher.rank(s.requirements[name], versions)
	if _, ok := errors.AsType[*ConflictError](err); ok {
		err = s.conflict(name)
	}
	if err != nil {
		return nil, err
	}
	var out []*chart.Chart
	for i, index := range ranked {
		// Trying the same version from another directory has the same result.
		if i == 0 || versions[index] != versions[ranked[i-1]] {
			out = append(out, charts[index])
		}
	}
	return out, nil
}

func (s *search) conflict(name string) error {
	e := &ConflictError{Library: name, Requirements: slices.Clone(s.requirements[name])}
	for _, c := range s.have[name] {
		e.Have = append(e.Have, Candidate{Version: c.Version(), Path: c.FullPath()})
	}
	return e
}

// missing returns an error for the required libraries that no directory has.
func (s *search) missing() error {
	var errs []error
	for _, name := range s.queue {
		if len(s.have[name]) == 0 {
			errs = append(errs, &MissingError{Library: name, Requirements: slices.Clone(s.requirements[name]),
				Elsewhere: s.elsewhere[name]})
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// result returns the chosen libraries, each after those that it uses. If two use each other,
// the library that was required first is last.
func (s *search) result() []Library {
	var out []Library
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, r := range requirementsOf(s.chosen[name]) {
			visit(r.Library)
		}
		out = append(out, Library{Chart: s.chosen[name], Requirements: s.requirements[name]})
	}
	for _, name := range s.roots {
		visit(name)
	}
	return out
}
