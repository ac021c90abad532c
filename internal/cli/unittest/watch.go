// SPDX-License-Identifier: Apache-2.0

package unittest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
)

// Intervals of --watch.
const (
	// pollInterval is the time between two looks at the files.
	pollInterval = 300 * time.Millisecond
	// settleTime is how long files must stay the same: editors write in several steps.
	settleTime = 100 * time.Millisecond
)

// watch runs the tests again and again, until ctx ends. It continues after a failure.
func watch(ctx context.Context, f *cmdutil.Factory, o Options) error {
	for ctx.Err() == nil {
		before := fingerprint(o.watched(), o.written())
		err := once(ctx, f, o)
		var exit *cmdutil.ExitError
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !errors.As(err, &exit):
			fmt.Fprintf(f.Err, "%s %s\n", f.Style(f.Err).Red("Error:"), err)
		}
		fmt.Fprintf(f.Err, "%s\n", f.Style(f.Err).Dim("Waiting for changes of files; Ctrl-C ends"))
		if !waitForChange(ctx, o.watched(), o.written(), before) {
			return nil
		}
	}
	return nil
}

// watched returns the directories and files whose changes matter.
func (o *Options) watched() []string {
	out := append([]string{}, o.Charts...)
	for _, v := range o.Values {
		if !strings.Contains(v, "://") {
			out = append(out, v)
		}
	}
	return out
}

// written returns the files that the command writes itself: their changes do not matter, wherever they are.
func (o *Options) written() []string {
	var out []string
	for _, file := range append([]string{o.OutputFile}, o.CoverageFiles...) {
		if abs, err := filepath.Abs(file); file != "" && err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// waitForChange waits until the files differ from before and have settled. It returns false if ctx
// ends.
func waitForChange(ctx context.Context, paths, written []string, before uint64) bool {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		now := fingerprint(paths, written)
		if now == before {
			continue
		}
		for {
			select {
			case <-ctx.Done():
				return false
			case <-time.After(settleTime):
			}
			last := now
			if now = fingerprint(paths, written); now == last {
				return true
			}
		}
	}
}

// fingerprint returns a hash of the names, sizes and times of all files, except snapshots, which the
// tests write, hidden directories, and the written files, whose paths are absolute.
func fingerprint(paths, written []string) uint64 {
	h := fnv.New64a()
	for _, root := range paths {
		// A file that goes away meanwhile is a change too, which the next look finds.
		_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // see above
			}
			name := d.Name()
			if d.IsDir() {
				if name == "__snapshot__" || len(name) > 1 && name[0] == '.' && name != ".." {
					return fs.SkipDir
				}
				return nil
			}
			if abs, err := filepath.Abs(file); err == nil && slices.Contains(written, abs) {
				return nil
			}
			if info, err := d.Info(); err == nil {
				fmt.Fprintf(h, "%q %d %d\n", file, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
	return h.Sum64()
}
