// SPDX-License-Identifier: Apache-2.0

package suites

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/moonhelm/moonhelm/chart/unittest"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// snapshots are the stored values of the suites of a file, by the name of the test and a number from
// 1. The format is helm-unittest's. Suites of a file may run at the same time.
type snapshots struct {
	file string

	mu      sync.Mutex
	loaded  bool
	stored  map[string]map[int]string
	used    map[string]map[int]string
	pending int // the suites that have not run
	// limit is the size of the largest file that the chart may have, or 0 if the snapshots are no file of the chart.
	limit int64
}

// snapshotSizeError is returned for snapshots with which the chart could not be loaded any more.
type snapshotSizeError struct {
	size, limit int64
}

func (e *snapshotSizeError) Error() string {
	return fmt.Sprintf("the snapshots have %.1f MiB and are not written: a chart with a file of more than %d MiB "+
		"cannot be loaded", float64(e.size)/(1<<20), e.limit>>20)
}

// Hint says how to make room.
func (e *snapshotSizeError) Hint() string {
	return "add tests/ to .helmignore, or give matchSnapshot a path"
}

// snapshotFile returns the path of the snapshots of a suite's file.
func snapshotFile(file, id string) string {
	name := filepath.Base(file)
	if id != "" {
		name += "_" + id
	}
	return filepath.Join(filepath.Dir(file), "__snapshot__", name+".snap")
}

// maxSnapshots is the size of the largest file, in bytes.
const maxSnapshots = 64 << 20

// load reads the file, once.
func (s *snapshots) load() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded {
		return nil
	}
	text, err := readFile(s.file, maxSnapshots)
	if err == nil {
		err = yaml.UnmarshalV3(text, &s.stored)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{File: s.file, Err: err}
	}
	s.loaded, s.used = true, map[string]map[int]string{}
	return nil
}

// comparer compares values with the snapshots of a suite.
type comparer struct {
	*snapshots
	update bool
	counts unittest.Snapshots
}

// snapshotFunc compares a value with the next snapshot of a test, and returns the snapshot's number and
// content. Unless strict is set, it need not be the same.
type snapshotFunc func(content string, strict bool) (number int, stored string, same bool)

// counter returns the function that compares values with the snapshots of a test.
func (c *comparer) counter(test string) snapshotFunc {
	number := 0
	return func(content string, strict bool) (int, string, bool) {
		number++
		c.mu.Lock()
		defer c.mu.Unlock()
		stored, known := c.stored[test][number]
		same := !known || stored == content || !strict
		c.counts.Total++
		keep := stored
		switch {
		case !known:
			c.counts.Created++
			keep = content
		case !same && c.update:
			c.counts.Updated++
			same, keep = true, content
		case !same:
			c.counts.Failed++
		}
		if c.used[test] == nil {
			c.used[test] = map[int]string{}
		}
		c.used[test][number] = keep
		return number, stored, same
	}
}

// finish writes the file if it has changed: new snapshots are always added. When all suites of the
// file have run, updating removes those that no test uses.
func (c *comparer) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending--
	remove := c.update && c.pending == 0
	content := map[string]map[int]string{}
	if !remove {
		for test, stored := range c.stored {
			content[test] = maps.Clone(stored)
		}
	}
	for test, used := range c.used {
		if content[test] == nil {
			content[test] = map[int]string{}
		}
		maps.Copy(content[test], used)
	}
	for test, stored := range c.stored {
		for number := range stored {
			if _, ok := content[test][number]; !ok {
				c.counts.Vanished++
			}
		}
	}
	if maps.EqualFunc(content, c.stored, maps.Equal[map[int]string, map[int]string]) {
		return nil
	}
	c.stored = content
	return c.write()
}

// write writes the file, or removes it if there are no snapshots.
func (s *snapshots) write() error {
	if len(s.stored) == 0 {
		if err := os.Remove(s.file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoderV3(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(s.stored), enc.Close()); err != nil {
		return fmt.Errorf("write %s: %w", s.file, err)
	}
	if s.limit > 0 && int64(b.Len()) > s.limit {
		return &Error{File: s.file, Err: &snapshotSizeError{int64(b.Len()), s.limit}}
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.file, b.Bytes(), 0o644)
}

// fileCache reads the values files of a chart's suites, each once.
type fileCache struct {
	mu    sync.Mutex
	files map[string]*cachedFile
}

type cachedFile struct {
	once sync.Once
	vals map[string]any
	err  error
}
