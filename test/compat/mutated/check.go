// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Checker runs cases, with a directory for files and a process of Helm's SDK.
type Checker struct {
	Dir  string
	Peer *Peer
}

// Verdict is the result of a case.
type Verdict struct {
	Differences []Difference // without those that a decision explains
	Decided     []string     // names of the decisions that apply
	Random      int          // number of values that also differ between two runs of Helm
	Fails       bool         // both sides fail
	Gone        bool         // Helm crashes
}

// Check renders a case on both sides and compares. If the outputs differ, Helm renders a second
// time to find random values, and again in the next second to find those that depend on the
// time.
func (k *Checker) Check(c *Case, seed uint64) (*Verdict, error) {
	call, err := c.call(seed)
	if err != nil {
		return nil, err
	}
	if err := k.write(call); err != nil {
		return nil, err
	}
	v := &Verdict{}
	for try := range 2 {
		v.Random = 0
		diffs, err := k.compare(c, call, v)
		if errors.Is(err, errGone) {
			return &Verdict{Gone: true}, nil
		} else if err != nil {
			return nil, err
		}
		v.Differences, v.Decided = nil, nil
		for _, d := range diffs {
			if by := decided(c, d); by == nil {
				v.Differences = append(v.Differences, d)
			} else if !slices.Contains(v.Decided, by.Name) {
				v.Decided = append(v.Decided, by.Name)
			}
		}
		if len(v.Differences) == 0 || try > 0 {
			break
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	return v, nil
}

func (k *Checker) compare(c *Case, call *call, v *Verdict) ([]Difference, error) {
	helm, err := k.Peer.Render(call)
	if err != nil {
		return nil, err
	}
	ours := Ours(c.Chart, call)
	v.Fails = ours.Error != "" && helm.Error != ""
	diffs := Compare(ours, helm)
	if len(diffs) == 0 || helm.Error != "" {
		return diffs, nil
	}
	again, err := k.Peer.Render(call)
	if err != nil {
		return nil, err
	}
	diffs, v.Random = Random(diffs, helm, again)
	return diffs, nil
}

// write writes the values files of a call to the directory of the Checker.
func (k *Checker) write(c *call) error {
	for i, text := range c.texts {
		path := filepath.Join(k.Dir, fmt.Sprintf("values-%d.yaml", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		c.Files = append(c.Files, path)
	}
	return nil
}

// Reduce returns the smallest case that still has a difference of class.
func (k *Checker) Reduce(c *Case, seed uint64, class string) (*Case, error) {
	return reduce(c, func(c *Case) (bool, error) {
		v, err := k.Check(c, seed)
		return err == nil && slices.ContainsFunc(v.Differences, func(d Difference) bool { return d.class() == class }), err
	})
}

// reduce removes edits and flags from a case as long as shows returns true.
func reduce(c *Case, shows func(*Case) (bool, error)) (*Case, error) {
	small := *c
	try := func(change func(*Case)) error {
		next := small
		next.Edits = slices.Clone(small.Edits)
		change(&next)
		ok, err := shows(&next)
		if ok {
			small = next
		}
		return err
	}
	for size := len(small.Edits); size > 0; size /= 2 {
		for i := 0; i+size <= len(small.Edits); {
			before := len(small.Edits)
			if err := try(func(c *Case) { c.Edits = slices.Delete(c.Edits, i, i+size) }); err != nil {
				return nil, err
			}
			if len(small.Edits) == before {
				i += size
			}
		}
	}
	for _, change := range []func(*Case){
		func(c *Case) { c.Name, c.Namespace = "rel", "ns" }, func(c *Case) { c.KubeVersion = "1.36.0" },
		func(c *Case) { c.APIVersions = nil }, func(c *Case) { c.IsUpgrade = false },
		func(c *Case) { c.IncludeCRDs = false }, func(c *Case) { c.SkipSchema = false },
	} {
		if err := try(change); err != nil {
			return nil, err
		}
	}
	return &small, nil
}

// Describe returns a text with which the case can be run by hand.
func (c *Case) Describe(seed uint64) string {
	call, err := c.call(seed)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	var files []string
	for i, text := range call.texts {
		name := fmt.Sprintf("values-%d.yaml", i)
		files = append(files, name)
		fmt.Fprintf(&b, "--- %s\n%s\n", name, short(text))
	}
	if call.Defaults != nil {
		for _, e := range c.Edits {
			if e.Form == InDefaults {
				fmt.Fprintf(&b, "--- values.yaml of the chart: %s = %s\n", strings.Join(e.Path, " / "),
					short(fmt.Sprintf("%#v", e.Value)))
			}
		}
	}
	args := call.args(c.Chart.Name, files)
	for i, a := range args {
		args[i] = "'" + strings.ReplaceAll(short(a), "'", `'\''`) + "'"
	}
	return b.String() + "helm " + strings.Join(args, " ")
}
