// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"testing"

	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// treeOfNames returns a tree that has the objects it is asked for.
type treeOfNames struct{}

func (treeOfNames) Tree(_ context.Context, objects []*manifest.Object, namespace string) (*status.Tree, error) {
	t := &status.Tree{}
	for _, o := range objects {
		t.Objects = append(t.Objects, &status.Node{Kind: o.Kind, Namespace: namespace, Name: o.Name})
	}
	return t, nil
}

func TestStatusTree(t *testing.T) {
	records := storage.New(storage.NewMemory("shop"), "shop")
	for i, text := range []string{pod("a", "x"), pod("a", "x") + pod("b", "y"), "a: ["} {
		r := revisionOf("1.0.0", nil, text)
		r.Revision, r.Info.Status = i+1, release.Superseded
		if err := records.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name     string
		revision int
		want     int // objects
	}{{"a revision", 1, 1}, {"another", 2, 2}} {
		t.Run(test.name, func(t *testing.T) {
			got, err := StatusTree{Releases: records, Cluster: treeOfNames{}}.Run(t.Context(), "web", test.revision)
			if err != nil || got.Release.Revision != test.revision || len(got.Tree.Objects) != test.want ||
				got.Tree.Objects[0].Namespace != "shop" {
				t.Errorf("got %+v, %v, want %d objects", got, err, test.want)
			}
		})
	}
	var config *ConfigError
	if _, err := (StatusTree{Releases: records}).Run(t.Context(), "web", 0); !errors.As(err, &config) || config.Field != "Cluster" {
		t.Errorf("without a cluster: %v", err)
	}
	for _, name := range []string{"gone", "BAD_NAME"} {
		if _, err := (StatusTree{Releases: records, Cluster: treeOfNames{}}).Run(t.Context(), name, 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	t.Run("changes", func(t *testing.T) {
		got, err := HistoryChanges{Releases: records}.Run(t.Context(), "web", []int{1, 2, 3, 4})
		if err != nil || len(got) != 4 || got[0] != nil || got[1] == nil || got[2] != nil || got[3] != nil {
			t.Fatalf("got %+v, %v, want the change of revision 2 alone", got, err)
		}
		if len(got[1].Added) != 1 || got[1].Added[0] != "Pod/b" || got[1].Before != 1 {
			t.Errorf("got %+v, want Pod/b added", got[1])
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := (HistoryChanges{Releases: records}).Run(ctx, "web", []int{1}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
