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

// snapshots are the stored values of a suite, by the name of the test and a number from 1. The file is
// helm-unittest's.
type snapshots struct {
	file   string
	update bool

	stored map[string]map[int]string
	used   map[string]map[int]string
	counts unittest.Snapshots
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

func loadSnapshots(file string, update bool) (*snapshots, error) {
	s := &snapshots{file: file, update: update, used: map[string]map[int]string{}}
	text, err := readFile(file, maxSnapshots)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = yaml.UnmarshalV3(text, &s.stored)
	}
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	return s, nil
}

// counter returns a function that compares a value with the next snapshot of a test.
func (s *snapshots) counter(test string) func(content string) (number int, stored string, same bool) {
	number := 0
	return func(content string) (int, string, bool) {
		number++
		stored, known := s.stored[test][number]
		same := !known || stored == content
		s.counts.Total++
		keep := stored
		switch {
		case !known:
			s.counts.Created++
			keep = content
		case !same && s.update:
			s.counts.Updated++
			same, keep = true, content
		case !same:
			s.counts.Failed++
		}
		if s.used[test] == nil {
			s.used[test] = map[int]string{}
		}
		s.used[test][number] = keep
		return number, stored, same
	}
}

// save writes the file if it has changed: new snapshots are always added, and updating removes those
// that are not used.
func (s *snapshots) save() error {
	content := map[string]map[int]string{}
	if !s.update {
		for test, stored := range s.stored {
			content[test] = maps.Clone(stored)
		}
	}
	for test, used := range s.used {
		if content[test] == nil {
			content[test] = map[int]string{}
		}
		maps.Copy(content[test], used)
	}
	if maps.EqualFunc(content, s.stored, maps.Equal[map[int]string, map[int]string]) {
		return nil
	}
	for test, stored := range s.stored {
		for number := range stored {
			if _, ok := content[test][number]; !ok {
				s.counts.Vanished++
			}
		}
	}
	var b bytes.Buffer
	if len(content) > 0 {
		enc := yaml.NewEncoderV3(&b)
		enc.SetIndent(2)
		if err := errors.Join(enc.Encode(content), enc.Close()); err != nil {
			return fmt.Errorf("write %s: %w", s.file, err)
		}
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
