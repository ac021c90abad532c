// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// TestFailedRevisionsOfTheOther lets one binary fail in the middle of an operation and another
// one continue.
func TestFailedRevisionsOfTheOther(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	bad := []string{"upgrade", "web", chart, "--set", "colour=bad,old=false,port=99999999"}
	for _, s := range [][2]string{{"ours", "helm4"}, {"ours", "helm3"}, {"helm4", "ours"}, {"helm3", "ours"}} {
		failing, next := s[0], s[1]
		t.Run(failing+" fails, "+next+" goes on", func(t *testing.T) {
			ns := c.namespace(t)
			all := tools(t, ns)
			all[next].must(t, "install", "web", chart)
			wantIn(t, "the error", all[failing].fails(t, bad...), "port", "99999999")
			agree(t, all, "1 deployed", "2 failed")
			all[next].must(t, "upgrade", "web", chart, "--set", "colour=blue")
			agree(t, all, "1 superseded", "2 failed", "3 deployed")
			if next == "ours" { // Helm does not remove the objects that a failed revision has created
				look(t, ns, all[next], "blue", true)
			}
			all[failing].fails(t, bad...)
			all[next].must(t, "rollback", "web", "3")
			agree(t, all, "1 superseded", "2 failed", "3 superseded", "4 failed", "5 deployed")
			all[failing].fails(t, bad...)
			all[next].must(t, "rollback", "web")
			agree(t, all, "1 superseded", "2 failed", "3 superseded", "4 failed", "5 superseded", "6 failed", "7 deployed")
			all[next].must(t, "uninstall", "web")
			agree(t, all)
		})
	}
}

// TestOursUndoesAndHelmGoesOn lets our binary undo a failed upgrade and a failed first install,
// after which the records are the same as Helm's.
func TestOursUndoesAndHelmGoesOn(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	var want map[string]string
	for _, name := range []string{"helm4", "ours", "helm3"} {
		undo := "--rollback-on-failure"
		if name == "helm3" {
			undo = "--atomic"
		}
		ns := c.namespace(t)
		all := tools(t, ns)
		h := all[name]
		flaw := []string{"--set", "colour=bad,old=false,port=99999999", undo, "--timeout", "1m"}
		got := map[string]string{}
		messages := func(what string) {
			got[what] = strings.Join(ns.records(t, "web"), ", ")
		}
		h.fails(t, append([]string{"install", "web", chart}, flaw...)...)
		messages("an install that is undone")
		h.must(t, "install", "web", chart)
		h.fails(t, append([]string{"upgrade", "web", chart}, flaw...)...)
		messages("an upgrade that is undone")
		look(t, ns, h, "red", true)
		for _, other := range []string{"ours", "helm4", "helm3"} {
			all[other].must(t, "upgrade", "web", chart, "--set", "colour=blue")
		}
		messages("what comes after")
		if want == nil {
			want = got
		}
		for what := range want {
			if got[what] != want[what] {
				t.Errorf("%s, by %s: the records are %s, want %s as of helm4", what, name, got[what], want[what])
			}
		}
	}
}

// TestRecordsThatAreTooLargeForHelm checks how Helm handles records that are split over several
// Secrets, as documented: it ignores them. It lists and shows nothing, and every command that
// would change the release fails with "no revision for release" (or that the name is in use or,
// if some revisions are small, that a revision does not exist or already exists). It changes
// and deletes none of their Secrets. An uninstall by Helm succeeds if the newest revision is
// small; the large ones stay, and ours removes them.
func TestRecordsThatAreTooLargeForHelm(t *testing.T) {
	c := connect(t)
	big, small := bigChart(t), webChart(t)
	for _, name := range []string{"helm4", "helm3"} {
		t.Run(name, func(t *testing.T) {
			ns := c.namespace(t)
			all := tools(t, ns)
			we, helm := all["ours"], all[name]
			we.must(t, "install", "web", big)
			we.must(t, "upgrade", "web", big, "--set", "colour=blue")
			before := secrets(t, ns)
			if len(before) < 4 {
				t.Fatalf("the records are in %q: these are too small for the test", before)
			}
			if list := helm.must(t, "list", "-q"); list != "" {
				t.Errorf("it lists %q", list)
			}
			for command, says := range map[string]string{
				"status web": "no revision for release", "get all web": "no revision for release", "test web": "no revision for release",
				"rollback web": "no revision for release", "rollback web 1": "no revision for release",
				"upgrade web CHART": "no revision for release", "upgrade --install web CHART": "no revision for release", "install web CHART": "already exists",
				"uninstall web": "no release provided", "uninstall web --keep-history": "no release provided",
			} {
				wantIn(t, command, helm.fails(t, strings.Fields(strings.ReplaceAll(command, "CHART", small))...), says)
			}
			if after := secrets(t, ns); !slices.Equal(before, after) {
				t.Errorf("the records were %q, and are %q", before, after)
			}
			if got := at(ns.object(t, "ConfigMap", "a"), "data", "colour"); got != "blue" {
				t.Errorf("the colour is %v", got)
			}

			we.must(t, "upgrade", "web", small)
			helm.must(t, "upgrade", "web", small, "--set", "colour=green")
			wantIn(t, "helm's rollback to a large revision", helm.fails(t, "rollback", "web", "1"), "release has no 1 version")
			we.must(t, "rollback", "web", "1")
			wantIn(t, "helm's upgrade after a large revision", helm.fails(t, "upgrade", "web", small), "already exists")
			if got, want := ns.records(t, "web"), []string{"1 superseded", "2 superseded", "3 superseded", "4 superseded", "5 deployed"}; !slices.Equal(got, want) {
				t.Errorf("the records are %q, want %q", got, want)
			}
			we.must(t, "upgrade", "web", small)
			helm.must(t, "uninstall", "web")
			if got, want := ns.records(t, "web"), []string{"1 superseded", "2 superseded", "5 superseded"}; !slices.Equal(got, want) {
				t.Errorf("after helm's uninstall the records are %q, want %q", got, want)
			}
			we.must(t, "uninstall", "web")
			if !apiserver.Eventually(func() bool { return len(secrets(t, ns)) == 0 }) {
				t.Errorf("left behind: %q", secrets(t, ns))
			}
		})
	}
}
