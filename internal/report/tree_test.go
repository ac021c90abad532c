// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/output"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/release"
)

func sampleTree(now time.Time) *action.ReleaseTree {
	rel := release.New("web", "shop", 3, nil)
	rel.Info.Status = release.Deployed
	created := now.Add(-5 * time.Minute)
	pod := func(name string, s status.State, reason string) *status.Node {
		return &status.Node{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: name, State: s, Ready: "0/1", Reason: reason,
			Created: &created, Children: []*status.Node{{Kind: "Container", Name: "app", State: s, Reason: reason, Restarts: 2}}}
	}
	return &action.ReleaseTree{Release: rel, Tree: &status.Tree{
		Objects: []*status.Node{
			{Kind: "Deployment", Namespace: "shop", Name: "web", State: status.Progressing, Ready: "1/2", Reason: "1 of 2 pods available",
				Created: &created, Children: []*status.Node{
					pod("web-a", status.Failing, "crashed \x1b[2J"), pod("web-b", status.Ready, ""),
				}},
			{Kind: "Secret", Name: "s", State: status.Missing, Reason: "does not exist"},
		},
		Notes: []string{"you may not list jobs in namespace shop"},
	}}
}

func TestWriteTree(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	if err := WriteTree(term.Streams{Out: &b}, output.Table, sampleTree(now), now); err != nil {
		t.Fatal(err)
	}
	const want = "web in namespace shop, revision 3, deployed\n\n" +
		"OBJECT          READY  AGE  STATUS\n" +
		"Deployment/web  1/2    5m   1 of 2 pods available\n" +
		"|- Pod/web-a    0/1    5m   crashed \\x1b[2J\n" +
		"|  `- app                   crashed \\x1b[2J, restarted 2x\n" +
		"`- Pod/web-b    0/1    5m   ready\n" +
		"   `- app                   ready, restarted 2x\n" +
		"Secret/s                    does not exist\n" +
		"note: you may not list jobs in namespace shop\n" +
		"\n0 of 2 objects are ready\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := WriteTree(term.Streams{Out: &b}, output.JSON, sampleTree(now), now); err != nil {
		t.Fatal(err)
	}
	var v treeValue
	if err := json.Unmarshal(b.Bytes(), &v); err != nil || v.Revision != 3 || len(v.Objects) != 2 ||
		v.Objects[0].Children[0].Children[0].Restarts != 2 {
		t.Errorf("%v, got %s", err, b.String())
	}
}

func TestTreeManyChildren(t *testing.T) {
	now := time.Now()
	tree := sampleTree(now)
	for i := range 30 {
		tree.Tree.Objects[0].Children = append(tree.Tree.Objects[0].Children,
			&status.Node{Kind: "Pod", Name: fmt.Sprintf("more-%d", i), State: status.Ready})
	}
	tree.Tree.Objects[0].Children = append(tree.Tree.Objects[0].Children,
		&status.Node{Kind: "Pod", Name: "last", State: status.Failing})
	text := TreeText(term.Streams{Out: &bytes.Buffer{}}, tree, now)
	if !strings.Contains(text, "Pod/last") || !strings.Contains(text, "└─ and 13 more") {
		t.Errorf("got\n%s", text)
	}
}

func TestTreeChanges(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)
	st := term.Style{}
	before := sampleTree(now)
	if got := TreeChanges(st, before, sampleTree(now), now); len(got) != 0 {
		t.Errorf("got %q, want no changes", got)
	}
	after := sampleTree(now)
	after.Release.Revision = 4
	after.Tree.Objects[0].Ready, after.Tree.Objects[0].State, after.Tree.Objects[0].Reason = "2/2", status.Ready, ""
	after.Tree.Objects[0].Children = after.Tree.Objects[0].Children[:1]
	want := []string{"12:00:00 web: revision 4, deployed", "12:00:00 Deployment/web: 2/2 ready", "12:00:00 Pod/web-b: gone",
		"12:00:00 Pod/web-b app: gone"}
	if got := TreeChanges(st, before, after, now); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := TreeChanges(st, nil, after, now); len(got) != 5 || got[0] != "12:00:00 web: revision 4, deployed" {
		t.Errorf("got %q, want the release and four objects", got)
	}
}
