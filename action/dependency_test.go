// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/chart/loader"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/progress"
)

// fakeDirectory is a chart's directory in memory. The content of an archive is "name-version".
type fakeDirectory struct {
	chart    *chart.Chart
	vendored []loader.Vendored
	lock     string
	lockErr  error
	replaced []string // arguments of Replace
	preview  func(put []loader.NewArchive, drop []loader.Vendored) (*chart.Chart, error)
}

func (f *fakeDirectory) Chart() *chart.Chart         { return f.chart }
func (f *fakeDirectory) Vendored() []loader.Vendored { return f.vendored }
func (f *fakeDirectory) Lock() (string, []byte, error) {
	if f.lock == "" {
		return chart.FileLock, nil, f.lockErr
	}
	return chart.FileLock, []byte(f.lock), f.lockErr
}

func (f *fakeDirectory) Preview(put []loader.NewArchive, drop []loader.Vendored) (*chart.Chart, error) {
	if f.preview != nil {
		return f.preview(put, drop)
	}
	c := f.chart.Shallow()
	var below []*chart.Chart
	add := func(name, version string, library bool) {
		d := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: version}, Values: map[string]any{}, FromLibrary: library}
		below = append(below, d)
	}
	for _, h := range f.vendored {
		if h.Err == nil && !slices.ContainsFunc(drop, func(d loader.Vendored) bool { return d.Path() == h.Path() }) {
			add(h.Name, h.Version, h.Library)
		}
	}
	for _, d := range put {
		name, version, _ := strings.Cut(strings.TrimSuffix(d.File, ".tgz"), "-")
		add(name, version, d.Library)
	}
	c.SetDependencies(below...)
	return c, nil
}

func (f *fakeDirectory) Replace(ctx context.Context, put []loader.NewArchive, drop []loader.Vendored, lock []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, d := range put {
		f.replaced = append(f.replaced, "+"+loader.Vendored{Library: d.Library, File: d.File}.Path())
	}
	for _, d := range drop {
		f.replaced = append(f.replaced, "-"+d.Path())
	}
	if lock != nil {
		f.lock = string(lock)
		f.replaced = append(f.replaced, "lock")
	}
	return nil
}

// fakeResolver has charts by repository: "repo name version" → bytes.
type fakeResolver struct {
	charts   map[string]string
	onAsk    func(Dependency)
	checkErr error // of Check

	mu        sync.Mutex
	supplied  []string
	refreshed []string
}

func (f *fakeResolver) Check([]Dependency) error { return f.checkErr }

func (f *fakeResolver) Refresh(_ context.Context, wants []Dependency) error {
	for _, w := range wants {
		f.refreshed = append(f.refreshed, w.Name)
	}
	return nil
}

func (f *fakeResolver) Resolve(ctx context.Context, w Dependency) (ResolvedDependency, error) {
	if f.onAsk != nil {
		f.onAsk(w)
	}
	if err := ctx.Err(); err != nil {
		return ResolvedDependency{}, err
	}
	f.mu.Lock()
	f.supplied = append(f.supplied, w.String())
	f.mu.Unlock()
	var versions []string
	for key := range f.charts {
		if parts := strings.Fields(key); parts[0] == w.Repository && parts[1] == w.Name {
			versions = append(versions, parts[2])
		}
	}
	version, err := dependency.Version(versions, w.Version, false)
	if err != nil {
		return ResolvedDependency{}, err
	}
	return f.supply(w, w.Name, version), nil
}

func (f *fakeResolver) supply(w Dependency, name, version string) ResolvedDependency {
	data := f.charts[w.Repository+" "+w.Name+" "+version]
	return ResolvedDependency{Name: name, Version: version, Repository: strings.Replace(w.Repository, "@st", "https://st", 1), Content: contentOf(data),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(data)), nil }}
}

// contentOf returns a digest of data.
func contentOf(data string) string {
	digits := strings.Repeat("0", 64) + fmt.Sprintf("%x", data)
	return "sha256:" + digits[len(digits)-64:]
}

func newFakeResolver() *fakeResolver {
	return &fakeResolver{charts: map[string]string{
		"https://st mysql 1.0.0": "m100", "https://st mysql 1.2.0": "m120", "https://st mysql 2.0.0": "m200",
		"@st redis 7.0.0": "r7", "https://st redis 7.0.0": "r7", "https://st common 1.4.0": "c14", "https://st common 2.0.0": "c2",
		"https://other mysql 1.2.0": "another",
	}}
}

// lists returns a chart with dependencies and libraries, as YAML flow lists.
func lists(t testing.TB, deps, libs string) *chart.Chart {
	t.Helper()
	m, err := chart.ParseMetadata("Chart.yaml", fmt.Appendf(nil, "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [%s]\nlibraries: [%s]\n", deps, libs))
	if err != nil {
		t.Fatal(err)
	}
	return &chart.Chart{Metadata: m, Values: map[string]any{}}
}

const (
	wantsMysql  = "{name: mysql, version: ^1, repository: 'https://st'}"
	wantsRedis  = "{name: redis, version: 7.x, repository: '@st'}"
	wantsCommon = "{name: common, version: ^1.0.0, repository: 'https://st'}"
)

type stepLog struct {
	mu    sync.Mutex
	lines []string
}

func (s *stepLog) report(e progress.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(e.Kind)+": "+e.Text)
}

func (s *stepLog) contains(text string) bool {
	return strings.Contains(strings.Join(s.lines, "\n"), text)
}

func updater(s DependencyResolver) DependencyUpdate {
	return DependencyUpdate{Resolver: s, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
}

func wantReplaced(t testing.TB, f *fakeDirectory, want ...string) {
	t.Helper()
	if !slices.Equal(f.replaced, want) {
		t.Errorf("replaced %q, want %q", f.replaced, want)
	}
	f.replaced = nil
}

func TestDependencyUpdate(t *testing.T) {
	f := &fakeDirectory{chart: lists(t, wantsMysql+", {name: mysql, version: ^1, repository: 'https://st', alias: db2}, {name: mysql, alias: old, version: 1.0.0, repository: 'https://st'}, "+wantsRedis, wantsCommon)}
	s, heard := newFakeResolver(), &stepLog{}
	u := updater(s)
	u.Progress = heard.report
	if err := u.Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz", "+charts/mysql-1.0.0.tgz", "+charts/redis-7.0.0.tgz", "+library/common-1.4.0.tgz", "lock")
	slices.Sort(s.supplied)
	if !slices.Equal(s.supplied, []string{"common ^1.0.0", "mysql 1.0.0", "mysql ^1", "redis 7.x"}) {
		t.Errorf("resolved %q, want each dependency once", s.supplied)
	}
	if len(s.refreshed) != 5 {
		t.Errorf("refreshed %q", s.refreshed)
	}
	wantLock := fmt.Sprintf(`dependencies:
- name: mysql
  repository: https://st
  version: 1.2.0
  digest: %[1]s
- name: mysql
  repository: https://st
  version: 1.2.0
  digest: %[1]s
- name: mysql
  repository: https://st
  version: 1.0.0
  digest: %[2]s
- name: redis
  repository: https://st
  version: 7.0.0
  digest: %[3]s
`, contentOf("m120"), contentOf("m100"), contentOf("r7"))
	wantLibs := "generated: \"2026-01-02T03:04:05Z\"\nlibraries:\n- name: common\n  repository: https://st\n  version: 1.4.0\n  digest: " + contentOf("c14") + "\n"
	if !strings.HasPrefix(f.lock, wantLock) || !strings.HasSuffix(f.lock, wantLibs) {
		t.Errorf("locked\n%s", f.lock)
	}
	l, err := dependency.ParseLock("Chart.lock", []byte(f.lock))
	if err != nil || l.Check("Chart.lock", "Chart.yaml", f.chart.Metadata) != nil {
		t.Errorf("the lock is out of sync with the chart: %v", err)
	}
	for _, line := range []string{"step: Saving 5 charts", "step: Downloading mysql from repo https://st", "step: Deleting outdated charts"} {
		t.Run(line, func(t *testing.T) {
			if !heard.contains(line) {
				t.Errorf("progress = %q", heard.lines)
			}
		})
	}
	// The second update changes nothing, and keeps the lock with its time.
	u.Now = time.Now
	if err := u.Run(t.Context(), DependencyRequest{Directory: f, SkipRefresh: true}); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(f.replaced, "lock") || len(s.refreshed) != 5 {
		t.Errorf("replaced %q, refreshed %q", f.replaced, s.refreshed)
	}
}

func TestDependencyUpdateWithoutDependencies(t *testing.T) {
	f := &fakeDirectory{chart: lists(t, "", "")}
	if err := updater(newFakeResolver()).Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Error(err)
	}
	wantReplaced(t, f)
}

// An error of Check ends the update before any request.
func TestDependencyUpdateConflicts(t *testing.T) {
	for _, skip := range []bool{false, true} {
		s := newFakeResolver()
		s.checkErr = errors.New("one place only")
		f := &fakeDirectory{chart: lists(t, wantsMysql, "")}
		if err := updater(s).Run(t.Context(), DependencyRequest{Directory: f, SkipRefresh: skip}); !errors.Is(err, s.checkErr) {
			t.Error(err)
		}
		if len(s.refreshed)+len(s.supplied) > 0 {
			t.Errorf("refreshed %q, resolved %q; want no requests", s.refreshed, s.supplied)
		}
	}
}

func TestDependencyUpdateRemovesOutdated(t *testing.T) {
	broken := errors.New("broken")
	f := &fakeDirectory{
		chart: lists(t, wantsMysql+", {name: hand, version: '>=0', repository: ''}, {name: tool, version: '1', repository: ''}", wantsCommon),
		lock:  "libraries: [{name: gone, version: 1.0.0}]",
		vendored: []loader.Vendored{
			{File: "mysql-1.0.0.tgz", Archive: true, Name: "mysql", Version: "1.0.0"},
			{File: "mysql.tgz", Archive: true, Name: "mysql", Version: "1.2.0"}, // in range, but with another file name
			{File: "other-1.0.0.tgz", Archive: true, Name: "other", Version: "1.0.0"},
			{File: "mysql-0.1.0.tgz", Archive: true, Err: broken},
			{File: "torn-0.1.0.tgz", Archive: true, Err: broken},
			{File: "README", Archive: true, Err: broken},
			{File: "hand", Name: "hand", Version: "0.3.0"},
			{File: "x", Name: "extra", Version: "0.3.0"},
			{File: "tool.tgz", Archive: true, Name: "tool", Version: "1.5.0"},
			{File: "common-1.0.0.tgz", Archive: true, Name: "common", Version: "1.0.0", Library: true},
			{File: "gone-1.0.0.tgz", Archive: true, Name: "gone", Version: "1.0.0", Library: true},
			{File: "mine-1.0.0.tgz", Archive: true, Name: "mine", Version: "1.0.0", Library: true},
		},
	}
	if err := updater(newFakeResolver()).Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz", "+library/common-1.4.0.tgz",
		"-charts/mysql-1.0.0.tgz", "-charts/mysql.tgz", "-charts/other-1.0.0.tgz", "-charts/mysql-0.1.0.tgz", "-library/common-1.0.0.tgz", "-library/gone-1.0.0.tgz", "lock")
	if !strings.Contains(f.lock, "- name: hand\n  repository: \"\"\n  version: '>=0'\n") || !strings.Contains(f.lock, "version: \"1\"\n") {
		t.Errorf("locked\n%s", f.lock)
	}
}

func TestDependencyUpdateErrorWritesNothing(t *testing.T) {
	secret := errors.New("the server is tired")
	for _, tc := range []struct {
		name, deps, libs string
		spoil            func(*fakeDirectory, *fakeResolver)
		want             []string
	}{
		{"several missing dependencies", "{name: mysql, version: ^9, repository: 'https://st'}, {name: redis, version: '1', repository: 'https://ana:hunter2@st'}, " + wantsRedis, "", nil,
			[]string{`can't get a valid version for 1 subchart(s): "mysql" (repository "https://st", version "^9"): no version of it is ^9; there is 2.0.0, 1.2.0, 1.0.0`, `can't get a valid version for 1 subchart(s): "redis" (repository "https://st", version "1"): there is no version of it`}},
		{"no version", "{name: mysql, version: abc, repository: 'https://st'}", "", nil, []string{`dependency mysql abc from https://st: improper constraint: "abc" is neither a version`}},
		{"not in charts/", "{name: hand, version: ^1, repository: ''}", "", nil, []string{"dependency hand ^1: it has no repository, and is not in charts/"}},
		{"another version in charts/", "{name: hand, version: ^1, repository: ''}", "", func(f *fakeDirectory, _ *fakeResolver) {
			f.vendored = []loader.Vendored{{File: "hand", Name: "hand", Version: "2.0.0"}}
		}, []string{"charts/ has only 2.0.0"}},
		{"not in library/", "", "{name: hand, version: ^1, repository: ''}", func(f *fakeDirectory, _ *fakeResolver) {
			f.vendored = []loader.Vendored{{File: "hand", Name: "hand", Version: "1.0.0"}}
		}, []string{"is not in library/"}},
		{"name with a path", "{name: ../mysql, version: ^1, repository: 'https://st'}", "", nil, []string{`the name of a dependency is "../mysql"`}}, // CVE-2024-25620
		{"two charts that are one file", wantsMysql + ", {name: mysql, alias: b, version: ^1, repository: 'https://other'}", "", nil, []string{"two repositories have a chart mysql 1.2.0, and they differ"}},
		{"a chart that will not load", wantsMysql, "", func(f *fakeDirectory, _ *fakeResolver) {
			f.preview = func([]loader.NewArchive, []loader.Vendored) (*chart.Chart, error) { return nil, secret }
		}, []string{"the server is tired"}},
		{"libraries that conflict", wantsMysql, wantsCommon, func(f *fakeDirectory, _ *fakeResolver) {
			plain := *f
			f.preview = func(put []loader.NewArchive, drop []loader.Vendored) (*chart.Chart, error) {
				c, err := plain.Preview(put, drop)
				c.Subcharts()[0].Metadata.Libraries = []*chart.Dependency{{Name: "common", Version: "^2"}}
				return c, err
			}
		}, []string{"no version of the library common suits all charts"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, s := &fakeDirectory{chart: lists(t, tc.deps, tc.libs), lock: "digest: old"}, newFakeResolver()
			if tc.spoil != nil {
				tc.spoil(f, s)
			}
			err := updater(s).Run(t.Context(), DependencyRequest{Directory: f})
			if err == nil {
				t.Errorf("%s: no error", tc.name)
				return
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v, want %q", tc.name, err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: the error has a password: %v", tc.name, err)
			}
			wantReplaced(t, f)
		})
	}
}

// wrongResolver returns a different archive.
type wrongResolver struct {
	*fakeResolver
	name, version string
}

func (l wrongResolver) Resolve(_ context.Context, w Dependency) (ResolvedDependency, error) {
	return l.supply(w, l.name, l.version), nil
}

func TestDependencyUpdateChecksArchives(t *testing.T) {
	for want, l := range map[string]wrongResolver{
		`the archive contains the chart "redis"`:       {newFakeResolver(), "redis", "1.2.0"},
		"no version of it is ^1; there is 2.0.0":       {newFakeResolver(), "mysql", "2.0.0"},
		`the archive contains the chart "../../mysql"`: {newFakeResolver(), "../../mysql", "1.2.0"},
		"there is no version of it":                    {newFakeResolver(), "mysql", "../1"},
	} {
		t.Run(want, func(t *testing.T) {
			f := &fakeDirectory{chart: lists(t, wantsMysql, "")}
			if err := updater(l).Run(t.Context(), DependencyRequest{Directory: f}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			wantReplaced(t, f)
		})
	}
}

func TestDependencyUpdateInterrupted(t *testing.T) {
	f, s := &fakeDirectory{chart: lists(t, wantsMysql+", "+wantsRedis, "")}, newFakeResolver()
	ctx, cancel := context.WithCancel(t.Context())
	s.onAsk = func(Dependency) { cancel() }
	if err := updater(s).Run(ctx, DependencyRequest{Directory: f}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantReplaced(t, f)
}

func locked(t testing.TB, f *fakeDirectory) *fakeDirectory {
	t.Helper()
	if err := updater(newFakeResolver()).Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	f.replaced = nil
	return f
}

func TestDependencyBuild(t *testing.T) {
	f := locked(t, &fakeDirectory{chart: lists(t, wantsMysql+", "+wantsRedis, wantsCommon)})
	s := newFakeResolver()
	s.charts["https://st mysql 1.9.0"] = "newer"
	b := DependencyBuild(updater(s))
	if err := b.Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz", "+charts/redis-7.0.0.tgz", "+library/common-1.4.0.tgz")
	slices.Sort(s.supplied)
	if !slices.Equal(s.supplied, []string{"common 1.4.0", "mysql 1.2.0", "redis 7.0.0"}) {
		t.Errorf("resolved %q", s.supplied)
	}
}

func TestDependencyBuildWithoutLock(t *testing.T) {
	f := &fakeDirectory{chart: lists(t, wantsMysql, "")}
	if err := DependencyBuild(updater(newFakeResolver())).Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz", "lock")
	f = &fakeDirectory{chart: lists(t, wantsMysql, ""), lockErr: errors.New("conflict markers")}
	if err := DependencyBuild(updater(newFakeResolver())).Run(t.Context(), DependencyRequest{Directory: f}); err == nil || err.Error() != "conflict markers" {
		t.Errorf("got %v", err)
	}
}

func TestDependencyBuildOutOfSync(t *testing.T) {
	f := locked(t, &fakeDirectory{chart: lists(t, wantsMysql, "")})
	f.chart = lists(t, "{name: mysql, version: ^2, repository: 'https://st'}", "")
	s := newFakeResolver()
	err := DependencyBuild(updater(s)).Run(t.Context(), DependencyRequest{Directory: f})
	var sync *dependency.SyncError
	if !errors.As(err, &sync) || !slices.Equal(sync.Differences, []string{"mysql: Chart.yaml wants ^2, the lock has 1.2.0"}) {
		t.Errorf("got %v", err)
	}
	if len(s.supplied)+len(s.refreshed) > 0 {
		t.Error("the resolver was called")
	}
	wantReplaced(t, f)
}

// A republished archive is an error of build, and a warning of update.
func TestDependencyBuildRepublished(t *testing.T) {
	f := locked(t, &fakeDirectory{chart: lists(t, wantsMysql, "")})
	s := newFakeResolver()
	s.charts["https://st mysql 1.2.0"] = "evil"
	err := DependencyBuild(updater(s)).Run(t.Context(), DependencyRequest{Directory: f})
	var again *RepublishedError
	if !errors.As(err, &again) || again.Locked != contentOf("m120") || again.Got != contentOf("evil") || !strings.HasPrefix(err.Error(), "dependency mysql 1.2.0 from https://st: ") {
		t.Errorf("got %v", err)
	}
	wantReplaced(t, f)
	heard := &stepLog{}
	u := updater(s)
	u.Progress = heard.report
	if err := u.Run(t.Context(), DependencyRequest{Directory: f}); err != nil || !heard.contains("warning: mysql 1.2.0 has been published again") {
		t.Errorf("%v; progress = %q", err, heard.lines)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz", "lock")
}

// A lock written by Helm has no digests.
func TestDependencyBuildHelmLock(t *testing.T) {
	f := locked(t, &fakeDirectory{chart: lists(t, wantsMysql, "")})
	var plain []string
	for line := range strings.Lines(f.lock) {
		if !strings.HasPrefix(line, "  digest:") {
			plain = append(plain, line)
		}
	}
	f.lock = strings.Join(plain, "")
	if err := DependencyBuild(updater(newFakeResolver())).Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz")
}

// Handlers may change dependencies before they are resolved, and see the result before it is
// written.
func TestDependencyEvents(t *testing.T) {
	f, s := &fakeDirectory{chart: lists(t, wantsMysql, wantsCommon)}, newFakeResolver()
	u := updater(s)
	u.Events = &event.Bus{}
	event.On(u.Events, "t", 0.5, func(_ context.Context, e *event.PreDependencyBuild) error {
		md := *e.Chart.Metadata
		md.Dependencies = []*chart.Dependency{{Name: "mysql", Version: "^2", Repository: "https://st"}, {Name: "redis", Repository: "@st"}}
		e.Chart.Metadata = &md
		return nil
	})
	var seen string
	refuse := error(nil)
	event.On(u.Events, "t", 0.5, func(_ context.Context, e *event.PostDependencyBuild) error {
		for _, d := range slices.Concat(e.Chart.Metadata.Dependencies, e.Chart.Metadata.Libraries) {
			seen += d.Name + "=" + d.Version + " "
		}
		if len(f.replaced) > 0 {
			t.Error("files were written before the event")
		}
		return refuse
	})
	if err := u.Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	if seen != "mysql=2.0.0 redis=7.0.0 common=1.4.0 " {
		t.Errorf("handlers got %s", seen)
	}
	wantReplaced(t, f, "+charts/mysql-2.0.0.tgz", "+charts/redis-7.0.0.tgz", "+library/common-1.4.0.tgz", "lock")
	// The lock is in sync for Helm too, which runs no scripts.
	if err := DependencyBuild(u).Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Error(err)
	}
	f.replaced, refuse = nil, errors.New("not these")
	if err := u.Run(t.Context(), DependencyRequest{Directory: f}); !errors.Is(err, refuse) {
		t.Errorf("got %v", err)
	}
	wantReplaced(t, f)
	if f.chart.Metadata.Dependencies[0].Version != "^1" {
		t.Error("the loaded chart was changed")
	}
}

func TestDependencyBuildOutOfSyncWithScript(t *testing.T) {
	f := locked(t, &fakeDirectory{chart: lists(t, wantsMysql, "")})
	b := DependencyBuild(updater(newFakeResolver()))
	b.Events = &event.Bus{}
	event.On(b.Events, "t", 0.5, func(_ context.Context, e *event.PreDependencyBuild) error {
		md := *e.Chart.Metadata
		md.Dependencies = []*chart.Dependency{{Name: "mysql", Version: "^2", Repository: "https://st"}}
		e.Chart.Metadata = &md
		return nil
	})
	err := b.Run(t.Context(), DependencyRequest{Directory: f})
	if err == nil || !strings.Contains(err.Error(), "mysql: the chart's script wants ^2, the lock has 1.2.0") {
		t.Errorf("got %v", err)
	}
}

// loadingError is the error of scripts that require a missing file.
type loadingError struct{}

func (loadingError) Error() string { return "cannot require common/x" }
func (loadingError) Loading() bool { return true }

// loadFunc is a ScriptRunner with only a Load function.
type loadFunc func(context.Context, *event.ChartResolved) error

func (s loadFunc) Load(ctx context.Context, e *event.ChartResolved) error { return s(ctx, e) }
func (loadFunc) Functions(context.Context, *event.PreRender)              {}
func (loadFunc) Handlers(string) []event.Handler                          { return nil }
func (loadFunc) Confirm(context.Context, *chart.Chart) error              { return nil }
func (loadFunc) Close() error                                             { return nil }

// Events are emitted again after fetching if scripts require files of dependencies.
func TestDependencyUpdateScriptRequiresDependency(t *testing.T) {
	f, s := &fakeDirectory{chart: lists(t, wantsMysql, "")}, newFakeResolver()
	u := updater(s)
	u.Events = &event.Bus{}
	u.Events.Use(loadFunc(func(_ context.Context, e *event.ChartResolved) error {
		if len(e.Chart.Dependencies()) == 0 {
			return loadingError{}
		}
		return nil
	}))
	event.On(u.Events, "t", 0.5, func(_ context.Context, e *event.PreDependencyBuild) error {
		md := *e.Chart.Metadata
		md.Dependencies = append(md.Dependencies, &chart.Dependency{Name: "redis", Version: "7", Repository: "@st"})
		e.Chart.Metadata = &md
		return nil
	})
	if err := u.Run(t.Context(), DependencyRequest{Directory: f}); err != nil {
		t.Fatal(err)
	}
	wantReplaced(t, f, "+charts/mysql-1.2.0.tgz", "+charts/redis-7.0.0.tgz", "lock")
	// If no dependency is missing, the update fails.
	f.chart.SetDependencies(&chart.Chart{Metadata: &chart.Metadata{Name: "mysql", Version: "1.2.0"}, Values: map[string]any{}})
	event.On(u.Events, "t", 0.5, func(context.Context, *event.ChartLoaded) error { return loadingError{} })
	f.replaced = nil
	if err := u.Run(t.Context(), DependencyRequest{Directory: f}); !errors.As(err, &loadingError{}) {
		t.Errorf("got %v", err)
	}
	wantReplaced(t, f)
}

func TestDependencyList(t *testing.T) {
	broken := errors.New("broken")
	arch := func(file, name, version string) loader.Vendored {
		return loader.Vendored{File: file, Archive: true, Name: name, Version: version}
	}
	dir := func(file, name, version string) loader.Vendored {
		return loader.Vendored{File: file, Name: name, Version: version}
	}
	one := "{name: mysql, version: ^1}"
	two := one + ", {name: mysql, version: ^2, alias: b}"
	for _, tc := range []struct {
		name, deps string
		held       []loader.Vendored
		want       string
	}{
		{"nothing", one, nil, "missing"},
		{"an archive", one, []loader.Vendored{arch("mysql-1.2.0.tgz", "mysql", "1.2.0")}, "ok"},
		{"a directory", one, []loader.Vendored{dir("m", "mysql", "1.2.0")}, "unpacked"},
		{"both", one, []loader.Vendored{dir("m", "mysql", "1.2.0"), arch("mysql-1.2.0.tgz", "mysql", "1.2.0")}, "ok"},
		{"another version", one, []loader.Vendored{arch("mysql-2.2.0.tgz", "mysql", "2.2.0")}, "wrong version"},
		{"another version in a directory", one, []loader.Vendored{dir("mysql", "mysql", "2.2.0")}, "wrong version"},
		{"a pre-release, though a release is wanted", one, []loader.Vendored{arch("mysql-1.2.0-rc.1.tgz", "mysql", "1.2.0-rc.1")}, "wrong version"},
		{"two", one, []loader.Vendored{arch("mysql-1.2.0.tgz", "mysql", "1.2.0"), arch("mysql-1.3.0.tgz", "mysql", "1.3.0")}, "too many matches"},
		{"two that are wanted", two, []loader.Vendored{arch("mysql-1.2.0.tgz", "mysql", "1.2.0"), arch("mysql-2.3.0.tgz", "mysql", "2.3.0")}, "ok ok"},
		{"one of two that are wanted", two, []loader.Vendored{arch("mysql-1.2.0.tgz", "mysql", "1.2.0")}, "ok wrong version"},
		{"another chart", one, []loader.Vendored{arch("mysql-1.2.0.tgz", "redis", "1.2.0")}, "misnamed; charts/mysql-1.2.0.tgz"},
		{"a broken archive", one, []loader.Vendored{{File: "mysql-1.2.0.tgz", Archive: true, Err: broken}}, "corrupt"},
		{"a broken directory", one, []loader.Vendored{{File: "mysql", Err: broken}}, "corrupt"},
		{"a broken one beside", one, []loader.Vendored{{File: "mysql-1.0.0.tgz", Archive: true, Err: broken}, arch("mysql-1.2.0.tgz", "mysql", "1.2.0")}, "ok"},
		{"unlisted chart", one, []loader.Vendored{dir("x", "extra", "1.0.0"), {File: "README", Err: broken}}, "missing; charts/x charts/README"},
		{"not a range", "{name: mysql, version: abc}", []loader.Vendored{arch("a.tgz", "mysql", "1.0.0")}, "invalid version"},
		{"not a range, and nothing there", "{name: mysql, version: abc}", nil, "missing"},
		{"no version", "{name: mysql}", []loader.Vendored{arch("a.tgz", "mysql", "1.0.0-rc.1")}, "invalid version"},
		{"no version, a directory", "{name: mysql, version: ' '}", []loader.Vendored{dir("mysql", "mysql", "1.0.0")}, "invalid version"},
		{"a library", "", []loader.Vendored{{Library: true, File: "l.tgz", Archive: true, Name: "lib", Version: "1.0.0"}}, "library ok"},
		{"a library in charts/", "", []loader.Vendored{arch("lib-1.0.0.tgz", "lib", "1.0.0")}, "library missing; charts/lib-1.0.0.tgz"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			libs := ""
			if tc.deps == "" {
				libs = "{name: lib, version: '1'}"
			}
			found, unlisted := DependencyList{}.Run(&fakeDirectory{chart: lists(t, tc.deps, libs), vendored: tc.held})
			var got []string
			for _, d := range found {
				text := string(d.Status)
				if d.Library {
					text = "library " + text
				}
				got = append(got, text)
			}
			text := strings.Join(got, " ")
			for i, h := range unlisted {
				text += [2]string{" ", "; "}[max(0, 1-i)] + h.Path()
			}
			if text != tc.want {
				t.Errorf("%s: got %s, want %s", tc.name, text, tc.want)
			}
		})
	}
}
