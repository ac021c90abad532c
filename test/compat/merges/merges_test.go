// SPDX-License-Identifier: Apache-2.0

package merges

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/peertest"
	"github.com/moonhelm/moonhelm/test/compat/mutated"
)

// arena connects to the control plane and creates the definition of Widgets.
func arena(t *testing.T) *Arena {
	t.Helper()
	server := apiserver.Connect(t)
	a := &Arena{Server: server, Kubeconfig: os.Getenv(apiserver.Kubeconfig), Home: t.TempDir(), Dir: t.TempDir()}
	definition, err := os.ReadFile(filepath.Join("testdata", "widgets.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, err := server.Call(t.Context(), http.MethodPost,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", string(definition))
	if err != nil || code != http.StatusCreated && code != http.StatusConflict {
		t.Fatalf("create the definition of Widgets: %d, %v", code, err)
	}
	for range 200 {
		if _, code, err = server.Call(t.Context(), http.MethodGet, "/apis/moonhelm.test/v1/widgets", "",
			""); err == nil && code == http.StatusOK {
			return a
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("list Widgets: %d, %v", code, err)
	return nil
}

// contestants returns our binary and Helm's with each apply method.
func contestants(t *testing.T) []*Contestant {
	t.Helper()
	bin := peertest.Moonhelm(t, filepath.Join("..", "..", ".."))
	helm4, err := peertest.Helm(peertest.Helm4)
	if err != nil {
		t.Fatal(err)
	}
	client, server := []string{"--server-side=false"}, []string{"--server-side=true"}
	force := append(slices.Clone(server), "--force-conflicts")
	return []*Contestant{
		{"ours client", bin, client, client}, {"helm client", helm4, client, client},
		{"ours server", bin, server, force}, {"helm server", helm4, server, force},
	}
}

// contest runs batches of triples and counts the results.
type contest struct {
	*Arena
	contestants []*Contestant

	sync.Mutex
	done    int
	equal   map[string]int // by mode
	refused map[string]int
	differ  map[string]int
	decided map[string]int
	classes map[string]int
}

// batch runs triples together, and one by one those that make an upgrade fail.
func (c *contest) batch(ctx context.Context, t *testing.T, triples []*Triple) {
	if len(triples) == 0 {
		return
	}
	all := map[string]map[*Triple]*Outcome{}
	var blamed []*Triple
	failed := false
	for _, who := range c.contestants {
		out, err := c.Upgrade(ctx, who, triples)
		if err != nil {
			t.Error(err)
			return
		}
		all[who.Name] = out
		if out[triples[0]].Error != "" {
			failed = true
			blamed = append(blamed, Blamed(triples, out)...)
		}
		if failed && len(triples) > 1 {
			break
		}
	}
	if !failed || len(triples) == 1 {
		var err error
		if all[reference], err = c.Reference(ctx, triples); err != nil {
			t.Error(err)
			return
		}
		for _, one := range triples {
			c.compare(t, one, all)
		}
		return
	}
	rest := slices.DeleteFunc(slices.Clone(triples), func(one *Triple) bool { return slices.Contains(blamed, one) })
	if len(rest) == len(triples) || len(blamed) == len(triples) {
		half := len(triples) / 2
		c.batch(ctx, t, triples[:half])
		c.batch(ctx, t, triples[half:])
		return
	}
	c.batch(ctx, t, rest)
	for _, one := range triples {
		if slices.Contains(blamed, one) {
			c.batch(ctx, t, []*Triple{one})
		}
	}
}

func (c *contest) compare(t *testing.T, one *Triple, all map[string]map[*Triple]*Outcome) {
	r := &result{Triple: one, outcomes: map[string]*Outcome{}, normal: map[string]map[string]any{}}
	for name, out := range all {
		r.outcomes[name], r.normal[name] = out[one], normal(out[one])
	}
	c.Lock()
	defer c.Unlock()
	if c.done++; c.done%240 == 0 {
		t.Logf("%d triples: equal %v, refused by both %v, differ %v", c.done, c.equal, c.refused, c.differ)
	}
	for _, mode := range []string{"client", "server"} {
		ours, helm := r.outcomes["ours "+mode], r.outcomes["helm "+mode]
		var diffs []mutated.Difference
		switch {
		case (ours.Error == "") != (helm.Error == ""):
			diffs = []mutated.Difference{{Path: "fails", Ours: ours.Error, Helm: helm.Error}}
		case ours.Error == "":
			diffs = mutated.Differences("", r.normal["ours "+mode], r.normal["helm "+mode])
		default:
			c.refused[mode]++
			continue
		}
		var kept []mutated.Difference
		for _, d := range diffs {
			if by := r.decided(mode == "server", d); by != nil {
				c.decided[mode+": "+by.Name]++
			} else {
				kept = append(kept, d)
			}
		}
		if len(kept) == 0 {
			c.equal[mode]++
			continue
		}
		c.differ[mode]++
		c.classes[mode+" "+one.Kind.kind+" "+class(kept[0])]++
		t.Error(r.describe(mode, kept))
	}
}

// class returns a key that is mostly the same for differences with one cause.
func class(d mutated.Difference) string {
	path := strings.FieldsFunc(d.Path, func(r rune) bool { return r >= '0' && r <= '9' })
	text := strings.Join(path, "#")
	if d.Path == "fails" {
		lines := strings.Split(strings.TrimSpace(d.Ours+d.Helm), "\n")
		text += map[bool]string{true: " helm ", false: " ours "}[d.Ours == ""] + named.ReplaceAllString(lines[0], "o")
	}
	if len(text) > 240 {
		text = text[:240]
	}
	return text
}

func (r *result) describe(mode string, diffs []mutated.Difference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "MOONHELM_MERGE=%d/%d %s, merged by the %s\n", r.Seed, r.Number, r.Kind.kind, mode)
	for _, d := range diffs {
		fmt.Fprintln(&b, d)
	}
	for _, l := range []struct {
		what string
		v    any
	}{
		{"old", r.Old}, {"live", r.normalLive("ours " + mode)}, {"new", r.New},
		{"ours", r.normal["ours "+mode]}, {"helm", r.normal["helm "+mode]}, {"reference", r.normal[reference]},
	} {
		text, err := json.Marshal(l.v)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&b, "  %s: %s\n", l.what, text)
	}
	return b.String()
}

// size is the number of triples in a batch.
const size = 24

// TestUpgrades compares the results of upgrades, for MOONHELM_MERGES triples or for a few dozen
// by default.
func TestUpgrades(t *testing.T) {
	a := arena(t)
	seed, from, count := peertest.EnvNumber(t, "MOONHELM_MERGE_SEED", 21), uint64(0), peertest.EnvNumber(t, "MOONHELM_MERGES", 3*size)
	if one := os.Getenv("MOONHELM_MERGE"); one != "" {
		if _, err := fmt.Sscanf(one, "%d/%d", &seed, &from); err != nil {
			t.Fatalf("MOONHELM_MERGE: %v; want SEED/NUMBER", err)
		}
		count = 1
	}
	c := &contest{
		Arena: a, contestants: contestants(t), equal: map[string]int{}, refused: map[string]int{},
		differ: map[string]int{}, decided: map[string]int{}, classes: map[string]int{},
	}
	probe, err := a.Namespace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Remove(context.WithoutCancel(t.Context()), probe)
	batches := make(chan []*Triple)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for b := range batches {
				c.batch(t.Context(), t, b)
			}
		})
	}
	kinds, start := Kinds(), time.Now()
	var next []*Triple
	for found, n := uint64(0), from; found < count; n++ {
		one := Generate(kinds, seed, n)
		ok, err := a.Valid(t.Context(), probe, one)
		if err != nil {
			t.Fatal(err)
		}
		if !ok && count > 1 {
			continue
		}
		found++
		if next = append(next, one); len(next) == size || found == count {
			batches <- next
			next = nil
		}
	}
	close(batches)
	workers.Wait()
	for name, n := range c.classes {
		t.Logf("class: %d of %s", n, name)
	}
	t.Logf("%d triples in %s: equal %v, refused by both %v, differ %v; decided: %v", c.done,
		time.Since(start).Round(time.Second), c.equal, c.refused, c.differ, c.decided)
}
