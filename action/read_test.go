// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// fakeLister implements lists and histories, and stores the last query.
type fakeLister struct {
	have   []release.Summary
	err    error
	filter storage.Filter
	limit  int
}

func (s *fakeLister) List(_ context.Context, f storage.Filter) ([]release.Summary, error) {
	s.filter = f
	return slices.Clone(s.have), s.err
}

func (s *fakeLister) History(_ context.Context, _ string, limit int) ([]release.Summary, error) {
	s.limit = limit
	return s.have, s.err
}

func TestListSort(t *testing.T) {
	at := func(hour int) time.Time { return noon.Add(time.Duration(hour) * time.Hour) }
	have := []release.Summary{
		{Name: "b", Namespace: "x", Revision: 1, Updated: at(3)},
		{Name: "a", Namespace: "y", Revision: 1, Updated: at(2)},
		{Name: "a", Namespace: "x", Revision: 2, Updated: at(1)},
		{Name: "a", Namespace: "x", Revision: 1, Updated: at(2)},
	}
	for _, test := range []struct {
		name string
		req  ListRequest
		want string
	}{
		{"by name, namespace, revision", ListRequest{}, "a/x1 a/x2 a/y1 b/x1"},
		{"reversed", ListRequest{Reverse: true}, "b/x1 a/y1 a/x2 a/x1"},
		{"by date, the same dates by name", ListRequest{ByDate: true}, "a/x2 a/x1 a/y1 b/x1"},
		{"newest first", ListRequest{ByDate: true, Reverse: true}, "b/x1 a/y1 a/x1 a/x2"},
		{"a page", ListRequest{Offset: 1, Limit: 2}, "a/x2 a/y1"},
		{"the last page", ListRequest{Offset: 3, Limit: 2}, "b/x1"},
		{"beyond the end", ListRequest{Offset: 4}, ""},
		{"from before the start", ListRequest{Offset: -1, Limit: 1}, "a/x1"},
		{"a limit below nothing", ListRequest{Limit: -1, Offset: 2}, "a/y1 b/x1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := List{Releases: &fakeLister{have: have}}.Run(t.Context(), test.req)
			var got []string
			for _, s := range found {
				got = append(got, fmt.Sprintf("%s/%s%d", s.Name, s.Namespace, s.Revision))
			}
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%s: got %v, %v; wanted %s", test.name, got, err, test.want)
			}
		})
	}
}

func TestListFilter(t *testing.T) {
	s := &fakeLister{err: errBroken}
	_, err := List{Releases: s}.Run(t.Context(), ListRequest{Filter: storage.Filter{Statuses: []release.Status{release.Failed}, AllRevisions: true}})
	if !errors.Is(err, errBroken) || !s.filter.AllRevisions || len(s.filter.Statuses) != 1 {
		t.Errorf("%v, %+v", err, s.filter)
	}
}

func TestHistoryLimit(t *testing.T) {
	s := &fakeLister{have: []release.Summary{{Revision: 4}, {Revision: 5}}}
	found, err := History{Releases: s}.Run(t.Context(), "web", 2)
	if err != nil || len(found) != 2 || s.limit != 2 {
		t.Errorf("%v, %v, %d", found, err, s.limit)
	}
	if _, err := (History{Releases: s}).Run(t.Context(), "no/name", 2); err == nil {
		t.Error("got no error for an invalid name")
	}
}

type fakeLiveReader struct{ err error }

func (m fakeLiveReader) Live(_ context.Context, objects []*manifest.Object, namespace string) ([]status.LiveObject, error) {
	var out []status.LiveObject
	for _, o := range objects {
		out = append(out, status.LiveObject{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Live: map[string]any{"namespace": namespace}})
	}
	return out, m.err
}

func TestStatus(t *testing.T) {
	broken := newRevision(1, release.Failed)
	broken.Manifest = "a: b: c"
	recs := newFakeRecords(&callLog{}, broken, deployed(2))
	st, err := Status{Releases: recs, Cluster: fakeLiveReader{}}.Run(t.Context(), "web", 0)
	if err != nil || st.Release.Revision != 2 || len(st.Objects) < 3 || st.Objects[0].Live["namespace"] != "ns" {
		t.Errorf("%+v, %v", st, err)
	}
	for _, test := range []struct {
		name     string
		revision int
		live     fakeLiveReader
		want     string
	}{
		{"w/b", 0, fakeLiveReader{}, "is invalid"},
		{"shop", 0, fakeLiveReader{}, `release: not found: "shop"`},
		{"web", 7, fakeLiveReader{}, `release: not found: release has no 7 version: "web"`},
		{"web", 1, fakeLiveReader{}, "read the manifest of release web"},
		{"web", 2, fakeLiveReader{errBroken}, "broken"},
	} {
		t.Run(test.want, func(t *testing.T) {
			if _, err := (Status{Releases: recs, Cluster: test.live}).Run(t.Context(), test.name, test.revision); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %d: got %v, want %q", test.name, test.revision, err, test.want)
			}
		})
	}
}

func TestSplitObjects(t *testing.T) {
	for want, o := range map[string]status.LiveObject{
		"v1/Deployment":   {APIVersion: "apps/v1", Kind: "Deployment"},
		"v1/Pod(related)": {APIVersion: "v1", Kind: "Pod", Related: true},
	} {
		t.Run(want, func(t *testing.T) {
			if got := o.Section(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestCheckName(t *testing.T) {
	for name, good := range map[string]bool{
		"web": true, "web-1": true, "web.shop": true, "0": true, strings.Repeat("a", 53): true,
		"": false, "Web": false, "-web": false, "web-": false, "web..shop": false, ".web": false, "we_b": false,
		"web\n": false, "../web": false, "wéb": false, strings.Repeat("a", 54): false,
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckName(name); (err == nil) != good {
				t.Errorf("%q: %v", name, err)
			}
		})
	}
}

func TestGenerateName(t *testing.T) {
	for ref, want := range map[string]string{
		"./charts/MySQL":               "mysql-1795262400",
		"charts/web/":                  "chart-1795262400",
		`c:\charts\web.tgz`:            "web-1795262400",
		".":                            "chart-1795262400",
		"web_shop":                     "web-shop-1795262400",
		"äöü":                          "chart-1795262400",
		strings.Repeat("long-", 20):    "long-long-long-long-long-long-long-long-lo-1795262400",
		strings.Repeat("a", 41) + "--": strings.Repeat("a", 41) + "-1795262400",
	} {
		t.Run(ref, func(t *testing.T) {
			got := GenerateName(ref, noon)
			if got != want || CheckName(got) != nil {
				t.Errorf("%q: got %q, want %q; %v", ref, got, want, CheckName(got))
			}
		})
	}
}

func TestServedVersions(t *testing.T) {
	objs, err := manifest.Parse("crds/a.yaml", crontab+"---\n"+objectText("ConfigMap", "beside")+
		"---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: odd}\nspec: {versions: [null, 7, {served: true}]}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := servedVersions(objs), []string{"example.com/v1", "example.com/v1/CronTab"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	objects, err := manifest.Parse("a", tab+objectText("CronTab", "other-group")+objectText("ConfigMap", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(withoutUpcoming(objects, map[string]bool{"example.com/v1/CronTab": true})); got != "[CronTab/other-group ConfigMap/a]" {
		t.Error(got)
	}
	if got := withoutUpcoming(objects, nil); len(got) != 3 {
		t.Error(got)
	}
}

func TestPackageMissingDependencies(t *testing.T) {
	c, dir := newChart(t), t.TempDir()
	path, err := Package{}.Run(t.Context(), PackageRequest{Chart: c, Version: "2.0.0", AppVersion: "9", Directory: dir})
	if err != nil || path != filepath.Join(dir, "web-2.0.0.tgz") {
		t.Error(path, err)
	}
	c.Metadata.Dependencies = []*chart.Dependency{{Name: "redis", Version: "1"}, {Name: "mysql", Version: "1"}}
	_, err = Package{}.Run(t.Context(), PackageRequest{Chart: c, Version: "3.0.0", Directory: dir})
	var missing *MissingDependenciesError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "redis, mysql") {
		t.Errorf("got %v", err)
	}
	if archives, _ := filepath.Glob(filepath.Join(dir, "*")); len(archives) != 1 {
		t.Errorf("archives are %q", archives)
	}
}

func TestComputedValues(t *testing.T) {
	c := newChart(t, "values.yaml", "a: 1\nb: {c: 2, d: 3}\n")
	c.Metadata.Dependencies = []*chart.Dependency{{Name: "redis", Version: "1"}} // not in a record
	rel := release.New("web", "ns", 1, c)
	rel.Config = map[string]any{"b": map[string]any{"c": "mine"}}
	got, err := ComputedValues(rel)
	if err != nil || fmt.Sprint(got) != "map[a:1 b:map[c:mine d:3]]" {
		t.Errorf("%v, %v", got, err)
	}
	if len(c.Metadata.Dependencies) != 1 || fmt.Sprint(c.Values) != "map[a:1 b:map[c:2 d:3]]" {
		t.Error("the chart was changed")
	}
	c.Metadata.Dependencies = []*chart.Dependency{{Name: "redis", ExportValues: []any{map[string]any{"parent": "b.c", "child": "port"}}}}
	if got, err := ComputedValues(rel); err != nil || fmt.Sprint(got["redis"]) != "map[port:mine]" {
		t.Errorf("exported values: %v, %v", got, err)
	}
	bare := release.New("web", "ns", 1, nil)
	bare.Config = rel.Config
	if got, err := ComputedValues(bare); err != nil || !reflect.DeepEqual(got, rel.Config) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ComputedValues(release.New("web", "ns", 1, &chart.Chart{Values: map[string]any{"a": 1}})); err != nil || fmt.Sprint(got) != "map[a:1]" {
		t.Errorf("a record whose chart has no metadata: %v, %v", got, err)
	}
}
