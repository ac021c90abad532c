// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// bomb returns a compressed record of a few kilobytes whose text is head, n times a part, and
// tail.
func bomb(t *testing.T, head, part string, n int, tail string) []byte {
	t.Helper()
	var out bytes.Buffer
	b64 := base64.NewEncoder(base64.StdEncoding, &out)
	gz := gzip.NewWriter(b64)
	many := []byte(strings.Repeat(part, 1000))
	_, err := gz.Write([]byte(head))
	for range n / 1000 {
		if err == nil {
			_, err = gz.Write(many)
		}
	}
	if err == nil {
		_, err = gz.Write([]byte(tail))
	}
	if err := errors.Join(err, gz.Close(), b64.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWeight(t *testing.T) {
	const start = `{"name":"web","info":{"status":"deployed"},"chart":{"metadata":{"name":"c","version":"1"}},`
	for name, text := range map[string][]byte{
		"values of a map":        bomb(t, start+`"config":{"a":[`, `{},`, 100_000, `{}]}}`),
		"numbers":                bomb(t, start+`"config":{"a":[`, `0,`, 100_000, `0]}}`),
		"hooks":                  bomb(t, start+`"hooks":[`, `{},`, 100_000, `{}]}`),
		"lines of a manifest":    bomb(t, start+`"manifest":"a:\\n`, `- []\\n`, 100_000, `"}`),
		"flow style in manifest": bomb(t, start+`"manifest":"a: [`, `[],`, 100_000, `]"}`),
		"values of a chart":      bomb(t, `{"name":"web","chart":{"values":{"a":[`, `[],`, 100_000, `0]}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b := Budget{saved: maxBudget - 6<<20}
			_, err := b.Decode(text)
			runtime.ReadMemStats(&after)
			var over *BudgetError
			if !errors.As(err, &over) {
				t.Errorf("a record of %d KiB was decoded: %v", len(text)>>10, err)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 6 {
				t.Errorf("it took %d MiB to find out", took)
			}
		})
	}
}

func TestBudgetIsShared(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	text := bomb(t, `{"name":"web","manifest":"`, `A`, 10<<20, `"}`)
	b := Budget{saved: maxBudget - 25<<20}
	var kept []*Release
	for range 2 {
		r, err := b.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r)
	}
	var over *BudgetError
	if _, err := b.Decode(text); !errors.As(err, &over) {
		t.Errorf("a third record: %v", err)
	}
	if err := new(Budget).take(maxBudget + 1); !errors.As(err, &over) {
		t.Errorf("more than there is: %v", err)
	}
	runtime.KeepAlive(kept)
	// Records that are no longer in use free memory.
	for i := range 6 {
		kept = nil
		r, err := b.Decode(text)
		if err != nil {
			t.Fatalf("record %d after others were dropped: %v", i, err)
		}
		kept = append(kept, r)
	}
	runtime.KeepAlive(kept)
}

// The size of usual records is not counted.
func TestBudgetFreeSize(t *testing.T) {
	r := New("web", "ns", 1, nil)
	for i := range 3000 {
		r.Manifest += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d, uid: %x}\n", i, i*2654435761)
	}
	text, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	var b Budget
	var kept []*Release
	for range 50 {
		r, err := b.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r)
	}
	if each := b.used / len(kept); each > maxBudget/100 {
		t.Errorf("a record of %d KiB costs %d KiB", len(text)>>10, each>>10)
	}
	runtime.KeepAlive(kept)
}

func TestSummarizeMemory(t *testing.T) {
	const end = `"status":"deployed"},"chart":{"metadata":{"name":"c","version":"1"}}}`
	for name, c := range map[string]struct {
		text []byte
		want string // of the error; "" for none
	}{
		"a long name":        {bomb(t, `{"name":"`, `A`, 5<<20, `","info":{`+end), "a value is larger than 256 KiB"},
		"a long description": {bomb(t, `{"name":"web","info":{"description":"`, `A`, 5<<20, `",`+end), "a value is larger than 256 KiB"},
		"a long key":         {bomb(t, `{"`, `A`, 5<<20, `":1,"name":"web","info":{`+end), "a value is larger than 256 KiB"},
		"long notes":         {bomb(t, `{"name":"web","info":{"notes":"`, `A`, 5<<20, `",`+end), ""},
		"many values":        {bomb(t, `{"name":"web","info":{"x":[`, `{},`, 4<<20, `{}],`+end), ""},
		"deep values":        {bomb(t, `{"x":`, `[`, 4<<20, `1`+strings.Repeat("]", 4<<20/1000*1000)+`,"name":"web","info":{`+end), ""},
		"a long number":      {bomb(t, `{"x":`, `1`, 4<<20, `,"name":"web","info":{`+end), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var b Budget
			sum, err := b.Summarize(c.text)
			runtime.ReadMemStats(&after)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v", sum, err)
			}
			if err == nil && (sum.Name != "web" || sum.Status != Deployed || sum.Chart != "c") {
				t.Errorf("got %+v", sum)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 8 {
				t.Errorf("it took %d MiB", took)
			}
		})
	}
}

func TestBudgetSummarize(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	text := bomb(t, `{"x":"`, `A`, 30<<20, `","name":"web","info":{"status":"deployed"},"chart":{"metadata":{"name":"c"}}}`)
	b := Budget{worked: maxWork - 40<<20}
	var over *BudgetError
	if _, err := b.Summarize(text); err != nil {
		t.Errorf("the first: %v", err)
	}
	if _, err := b.Summarize(text); !errors.As(err, &over) {
		t.Errorf("the second: %v", err)
	}
	// The parts that are read at once cost nothing.
	quick := bomb(t, `{"name":"web","info":{"status":"deployed"},"chart":{"metadata":{"name":"c"}},"x":"`, `A`, 30<<20, `"}`)
	if sum, err := b.Summarize(quick); err != nil || sum.Chart != "c" {
		t.Errorf("got %+v, %v", sum, err)
	}
}
