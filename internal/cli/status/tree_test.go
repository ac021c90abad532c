// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube/status"
	"github.com/moonhelm/moonhelm/release"
)

func TestScreenDraw(t *testing.T) {
	for _, test := range []struct {
		name    string
		texts   []string
		columns []int
		want    string
	}{
		{"the first", []string{"a\nb\n"}, []int{80}, "a\x1b[K\nb\x1b[K\n\x1b[J"},
		{"the same again", []string{"a\n", "a\n"}, []int{80, 80}, "a\x1b[K\n\x1b[J"},
		{"in place", []string{"a\nb\n", "c\n"}, []int{80, 80}, "a\x1b[K\nb\x1b[K\n\x1b[J\r\x1b[2Ac\x1b[K\n\x1b[J"},
		{"another width", []string{"a\n", "b\n"}, []int{80, 40}, "a\x1b[K\n\x1b[Jb\x1b[K\n\x1b[J"},
		{"too many lines", []string{"1\n2\n3\n4\n5\n6\nend\n"}, []int{80}, "1\x1b[K\n2\x1b[K\n... 4 more lines\x1b[K\nend\x1b[K\n\x1b[J"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			s := screen{w: &b}
			for i, text := range test.texts {
				if err := s.draw(text, test.columns[i], 5); err != nil {
					t.Fatal(err)
				}
			}
			if b.String() != test.want {
				t.Errorf("got %q, want %q", b.String(), test.want)
			}
		})
	}
}

func TestWatch(t *testing.T) {
	tree := func() *action.ReleaseTree {
		return &action.ReleaseTree{Release: release.New("web", "shop", 1, nil), Tree: &status.Tree{
			Objects: []*status.Node{{Kind: "ConfigMap", Name: "a", State: status.Ready}},
		}}
	}
	t.Run("an interrupt is no error", func(t *testing.T) {
		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		err := watch(ctx, cmdutil.New(term.Streams{Out: &out}), Options{}, func() (*action.ReleaseTree, error) {
			cancel()
			return tree(), ctx.Err()
		})
		if err != nil || out.String() != "" {
			t.Errorf("got %v and %q, want neither", err, out.String())
		}
	})
	t.Run("a pipe gets changes", func(t *testing.T) {
		var out bytes.Buffer
		show := viewer(cmdutil.New(term.Streams{Out: &out}), Options{})
		for range 3 {
			if err := show(tree()); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(out.String(), "\n"); got != 2 || !strings.Contains(out.String(), "ConfigMap/a: ready") {
			t.Errorf("got %q, want a line for the release and one for its object", out.String())
		}
	})
	t.Run("an error ends it", func(t *testing.T) {
		broken := errors.New("broken")
		err := watch(t.Context(), cmdutil.New(term.Streams{}), Options{}, func() (*action.ReleaseTree, error) { return nil, broken })
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	})
}
