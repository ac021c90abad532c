// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"cmp"
	"errors"
	"slices"

	"github.com/moonhelm/moonhelm/chart"
)

// Bounds of the search. Charts that people write need as many steps as they
// have libraries; what needs more was made to need it.
const (
	maxSteps = 10_000    // versions tried
	maxWork  = 1_000_000 // versions held against ranges
)

// search looks for one version of each library, so that all suit each other.
type search struct {
	have      map[string][]*chart.Chart // by name, those nearest to the root first
	roots     []string                  // the names that charts ask for that are not libraries
	elsewhere map[string]string         // where a chart stands that is in no library/ directory

	queue  []string // the names asked for, in the order in which that was found out
	asks   map[string][]Ask
	chosen map[string]*chart.Chart

	judge  judge
	steps  int
	over   bool  // nothing else is to be tried
	failed error // what went wrong first: with the highest versions of all
}

func newSearch(c *chart.Chart) *search {
	s := &search{have: map[string][]*chart.Chart{}, elsewhere: map[string]string{}, asks: map[string][]Ask{},
		chosen: map[string]*chart.Chart{}}
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
	for _, there := range s.have {
		slices.SortStableFunc(there, func(a, b *chart.Chart) int { return cmp.Compare(depth[a], depth[b]) })
	}
	s.add(asksOf(c))
	s.roots = slices.Clone(s.queue)
	return s
}

// asksOf is what c and the charts below it ask for.
func asksOf(c *chart.Chart) []Ask {
	var out []Ask
	walk(c, func(x *chart.Chart) {
		by := ""
		ask := func(a Ask) {
			if by == "" {
				by = x.FullPath()
			}
			a.By = by
			out = append(out, a)
		}
		for _, e := range entriesOf(x) {
			ask(Ask{Library: e.Name, Range: e.Version})
		}
		for _, name := range unlisted(x) {
			ask(Ask{Library: name, Unlisted: true})
		}
	})
	return out
}

func (s *search) add(asks []Ask) {
	for _, a := range asks {
		if len(s.asks[a.Library]) == 0 {
			s.queue = append(s.queue, a.Library)
		}
		s.asks[a.Library] = append(s.asks[a.Library], a)
	}
}

// remove takes back what was added last.
func (s *search) remove(asks []Ask) {
	for _, a := range slices.Backward(asks) {
		s.asks[a.Library] = s.asks[a.Library][:len(s.asks[a.Library])-1]
		if len(s.asks[a.Library]) == 0 {
			s.queue = s.queue[:len(s.queue)-1]
		}
	}
}

// solve chooses a version of the queue's names from the one at at on, and tells
// whether there is one for all.
func (s *search) solve(at int) bool {
	if at == len(s.queue) {
		return true
	}
	name := s.queue[at]
	ranked, err := s.rank(name)
	if err != nil {
		s.fail(err)
		return false
	}
	for _, c := range ranked {
		if s.steps++; s.over || s.steps > maxSteps || s.judge.work > maxWork {
			return false
		}
		asks := asksOf(c)
		s.chosen[name] = c
		s.add(asks)
		if s.suits(asks) && s.solve(at+1) {
			return true
		}
		s.remove(asks)
		delete(s.chosen, name)
	}
	return false
}

// suits reports whether what asks want does not contradict what is chosen.
func (s *search) suits(asks []Ask) bool {
	for _, a := range asks {
		c := s.chosen[a.Library]
		if c == nil {
			continue
		}
		err := s.judge.parse(a)
		if err == nil && s.judge.holds(a.Range, c.Version()) {
			continue
		}
		if err == nil {
			err = s.conflict(a.Library)
		}
		s.fail(err)
		return false
	}
	return true
}

// fail notes what went wrong. What another version would not mend ends the
// search, unless it is itself the outcome of trying another.
func (s *search) fail(err error) {
	if s.failed != nil {
		return
	}
	s.failed = err
	var conflict *ConflictError
	s.over = !errors.As(err, &conflict)
}

// rank are the charts that suit everybody who asks for that name, the best first.
func (s *search) rank(name string) ([]*chart.Chart, error) {
	there := s.have[name]
	if len(there) == 0 {
		return nil, s.missing()
	}
	versions := make([]string, len(there))
	for i, c := range there {
		versions[i] = c.Version()
	}
	ranked, err := s.judge.rank(s.asks[name], versions)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		err = s.conflict(name)
	}
	if err != nil {
		return nil, err
	}
	var out []*chart.Chart
	for i, at := range ranked {
		// The same version from another directory would change nothing.
		if i == 0 || versions[at] != versions[ranked[i-1]] {
			out = append(out, there[at])
		}
	}
	return out, nil
}

func (s *search) conflict(name string) error {
	e := &ConflictError{Library: name, Asks: slices.Clone(s.asks[name])}
	for _, c := range s.have[name] {
		e.Have = append(e.Have, Candidate{Version: c.Version(), Path: c.FullPath()})
	}
	return e
}

// missing names all that is asked for by now and not there.
func (s *search) missing() error {
	var errs []error
	for _, name := range s.queue {
		if len(s.have[name]) == 0 {
			errs = append(errs, &MissingError{Library: name, Asks: slices.Clone(s.asks[name]), Elsewhere: s.elsewhere[name]})
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// result are the libraries that were chosen, each after those that it uses.
// Where two use each other, the one that was asked for first comes last.
func (s *search) result() []Library {
	var out []Library
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, a := range asksOf(s.chosen[name]) {
			visit(a.Library)
		}
		out = append(out, Library{Chart: s.chosen[name], Asks: s.asks[name]})
	}
	for _, name := range s.roots {
		visit(name)
	}
	return out
}
