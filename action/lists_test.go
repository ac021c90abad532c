// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// listOf returns the text of a List whose items are the documents of text.
func listOf(t testing.TB, text string, annotations ...string) string {
	t.Helper()
	objects, err := manifest.Parse("", text)
	if err != nil {
		t.Fatal(err)
	}
	var items []any
	for _, o := range objects {
		m, err := o.Map()
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, m)
	}
	marks := map[string]any{}
	for i := 0; i < len(annotations); i += 2 {
		marks[annotations[i]] = annotations[i+1]
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"annotations": marks}, "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return "---\n" + string(list) + "\n"
}

// Items of a List are planned, deleted and kept as single objects, in charts and in records.
func TestListObjectsAreFlattened(t *testing.T) {
	t.Run("install", func(t *testing.T) {
		s := newTestCase(t, newChart(t, "templates/a.yaml", listOf(t, configMaps("b=1", "a=1"))+configMaps("c=1")))
		rel, err := s.install.Run(t.Context(), s.request)
		if err != nil {
			t.Fatal(err)
		}
		s.wantState(t, "ConfigMap/a=1 ConfigMap/b=1 ConfigMap/c=1", "1 deployed")
		if !strings.Contains(rel.Manifest, `"kind":"List"`) {
			t.Errorf("the record's manifest differs from the chart's:\n%s", rel.Manifest)
		}
	})
	t.Run("upgrade", func(t *testing.T) {
		s := installedCase(t, configMaps("a=1", "b=1"))
		if _, err := s.runUpgrade(t, listOf(t, configMaps("a=1", "c=1"))); err != nil {
			t.Fatal(err)
		}
		s.wantWrites(t, "create web.v2 pending-upgrade", "event pre-upgrade", "apply [ConfigMap/c]", "delete [ConfigMap/b]",
			"event post-upgrade", "update web.v2 deployed", "update web.v1 superseded")
	})
	t.Run("cleanup", func(t *testing.T) {
		s := installedCase(t, listOf(t, configMaps("a=1")))
		s.fail["event post-upgrade"] = errBroken
		if _, err := s.runUpgrade(t, listOf(t, configMaps("a=1", "b=1")), func(r *UpgradeRequest) { r.CleanupOnFail = true }); err == nil {
			t.Fatal("no error")
		}
		s.wantState(t, "ConfigMap/a=1", "1 deployed, 2 failed") // a existed before
	})
	t.Run("uninstall", func(t *testing.T) {
		rel := newRevision(1, release.Deployed)
		rel.Manifest = listOf(t, objectText("Secret", "s")+objectText("Secret", "kept", release.PolicyAnnotation, "keep")) +
			listOf(t, objectText("ConfigMap", "all"), release.PolicyAnnotation, "keep") + objectText("Secret", "s")
		r := newUninstallCase(rel)
		out, err := r.uninstall.Plan(t.Context(), r.request)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(out.Deleted); got != "[Secret/s]" {
			t.Errorf("deletes %s", got)
		}
		if got := names(out.Kept); got != "[Secret/kept ConfigMap/all]" {
			t.Errorf("keeps %s", got)
		}
	})
	t.Run("diff", func(t *testing.T) {
		was, is := newRevision(1, release.Superseded), newRevision(2, release.Deployed)
		was.Manifest, is.Manifest = listOf(t, configMaps("a=1"))+listOf(t, configMaps("b=1")), listOf(t, configMaps("a=1", "b=2"))
		was.Hooks = []*release.Hook{{Name: "", Kind: "List", Manifest: listOf(t, configMaps("h=1"))}}
		is.Hooks = []*release.Hook{{Name: "", Kind: "List", Manifest: listOf(t, configMaps("h=2"))}}
		change, err := Diff{Releases: newFakeRecords(&callLog{}, was, is)}.Revisions(t.Context(), "web", 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := actions(change.Plan.Steps) + ", hooks: " + actions(change.Hooks); got != "unchanged ConfigMap/a, update ConfigMap/b, hooks: update ConfigMap/h" {
			t.Error(got)
		}
	})
}

// A List may contain objects of kinds that the chart's CRDs define.
func TestListOfUpcomingKinds(t *testing.T) {
	s := newTestCase(t, newChart(t, "crds/tab.yaml", crontab,
		"templates/a.yaml", listOf(t, "apiVersion: example.com/v1\nkind: CronTab\nmetadata: {name: tab}\n"+configMaps("a=1"))))
	s.cluster.missing["crontabs.example.com"] = true
	change, _, err := s.install.Plan(t.Context(), s.request)
	if err != nil {
		t.Fatal(err)
	}
	if got := actions(change.Plan.Steps); got != "create ConfigMap/a, create CronTab/tab" {
		t.Error(got)
	}
	if !s.contains("plan [ConfigMap/a] for ns/web") {
		t.Errorf("the plan contains a kind that the cluster does not serve: %q", s.lines)
	}
}

// An object is planned again after hooks have run if a hook has the same name.
func TestObjectReplacedByHook(t *testing.T) {
	for text, want := range map[string]int{
		configMaps("a=1") + objectText("ConfigMap", "a", "helm.sh/hook", "pre-upgrade"): 2,
		configMaps("a=1") + objectText("ConfigMap", "b", "helm.sh/hook", "pre-upgrade"): 1,
		objectText("ConfigMap", "a", "helm.sh/hook", "pre-upgrade"):                     2, // a is to be deleted
	} {
		t.Run(text, func(t *testing.T) {
			s := installedCase(t, configMaps("a=1"))
			if _, err := s.runUpgrade(t, text); err != nil {
				t.Fatal(err)
			}
			plans := 0
			for _, line := range s.lines {
				if strings.HasPrefix(line, "plan ") {
					plans++
				}
			}
			if plans != want {
				t.Errorf("planned %d times, want %d:\n%s\n%q", plans, want, text, s.lines)
			}
		})
	}
}

// Items of a List in crds/ are CRDs.
func TestCRDsInList(t *testing.T) {
	s := newTestCase(t, newChart(t, "crds/tab.yaml", listOf(t, crontab), "templates/a.yaml", tab))
	s.cluster.missing["crontabs.example.com"] = true
	if _, err := s.install.Run(t.Context(), s.request); err != nil {
		t.Fatal(err)
	}
	if !s.contains("crds " + theCRD) {
		t.Errorf("calls = %q", s.lines)
	}
	s.wantState(t, "CronTab/tab", "1 deployed")
}
