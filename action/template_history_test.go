// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moonhelm/moonhelm/release"
)

// readCounter records which revisions are read.
type readCounter struct {
	Storage
	mu   sync.Mutex
	read []int
}

func (r *readCounter) Get(ctx context.Context, name string, revision int) (*release.Release, error) {
	r.mu.Lock()
	r.read = append(r.read, revision)
	r.mu.Unlock()
	return r.Storage.Get(ctx, name, revision)
}

func TestTemplateHistory(t *testing.T) {
	const all = "{{ range .Release.History }}{{ .Revision }} {{ .Status }} {{ .Chart.Version }} {{ get (.Values | default dict) `n` }};{{ end }}"
	for _, test := range []struct {
		name, template string
		history        TemplateHistory
		want           string
		read           []int // besides the last deployed revision and those after it
	}{
		{"the default", all, TemplateHistory{}, "a=", nil},
		{"one", all, TemplateHistory{ReleaseHistoryMax: 1}, "a=3 deployed 1.0.0 ;", nil},
		{"two", all, TemplateHistory{ReleaseHistoryMax: 2}, "a=3 deployed 1.0.0 ;2 failed 1.0.0 ;", []int{2}},
		{"more than there are, with values", all, TemplateHistory{ReleaseHistoryMax: 9, IncludeHistoryValues: true},
			"a=3 deployed 1.0.0 3;2 failed 1.0.0 2;1 superseded 1.0.0 1;", []int{1, 2}},
		{"a chart that does not name it", "none", TemplateHistory{ReleaseHistoryMax: 9}, "a=none", nil},
		{"negative", all, TemplateHistory{ReleaseHistoryMax: -1}, "a=", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a=x")))
			s.request.Values = map[string]any{"n": 1}
			s.mustSucceed(t, s.runInstall())
			s.mustFailAt(t, "event pre-upgrade", func() error {
				_, err := s.runUpgrade(t, configMaps("a=y"), func(r *UpgradeRequest) { r.Values = map[string]any{"n": 2} })
				return err
			})
			if _, err := s.runUpgrade(t, configMaps("a=z"), func(r *UpgradeRequest) { r.Values = map[string]any{"n": 3} }); err != nil {
				t.Fatal(err)
			}
			config := s.config()
			counter := &readCounter{Storage: config.Releases}
			config.Releases = counter
			req := upgradeTo(t, configMaps("a="+test.template))
			req.TemplateHistory = test.history
			rel, err := Upgrade{config}.Run(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.TrimPrefix(test.want, "a=")
			if !strings.Contains(rel.Manifest, fmt.Sprintf("data: {v: %q}", want)) {
				t.Errorf("got %s, want %q in it", rel.Manifest, want)
			}
			read := slices.DeleteFunc(slices.Sorted(slices.Values(counter.read)), func(n int) bool { return n == 3 })
			if !slices.Equal(read, test.read) {
				t.Errorf("read the revisions %v, want %v", read, test.read)
			}
		})
	}
	t.Run("an install sees none", func(t *testing.T) {
		s := newTestCase(t, newChart(t, "templates/a.yaml", configMaps("a={{ len .Release.History }}")))
		s.request.ReleaseHistoryMax = 3
		s.mustSucceed(t, s.runInstall())
	})
}
