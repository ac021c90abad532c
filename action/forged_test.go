// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/progress"
	"github.com/moonhelm/moonhelm/release"
)

// forge sets the listed and the recorded status of a revision of web.
func (s *testCase) forge(revision int, listed, recorded release.Status) {
	if recorded != "" {
		s.records.kept[key("web", revision)].Info.Status = recorded
	}
	s.records.listed = map[string]release.Status{key("web", revision): listed}
}

// No object is left over if the listed status of a revision differs from the recorded one.
func TestListedStatusDiffers(t *testing.T) {
	upgraded := func(t *testing.T) *testCase {
		s := installedCase(t, configMaps("a=1", "old=1"))
		s.mustSucceed(t, errorOf(s.runUpgrade(t, configMaps("a=2", "new=1"))))
		return s
	}
	failed := func(t *testing.T) *testCase {
		s := installedCase(t, configMaps("a=1", "old=1"))
		s.mustFailAt(t, "event post-upgrade", func() error { return errorOf(s.runUpgrade(t, configMaps("a=2", "old=1", "new=1"))) })
		return s
	}
	for name, c := range map[string]struct {
		start            func(*testing.T) *testCase
		revision         int
		listed, recorded release.Status
	}{
		"the list says uninstalled":           {upgraded, 2, release.Uninstalled, ""},
		"the record says uninstalled":         {upgraded, 2, release.Deployed, release.Uninstalled},
		"the list says superseded":            {upgraded, 2, release.Superseded, ""},
		"the list says failed":                {upgraded, 2, release.Failed, ""},
		"the record says failed":              {upgraded, 2, release.Deployed, release.Failed},
		"an old one is listed as deployed":    {upgraded, 1, release.Deployed, ""},
		"an old one is listed as uninstalled": {upgraded, 1, release.Uninstalled, ""},
		"before a failed one, the list":       {failed, 1, release.Uninstalled, ""},
		"before a failed one, the record":     {failed, 1, release.Deployed, release.Uninstalled},
		"a failed one, the list":              {failed, 2, release.Uninstalled, ""},
		"a failed one, the record":            {failed, 2, release.Failed, release.Uninstalled},
		"a failed one, listed as deployed":    {failed, 2, release.Deployed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.start(t)
			s.forge(c.revision, c.listed, c.recorded)
			var told []string
			verb := s.uninstall()
			verb.Progress = func(e progress.Event) { told = append(told, e.Text) }
			if _, err := verb.Run(t.Context(), UninstallRequest{Name: "web"}); err != nil {
				t.Fatal(err)
			}
			if s.cluster.contents() != "" || s.records.history() != "" {
				t.Errorf("left objects %s; history %s", s.cluster.contents(), s.records.history())
			}
			if c.revision == 2 && !strings.Contains(strings.Join(told, "\n"), "another client has changed one of them") {
				t.Errorf("warnings = %q", told)
			}
		})
	}
}

// A revision with an invalid number is not the newest.
func TestInvalidRevisions(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt32, release.MaxRevision + 1, 0, -1, math.MinInt} {
		s := installedCase(t, configMaps("a=1"))
		forged := roundTrip(s.records.kept["web.v1"])
		forged.Revision = n
		s.records.kept[key("web", n)] = forged
		if _, err := s.runUpgrade(t, configMaps("a=2")); err != nil {
			t.Errorf("%d: upgrade: %v", n, err)
		}
		if got := s.records.kept["web.v2"]; got == nil || got.Info.Status != release.Deployed {
			t.Errorf("%d: the history is %s", n, s.records.history())
		}
		if _, err := s.runRollback(t, 1); err != nil {
			t.Errorf("%d: rollback: %v", n, err)
		}
		s.mustSucceed(t, errorOf(s.runUninstall(t)))
		if s.records.history() != "" || s.cluster.contents() != "" {
			t.Errorf("%d: left history %s, objects %s", n, s.records.history(), s.cluster.contents())
		}
	}
}

func TestMaxRevision(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	last := roundTrip(s.records.kept["web.v1"])
	last.Revision = release.MaxRevision
	s.records.kept[key("web", release.MaxRevision)] = last
	var used *RevisionsError
	if _, err := s.runUpgrade(t, configMaps("a=2")); !errors.As(err, &used) || used.Revision != release.MaxRevision {
		t.Errorf("got %v", err)
	}
	s.mustSucceed(t, errorOf(s.runUninstall(t)))
}

// A release that has only a revision with an invalid number can be uninstalled and installed
// again.
func TestOnlyInvalidRevision(t *testing.T) {
	s := installedCase(t, configMaps("a=1"))
	forged := roundTrip(s.records.kept["web.v1"])
	forged.Revision = math.MaxInt
	s.records.kept = map[string]*release.Release{key("web", math.MaxInt): forged}
	if _, err := s.runUpgrade(t, configMaps("a=2")); err != nil || s.records.kept["web.v1"] == nil {
		t.Errorf("upgrade: %v, %s", err, s.records.history())
	}
	s.mustSucceed(t, errorOf(s.runUninstall(t)))
	if s.records.history() != "" || s.cluster.contents() != "" {
		t.Errorf("left history %s, objects %s", s.records.history(), s.cluster.contents())
	}
}

func TestTestWithoutObject(t *testing.T) {
	for _, text := range []string{"", "# nothing", "---\na: 1\n---\nb: 2\n"} {
		d := &callLog{}
		rel := releaseWithTests("a 0")
		rel.Hooks[0].Manifest = text
		_, err := Test{&Config{Cluster: fakeTestCluster{callLog: d}, Releases: newFakeRecords(d, rel)}}.Run(t.Context(), TestRequest{Name: rel.Name})
		if err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
