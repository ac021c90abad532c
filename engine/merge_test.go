// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"text/template/parse"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/Masterminds/sprig/v3"
)

// valueMaker generates values from bytes.
type valueMaker struct {
	data []byte
	made int
}

func (g *valueMaker) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

func (g *valueMaker) table(depth int) map[string]any {
	m := map[string]any{}
	for range g.next(5) {
		m[string(rune('a'+g.next(4)))] = g.value(depth)
	}
	return m
}

func (g *valueMaker) value(depth int) any {
	g.made++
	if n := g.next(30); n < 12 && depth > 0 {
		if n == 0 {
			return Values(g.table(depth - 1))
		}
		return g.table(depth - 1)
	}
	switch g.next(20) {
	case 0:
		return nil
	case 1:
		return ""
	case 2:
		return 0.0
	case 3:
		return false
	case 4:
		return []any{}
	case 5:
		return []any{float64(g.made), g.table(depth - 1)}
	case 6:
		return []string{"s"}
	case 7:
		return map[string]string{"a": fmt.Sprint(g.made)}
	case 8:
		return semver.MustParse(fmt.Sprintf("1.%d.0", g.next(2)))
	case 9:
		return time.Unix(int64(g.next(3)), 0).UTC()
	case 10:
		return map[string]any(nil)
	case 11:
		return []any(nil)
	case 12:
		return KubeVersion{Version: fmt.Sprint(g.made)}
	case 13:
		return time.Duration(g.next(2))
	case 14:
		return true
	case 15:
		return g.made
	}
	return fmt.Sprint("v", g.made)
}

// sameMerge compares our merge of the values generated from data with sprig's.
func sameMerge(t *testing.T, data []byte) {
	t.Helper()
	for _, name := range []string{"merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"} {
		g := func() []map[string]any {
			g := valueMaker{data: data}
			out := []map[string]any{g.table(4)}
			for range 1 + g.next(2) {
				out = append(out, g.table(4))
			}
			return out
		}
		want, got := g(), g()
		wantText := described(want, func() (any, error) {
			return callMerge(sprig.GenericFuncMap()[name], want)
		})
		gotText := described(got, func() (v any, err error) {
			defer func() {
				if r := recover(); r != nil {
					err = asError(r)
				}
			}()
			x := newEngine(&Input{}).executor(context.Background())
			x.stepLimit = maxSteps
			f := &frame{executor: x, def: &definition{src: &source{}}, set: &templateSet{}, node: &parse.TextNode{}}
			args := make([]any, len(got))
			for i, m := range got {
				args[i] = m
			}
			return f.funcs[name].native(f, args), nil
		})
		if gotText != wantText {
			t.Errorf("%s of %q:\n%#v\n got %s\nwant %s", name, data, g(), gotText, wantText)
		}
	}
}

func callMerge(fn any, maps []map[string]any) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = asError(r)
		}
	}()
	switch fn := fn.(type) {
	case func(map[string]any, ...map[string]any) any:
		return fn(maps[0], maps[1:]...), nil
	case func(map[string]any, ...map[string]any) (any, error):
		return fn(maps[0], maps[1:]...)
	}
	panic(fmt.Sprintf("%T", fn))
}

// described returns the result of a merge, its arguments afterwards, and the maps that are now
// in several places.
func described(tables []map[string]any, run func() (any, error)) string {
	v, err := run()
	if err != nil || v == "" {
		return "failed" // the partial result depends on the order of keys
	}
	places := map[uintptr][]string{}
	var walk func(v any, path string)
	walk = func(v any, path string) {
		if m, ok := asMap(v); ok && m != nil {
			at := reflect.ValueOf(m).Pointer()
			places[at] = append(places[at], path)
			for _, k := range slices.Sorted(maps.Keys(m)) {
				walk(m[k], path+"."+k)
			}
		}
	}
	for i, m := range tables {
		walk(m, fmt.Sprint(i))
	}
	var shared []string
	for _, p := range places {
		if len(p) > 1 {
			shared = append(shared, strings.Join(p, "="))
		}
	}
	sort.Strings(shared)
	return addresses.ReplaceAllString(fmt.Sprintf("%#v %#v %s", v, tables, shared), "")
}

// Merging has the same results as sprig, except for values that contain themselves.
func TestMergeReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	r := rand.New(rand.NewSource(1))
	for range 1000 {
		data := make([]byte, r.Intn(120))
		r.Read(data)
		sameMerge(t, data)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("\x04\x01\x02\x03\x04"))
	f.Fuzz(sameMerge)
}
