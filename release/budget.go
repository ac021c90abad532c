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

// maxBudget is what the records of one command may add to its memory, all
// together. It is far above what real ones come to: the largest of the records of
// 52 public charts takes 640 KiB decoded, 80 KiB beyond what is free.
const maxBudget = 256 << 20

// maxWork is how much the records of one command may unpack to that lists look
// through, all together, beyond what is free.
const maxWork = 512 << 20

// A BudgetError is returned for a record that does not fit into what is left of a
// command's [Budget]. Size is 0 where it was only looked through.
type BudgetError struct{ Size int }

func (e *BudgetError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("the records of this command unpack to more than %d MiB together", maxWork>>20)
	}
	return fmt.Sprintf("the record unpacks to so much (%d MiB) that the records of this command come to "+
		"more than %d MiB together", e.Size>>20, maxBudget>>20)
}

// A Budget bounds the memory that the records of one command take together: a
// forged one of 200 KiB unpacks to 150 MiB, and to ten times that once it is
// decoded. What a compressed text of that size usually unpacks to is free. A
// record that is not used any more gives back what it took.
//
// It is safe for concurrent use. The zero value is a budget of which nothing is
// used.
type Budget struct {
	mu           sync.Mutex
	used, worked int
	saved        int // how much less than maxBudget there is
}

// take takes n bytes, or returns a [*BudgetError].
func (b *Budget) take(n int) error {
	for tries := 0; !b.fits(n); tries++ {
		if tries == 3 {
			return &BudgetError{Size: n}
		}
		runtime.GC() // records that were dropped give back what they took
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

// freePerByte is how much each byte of compressed text may unpack to for free.
const freePerByte = 8

// decodedValue is what a value of JSON or YAML takes once it is decoded: a map
// or a list that is empty, in the list that holds it.
const decodedValue = 64

// weight is what a record's text comes to, decoded, as far as that is known
// without decoding it: what ends values in JSON and in YAML is counted, in
// strings too, because manifests are.
func weight(text []byte) int {
	values := bytes.Count(text, []byte{','}) + bytes.Count(text, []byte{'['}) + bytes.Count(text,
		[]byte{'{'}) + bytes.Count(text, []byte(`\n`))
	return len(text) + decodedValue*values
}

// Summarize is the function [Summarize] within the budget.
func (b *Budget) Summarize(text []byte) (Summary, error) {
	return summarize(bytes.NewReader(text), func(r io.Reader) io.Reader {
		return &workReader{r: r, budget: b, free: freePerByte*len(text) + 1<<20}
	})
}

// workReader reads what a budget allows to look through.
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

// Decode is the function [Decode] within the budget.
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
	if err := foreign(data, r.read(data)); err != nil {
		b.give(took)
		return nil, fmt.Errorf("decode release record: %w", err)
	}
	if took > 0 {
		runtime.AddCleanup(r, b.give, took)
	}
	return r, nil
}
