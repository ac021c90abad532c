// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// maxBudget is how much memory the records of one command may take beyond what is free.
// Real records need far less: of the records of 52 public charts, the largest takes 640 KiB
// decoded, 80 KiB beyond what is free.
const maxBudget = 256 << 20

// maxWork is how many bytes the records of one command may unpack to in [Budget.Summarize],
// beyond what is free.
const maxWork = 512 << 20

// A BudgetError is returned for a record that exceeds the rest of a command's [Budget].
// Size is 0 if the record was only summarized.
type BudgetError struct{ Size int }

func (e *BudgetError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("the records of this command unpack to more than %d MiB together", maxWork>>20)
	}
	return fmt.Sprintf("the record unpacks to so much (%d MiB) that the records of this command come to "+
		"more than %d MiB together", e.Size>>20, maxBudget>>20)
}

// A Budget limits the memory for the records of one command: a forged record of 200 KiB
// unpacks to 150 MiB and takes ten times that when decoded. The size that a compressed record
// usually unpacks to is free. When a decoded record is garbage collected, its share is returned.
//
// It is safe for concurrent use. The zero value is an unused budget.
type Budget struct {
	mu           sync.Mutex
	used, worked int
	saved        int // reduces maxBudget
}

// take takes n bytes from the budget, or returns a [*BudgetError].
func (b *Budget) take(n int) error {
	for tries := 0; !b.fits(n); tries++ {
		if tries == 3 {
			return &BudgetError{Size: n}
		}
		runtime.GC() // returns the share of unused records
		time.Sleep(time.Duration(tries) * 5 * time.Millisecond)
	}
	return nil
}

func (b *Budget) fits(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > maxBudget-b.saved-b.used {
		return false
	}
	b.used += n
	return true
}

func (b *Budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// freePerByte is how many bytes each byte of a compressed record may unpack to for free.
const freePerByte = 8

// decodedValue is the memory of a decoded value of JSON or YAML: an empty map or list and
// its entry in the list that contains it.
const decodedValue = 64

// weight estimates the memory of a decoded record without decoding it. It counts the
// characters that separate values in JSON and in YAML, also in strings, because manifests
// are strings.
func weight(text []byte) int {
	values := bytes.Count(text, []byte{','}) + bytes.Count(text, []byte{'['}) + bytes.Count(text,
		[]byte{'{'}) + bytes.Count(text, []byte(`\n`))
	return len(text) + decodedValue*values
}

// Summarize is the function [Summarize] within the budget b.
func (b *Budget) Summarize(text []byte) (Summary, error) {
	return summarize(bytes.NewReader(text), func(r io.Reader) io.Reader {
		return &workReader{r: r, budget: b, free: freePerByte*len(text) + 1<<20}
	})
}

// workReader fails when the budget for summaries is exceeded.
type workReader struct {
	r      io.Reader
	budget *Budget
	free   int
}

func (w *workReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if w.free -= n; w.free >= 0 {
		return n, err
	}
	w.budget.mu.Lock()
	defer w.budget.mu.Unlock()
	w.budget.worked -= w.free
	w.free = 0
	if w.budget.worked > maxWork {
		return 0, &BudgetError{}
	}
	return n, err
}

// Decode is the function [Decode] within the budget b.
func (b *Budget) Decode(text []byte) (*Release, error) {
	data, took, err := b.unpack(text)
	if err != nil {
		b.give(took)
		return nil, fmt.Errorf("decode release record: %w", err)
	}
	if more := weight(data) - freePerByte*len(text) - took; more > 0 {
		if err := b.take(more); err != nil {
			b.give(took)
			return nil, fmt.Errorf("decode release record: %w", err)
		}
		took += more
	}
	r := &Release{}
	if err := unsupportedFormat(data, r.read(data)); err != nil {
		b.give(took)
		return nil, fmt.Errorf("decode release record: %w", err)
	}
	if took > 0 {
		runtime.AddCleanup(r, b.give, took)
	}
	return r, nil
}
