// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cell is a script of testdata: a command of a caller that runs with each binary. Comments at
// its top describe it; see README.md.
type cell struct {
	name string // name of the file without .txtar
	path string

	caller  string            // and its version
	command string            // as shown in the table
	source  string            // for callers that are not run: the page with their commands
	uses    []string          // required programs and plugins (see package programs)
	set     []string          // environment variables for our binary
	remark  string            // note for users, in the table
	fails   map[string]string // reasons by the name of a binary that the caller does not work with
}

// cells reads the headers of all scripts in the order of the table.
func cells(t *testing.T) []cell {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("read testdata: %d scripts, %v", len(paths), err)
	}
	var all []cell
	for _, path := range paths {
		c, err := readCell(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b cell) int {
		return strings.Compare(strings.ToLower(a.caller), strings.ToLower(b.caller))
	})
	return all
}

func readCell(path string) (cell, error) {
	f, err := os.Open(path)
	if err != nil {
		return cell{}, err
	}
	defer f.Close()
	c := cell{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, fails: map[string]string{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		comment, is := strings.CutPrefix(lines.Text(), "# ")
		if !is {
			break
		}
		key, value, _ := strings.Cut(comment, ": ")
		switch key {
		case "caller":
			c.caller = value
		case "command":
			c.command = value
		case "source":
			c.source = value
		case "uses":
			c.uses = strings.Fields(value)
		case "set":
			c.set = strings.Fields(value)
		case "remark":
			c.remark = value
		case "helm3", "helm4", "ours":
			c.fails[key] = value
		default:
			return cell{}, fmt.Errorf("read %s: unknown header %q", path, comment)
		}
	}
	if c.caller == "" || c.command == "" {
		return cell{}, fmt.Errorf("read %s: no caller, or no command", path)
	}
	return c, lines.Err()
}
