// SPDX-License-Identifier: Apache-2.0

// Package coverage holds which lines and branches of a chart's files were run, and writes reports
// of it. It does not depend on how the files are run: recorders of templates and of scripts add to
// one [Profile].
//
//	var p coverage.Profile
//	p.Add("web/templates/deployment.yaml", "templates/deployment.yaml", text, coverage.Counts{...})
//	err := p.WriteLcov(os.Stdout)
package coverage

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Branch is one way that a statement can take, such as the else of an if.
type Branch struct {
	// Line is the 1-based line of the statement, and Offset distinguishes the statements of a line.
	Line, Offset int
	// Name says which way: "if", "else", "range", "empty", "with".
	Name string
	Hits int64
}

// Counts says how often the lines and branches of a file were run. Lines that are not in Lines
// cannot be run.
type Counts struct {
	Lines    map[int]int64
	Branches []Branch
}

// File is a file with its counts.
type File struct {
	// Name is the path from the root chart: "web/charts/db/templates/pod.yaml".
	Name string
	// Path is the path on disk, or "" if the file is in an archive.
	Path string
	Text string
	Counts
}

// LineTotals returns how many lines can be run and how many were.
func (f *File) LineTotals() (hit, total int) {
	for _, n := range f.Lines {
		if n > 0 {
			hit++
		}
	}
	return hit, len(f.Lines)
}

// BranchTotals returns how many branches there are and how many were taken.
func (f *File) BranchTotals() (hit, total int) {
	for _, b := range f.Branches {
		if b.Hits > 0 {
			hit++
		}
	}
	return hit, len(f.Branches)
}

// Profile is what was run of a set of files. The zero value is empty. It is safe for concurrent use.
type Profile struct {
	mu    sync.Mutex
	files map[string]*File
}

// Add adds the counts of a run of a file. Counts of the same name are added up; branches are the
// same if line, offset and name are.
func (p *Profile) Add(name, path, text string, c Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		p.files = map[string]*File{}
	}
	f := p.files[name]
	if f == nil {
		p.files[name] = &File{Name: name, Path: path, Text: text,
			Counts: Counts{Lines: maps.Clone(c.Lines), Branches: sortBranches(slices.Clone(c.Branches))}}
		return
	}
	if f.Lines == nil {
		f.Lines = map[int]int64{}
	}
	for line, n := range c.Lines {
		f.Lines[line] += n
	}
	for _, b := range c.Branches {
		if i, ok := slices.BinarySearchFunc(f.Branches, b, compareBranches); ok {
			f.Branches[i].Hits += b.Hits
		} else {
			f.Branches = slices.Insert(f.Branches, i, b)
		}
	}
}

// Files returns the files, sorted by name. They must not be modified.
func (p *Profile) Files() []*File {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.files), func(a, b *File) int { return cmp.Compare(a.Name, b.Name) })
}

func sortBranches(b []Branch) []Branch {
	slices.SortFunc(b, compareBranches)
	return b
}

func compareBranches(a, b Branch) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Name, b.Name))
}
