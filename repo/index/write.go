// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// APIVersion is the apiVersion of written indexes.
const APIVersion = "v1"

// WriteJSON writes the index as JSON in Helm's format.
func (l *Listing) WriteJSON(w io.Writer) error {
	entries := make(map[string][]*Entry, len(l.Entries))
	for name, all := range l.Entries {
		for _, e := range all {
			entries[name] = append(entries[name], published(e))
		}
	}
	data, err := json.MarshalIndent(struct {
		APIVersion string              `json:"apiVersion"`
		Generated  time.Time           `json:"generated"`
		Entries    map[string][]*Entry `json:"entries"`
	}{APIVersion, l.Generated, entries}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// WriteYAML writes the index as YAML in Helm's format: charts are sorted by name, keys are
// sorted.
func (l *Listing) WriteYAML(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "apiVersion: %s\n", APIVersion)
	if len(l.Entries) == 0 {
		out.WriteString("entries: {}\n")
	} else {
		out.WriteString("entries:\n")
	}
	order, err := encoded(slices.Collect(maps.Keys(l.Entries)))
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	for text, err := range l.texts(order) {
		if err != nil {
			return fmt.Errorf("write the index: %w", err)
		}
		out.Write(text)
	}
	made, err := yaml.Marshal(map[string]time.Time{"generated": l.Generated})
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	out.Write(made)
	return out.Flush()
}

// encoded returns names in the order in which the encoder writes keys: web9 comes before
// web10.
func encoded(names []string) ([]string, error) {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = ""
	}
	text, err := yaml.Marshal(m)
	if err != nil || len(m) == 0 {
		return nil, err
	}
	var t tape
	if err := slowly(&t, string(text)); err != nil {
		return nil, err
	}
	order := make([]string, 0, len(names))
	for k := 1; k < len(t); k = t[k+1].end {
		order = append(order, t[k].text)
	}
	return order, nil
}

// texts returns the charts as YAML, in that order. Several goroutines encode them ahead of
// the caller.
func (l *Listing) texts(order []string) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		type result struct {
			text []byte
			err  error
		}
		ahead := make(chan chan result, 4*runtime.GOMAXPROCS(0))
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(ahead)
			for _, name := range order {
				done := make(chan result, 1)
				select {
				case ahead <- done:
				case <-stop:
					return
				}
				wg.Go(func() {
					text, err := chartText(name, l.Entries[name])
					done <- result{text, err}
				})
			}
		})
		defer wg.Wait()
		defer close(stop)
		for done := range ahead {
			if r := <-done; !yield(r.text, r.err) || r.err != nil {
				return
			}
		}
	}
}

// chartText returns a chart and its entries as they are in the index. The encoder folds lines
// by their column, so it encodes them at the indentation that they have there.
func chartText(name string, all []*Entry) ([]byte, error) {
	entries := make([]*Entry, len(all))
	for i, e := range all {
		entries[i] = published(e)
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	var plain any // the result of parsing this with sigs.k8s.io/yaml
	if err := json.Unmarshal(data, &plain); err != nil {
		return nil, err
	}
	text, err := yaml.MarshalV2(map[string]any{"entries": map[string]any{name: plain}})
	return bytes.TrimPrefix(text, []byte("entries:\n")), err
}

// published returns an entry without the fields that Helm rejects in an index: it does not
// support libraries, or the order and the exports of dependencies.
func published(e *Entry) *Entry {
	out := *e
	out.Libraries = nil
	out.Dependencies = make([]*chart.Dependency, len(e.Dependencies))
	for i, d := range e.Dependencies {
		if d != nil && (d.DependsOn != nil || d.ExportValues != nil) {
			without := *d
			without.DependsOn, without.ExportValues = nil, nil
			d = &without
		}
		out.Dependencies[i] = d
	}
	return &out
}
