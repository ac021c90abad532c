// SPDX-License-Identifier: Apache-2.0

package values

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/yamltest"
)

// TestPeerDocuments merges generated files with each other, the defaults of a chart and flags,
// and compares the result with Helm's.
func TestPeerDocuments(t *testing.T) {
	bin := peer(t)
	dir, files := dumpChart(t), t.TempDir()
	read := func(path string) ([]byte, error) { return os.ReadFile(path) }
	cases, accepted := rounds(40), 0
	for i := range cases {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		text := func() string {
			for {
				seed := make([]byte, 8+r.IntN(100))
				for j := range seed {
					seed[j] = byte(r.Uint32())
				}
				s := yamltest.Document(yamltest.AnyMap, seed)
				if _, err := yamltest.Values(s); !yamltest.Ambiguous(s) && (err == nil || r.IntN(8) == 0) {
					return s
				}
			}
		}
		defaults, one, two := text(), text(), text()
		first, second := filepath.Join(files, "one.yaml"), filepath.Join(files, "two.yaml")
		filetest.WriteFile(t, filepath.Join(dir, "values.yaml"), defaults)
		filetest.WriteFile(t, first, one)
		filetest.WriteFile(t, second, two)
		o := Options{Files: []string{first, second}}
		args := []string{"-f", first, "-f", second}
		if r.IntN(2) == 0 {
			o.Set = []string{[]string{"a=1", "a=null", "b.c=x", "name.tag={1,2}", "c=null,image.tag=v1"}[r.IntN(5)]}
			args = append(args, "--set", o.Set[0])
		}
		theirs, perr := peerDump(bin, dir, args...)
		vals, err := Parse("values.yaml", []byte(defaults))
		if err == nil {
			var user map[string]any
			if user, err = o.Build(read); err == nil {
				var res *Resolved
				if res, err = Resolve(&chart.Chart{Metadata: &chart.Metadata{Name: "p"}, Values: vals}, user); err == nil {
					vals = res.Values
				}
			}
		}
		switch {
		case perr != nil:
		case err != nil:
			t.Errorf("%q, %q, %q %v\n ours: %v\n peer: %s", defaults, one, two, o.Set, err, between(theirs))
		case dump(vals) != between(theirs):
			t.Errorf("%q, %q, %q %v\n ours: %s\n peer: %s", defaults, one, two, o.Set, dump(vals), between(theirs))
		}
		if perr == nil {
			accepted++
		}
	}
	if accepted*4 < cases {
		t.Errorf("Helm accepts only %d of %d cases", accepted, cases)
	}
}
