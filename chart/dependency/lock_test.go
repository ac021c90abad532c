// SPDX-License-Identifier: Apache-2.0

package dependency_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
)

// The lock file that Helm 4.3.1 has written for the chart below.
const (
	oddChart = `apiVersion: v2
name: web
version: 1.0.0
dependencies:
- name: mysql
  version: '>=1.0.0 <2'
  repository: http://127.0.0.1:40727
  condition: a.enabled,b<c>&d
  tags: [front, 'x&y']
  import-values:
  - data
  - child: 'a<b'
    parent: c.d
  enabled: true
- name: redis
  version: ^1
  repository: http://127.0.0.1:40727
  alias: cache
  depends-on: [mysql]
libraries:
- name: common
  version: ^1.0.0
  repository: http://127.0.0.1:40727
`
	oddLock = `dependencies:
- name: mysql
  repository: http://127.0.0.1:40727
  version: 1.2.0
- name: redis
  repository: http://127.0.0.1:40727
  version: 1.2.0
digest: sha256:5c6cf3266279b7d78a2c1bf395e1a8b7b8bd6f451e54d1778b401e0dee4cb274
generated: "2026-11-22T01:10:11.78131838Z"
`
	content = "sha256:6ae3bd64bd2c0dd7ca1b1d6ae3bd64bd2c0dd7ca1b1d6ae3bd64bd2c0dd7ca1b"
)

// helm2Digest is the SHA-256 of {"dependencies":[...]} of the chart in its test.
const helm2Digest = "sha256:208a122254888dcf402c9d7181fb408aeb83e177af16931778cb88e4af817e90"

func metadata(t *testing.T, text string) *chart.Metadata {
	t.Helper()
	m, err := chart.ParseMetadata(chart.FileMetadata, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func lock(t *testing.T, text string) *dependency.Lock {
	t.Helper()
	l, err := dependency.ParseLock(chart.FileLock, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLockDigestMatchesHelm(t *testing.T) {
	m, l := metadata(t, oddChart), lock(t, oddLock)
	sum, err := dependency.LockDigest(m.Dependencies, l.Dependencies)
	if err != nil || sum != l.Digest {
		t.Errorf("got %s, %v; Helm wrote %s", sum, err, l.Digest)
	}
	// Fields that Helm does not know do not change the digest.
	l.Dependencies[0].Content = content
	m.Dependencies[0].DependsOn = []string{"cache"}
	m.Libraries = nil
	if again, _ := dependency.LockDigest(m.Dependencies, l.Dependencies); again != sum {
		t.Error("our own fields change the digest")
	}
	m.Dependencies[0].Alias = "db"
	if other, _ := dependency.LockDigest(m.Dependencies, l.Dependencies); other == sum {
		t.Error("an alias does not change the digest")
	}
}

// For Helm a missing list is null.
func TestLockDigestEmpty(t *testing.T) {
	for _, tc := range []struct {
		listed []*chart.Dependency
		locked []*dependency.Locked
		want   string
	}{
		{nil, nil, "sha256:95cb9b4f84ceff132cc7a875d8c192bf4997016a939ee64141c1fd628c0e8738"},                                      // [null,null]
		{nil, []*dependency.Locked{}, "sha256:97294f05c3603881a6466e787eb8726dde04588d242bea02914b0f0a8e12bdb2"},                   // [null,[]]
		{[]*chart.Dependency{}, []*dependency.Locked{}, "sha256:643d5437104296e21d906ecb15b2c96ad278f20cfc4af53b12bb6069bd853726"}, // [[],[]]
	} {
		t.Run(tc.want, func(t *testing.T) {
			if got, err := dependency.LockDigest(tc.listed, tc.locked); err != nil || got != tc.want {
				t.Errorf("got %q, %v, want %s", got, err, tc.want)
			}
		})
	}
}

// Helm hashes the URL of a repository to which the chart refers by name.
func TestLockDigestNamedRepositories(t *testing.T) {
	m := metadata(t, "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: mysql, version: ^1, repository: '@st'}]")
	l := lock(t, "dependencies: [{name: mysql, version: 1.2.0, repository: 'http://127.0.0.1:38669'}]\ndigest: sha256:1afc8aa2e0ca36ca7ad8b3fdf78a55f7800a37ce2674f6e076589b837cf82a4d")
	if sum, err := dependency.LockDigest(m.Dependencies, l.Dependencies); err != nil || sum != l.Digest {
		t.Errorf("got %s, %v; Helm wrote %s", sum, err, l.Digest)
	}
	if err := l.Check("Chart.lock", "Chart.yaml", m); err != nil {
		t.Error(err)
	}
	if m.Dependencies[0].Repository != "@st" {
		t.Error("the chart was changed")
	}
	l.Dependencies[0].Version = "1.3.0"
	if err := l.Check("Chart.lock", "Chart.yaml", m); err == nil {
		t.Error("an edited lock is in step")
	}
}

func TestLockTextMatchesHelm(t *testing.T) {
	l := lock(t, oddLock)
	text, err := l.Text()
	if err != nil || string(text) != oddLock {
		t.Errorf("got %v\n%s", err, text)
	}
}

func TestLockContentsAndLibraries(t *testing.T) {
	l := lock(t, oddLock)
	l.Dependencies[1].Content = content
	l.Libraries = []*dependency.Locked{{Dependency: chart.Dependency{Name: "common", Version: "1.2.0", Repository: "oci://r/x"}, Content: content}}
	text, err := l.Text()
	if err != nil {
		t.Fatal(err)
	}
	back := lock(t, string(text))
	if !back.Same(l) || !back.Generated.Equal(l.Generated) {
		t.Errorf("read back as %+v from\n%s", back, text)
	}
	// The form in which Helm and other packages read it.
	plain, err := chart.ParseLock(chart.FileLock, text)
	if err != nil || len(plain.Dependencies) != 2 || plain.Digest != l.Digest {
		t.Errorf("got %+v, %v", plain, err)
	}
	back.Libraries[0].Content = ""
	if back.Same(l) {
		t.Error("a digest less is the same")
	}
}

func TestLockTextQuotes(t *testing.T) {
	for _, text := range []string{"1.10", "true", "a: b", "- x", "'", `"`, "#", "é", "@st", "*", "2001-01-01", "!x", strings.Repeat("long ", 60)} {
		l := &dependency.Lock{Generated: time.Unix(0, 0).UTC(), Digest: "sha256:x", Dependencies: []*dependency.Locked{{Dependency: chart.Dependency{Name: "n", Version: text, Repository: text}}}}
		out, err := l.Text()
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if back := lock(t, string(out)); !back.Same(l) {
			t.Errorf("%q came back as %q from\n%s", text, back.Dependencies[0].Version, out)
		}
	}
}

func TestParseLockErrors(t *testing.T) {
	for text, want := range map[string]string{
		"dependencies: [null]":                     "Chart.lock:1: dependencies[0]: is empty",
		"libraries: [null]":                        "Chart.lock:1: libraries[0]: is empty",
		"dependencies: [{name: a, digest: md5:1}]": `dependencies[0].digest: is "md5:1"`,
		"libraries: [{name: a, digest: sha256:A}]": `libraries[0].digest: is "sha256:A"`,
		"dependencies: [{name: a, digest: [1]}]":   "Chart.lock",
		"dependencies: 7":                          "Chart.lock",
		"a: b: c":                                  "Chart.lock",
	} {
		t.Run(text, func(t *testing.T) {
			l, err := dependency.ParseLock(chart.FileLock, []byte(text))
			if err == nil || l != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %+v, %v; wanted %q", text, l, err, want)
			}
		})
	}
}

func TestCheckDifferences(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string // an edit of the chart
		want           string // the differences, joined by "; "
	}{
		{"nothing", "x", "x", ""},
		{"a range that still holds", "^1\n", "~1.2\n", "the versions fit, but entries have changed otherwise since (ranges, conditions, tags, aliases, import-values, repositories, order), or Chart.lock was edited"},
		{"a range", "version: ^1\n", "version: ^2.0.0\n", "redis: Chart.yaml wants ^2.0.0, the lock has 1.2.0"},
		{"a repository", "repository: http://127.0.0.1:40727\n  alias", "repository: https://other\n  alias", `redis: Chart.yaml says the repository is "https://other", the lock has it from "http://127.0.0.1:40727"`},
		{"a name", "name: redis", "name: valkey", "valkey: Chart.yaml lists it (^1), the lock does not have it; redis: the lock has 1.2.0, Chart.yaml does not list it"},
		{"what Helm does not know", "depends-on: [mysql]", "depends-on: []", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(oddChart[:strings.Index(oddChart, "libraries:")], tc.from, tc.to, 1)
			err := lock(t, oddLock).Check("Chart.lock", "Chart.yaml", metadata(t, text))
			var sync *dependency.SyncError
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.name, err)
			case tc.want != "" && (!errors.As(err, &sync) || strings.Join(sync.Differences, "; ") != tc.want):
				t.Errorf("%s: got %v", tc.name, err)
			case sync != nil && !strings.HasPrefix(err.Error(), "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml)"):
				t.Errorf("%s: not Helm's words: %v", tc.name, err)
			}
		})
	}
}

func TestCheckLibraries(t *testing.T) {
	var sync *dependency.SyncError
	err := lock(t, oddLock).Check("Chart.lock", "Chart.yaml", metadata(t, oddChart))
	if !errors.As(err, &sync) || !slices.Equal(sync.Differences, []string{"common: Chart.yaml lists it (^1.0.0), the lock does not have it"}) {
		t.Errorf("got %v", err)
	}
	with := strings.Replace(oddLock, "digest:", "libraries:\n- {name: common, repository: 'http://127.0.0.1:40727/', version: 1.4.0}\ndigest:", 1)
	if err := lock(t, with).Check("Chart.lock", "Chart.yaml", metadata(t, oddChart)); err != nil {
		t.Error(err)
	}
}

// The digest of Helm 2 contains only the list. Helm 3 and 4 accept it.
func TestCheckHelm2Lock(t *testing.T) {
	m := metadata(t, "apiVersion: v1\nname: a\nversion: 1.0.0\ndependencies: [{name: mysql, version: 1.x.x, repository: 'http://127.0.0.1:44321'}]")
	l := lock(t, "dependencies: [{name: mysql, version: 1.2.0, repository: 'http://127.0.0.1:44321'}]\ndigest: "+helm2Digest)
	if err := l.Check("requirements.lock", "requirements.yaml", m); err != nil {
		t.Error(err)
	}
	m.APIVersion = chart.APIVersionV2
	if err := l.Check("Chart.lock", "Chart.yaml", m); err == nil {
		t.Error("also for a chart that Helm 2 cannot read")
	}
}

func TestFits(t *testing.T) {
	l := lock(t, oddLock)
	if err := l.Fits("Chart.lock", []*chart.Dependency{{Name: "mysql", Version: "1", Repository: "@st"}, {Name: "redis", Repository: "alias:st"}}); err != nil {
		t.Error(err)
	}
	err := l.Fits("Chart.lock", []*chart.Dependency{{Name: "mysql", Version: "2"}, {Name: "redis", Repository: "@st"}})
	if err == nil || !strings.Contains(err.Error(), "mysql: the chart's script wants 2, the lock has 1.2.0") {
		t.Error(err)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add(oddLock)
	f.Add("libraries: [{name: a, digest: " + content + "}]\ngenerated: 2018-01-01T00:00:00Z")
	f.Add("dependencies:\n- digest: 7\n  name: [")
	f.Add("dependencies: [{name: \"a\\nb\", version: '\\x00'}]")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := dependency.ParseLock(chart.FileLock, []byte(text))
		if err != nil {
			return
		}
		if l.Generated.Year() < 0 || l.Generated.Year() > 9999 {
			return
		}
		out, err := l.Text()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := dependency.ParseLock(chart.FileLock, out); err != nil || !back.Same(l) {
			t.Fatalf("%v\n%s", err, out)
		}
		_ = l.Check("l", "c", &chart.Metadata{})
	})
}

func TestRedactURL(t *testing.T) {
	for repository, want := range map[string]string{
		"@st": "@st", "alias:st": "alias:st", "": "", "https://h/x": "https://h/x", "file://../x": "file://../x", "oci://h:5000/x": "oci://h:5000/x",
		"https://ana:hunter2@h/x?token=hunter2": "https://h/x", "https://ana:hunter2@h:x/": "https://...", "https://ana:hunter2%zz@h/": "https://...",
	} {
		t.Run(repository, func(t *testing.T) {
			if got := dependency.RedactURL(repository); got != want {
				t.Errorf("%s: got %s", repository, got)
			}
		})
	}
}
