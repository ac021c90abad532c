// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/moonhelm/moonhelm/internal/file"
	"github.com/moonhelm/moonhelm/internal/term"
)

// MaxDerived is the size of the largest derived file that commands read, in bytes.
const MaxDerived = 16 << 20

// Derived is a file that a command derives from a chart.
type Derived struct {
	Command string // "schema", the command that derives it
	Ref     string // the chart, as in the arguments
	Output  string // --output, or ""
	Name    string // of the existing file, in messages
	Old     []byte // the existing file; nil if there is none
	Text    []byte
}

// Check prints the difference between the existing and the derived file, and returns a
// [*StaleError] if there is one.
func (d Derived) Check(out io.Writer) error {
	if bytes.Equal(d.Old, d.Text) {
		return nil
	}
	if d.Old != nil {
		shown := diff.Diff(d.Name, d.Old, d.Name+" (derived)", d.Text)
		_, shown, _ = bytes.Cut(shown, []byte("\n")) // drop "diff a b", which repeats the next lines
		if _, err := term.SafeWriter(out).Write(shown); err != nil {
			return err
		}
	}
	return &StaleError{Command: d.Command, File: d.Name, Missing: d.Old == nil, Ref: d.Ref, Output: d.Output}
}

// Write writes the file of --output, unless it has the text already.
func (d Derived) Write() error {
	if old, err := file.Read(d.Output, MaxDerived); err == nil && bytes.Equal(old, d.Text) {
		return nil
	}
	if err := os.WriteFile(d.Output, d.Text, 0o644); err != nil {
		return fmt.Errorf("write the %s: %w", d.Command, err)
	}
	return nil
}

// A StaleError is returned by --check if a derived file is not up to date.
type StaleError struct {
	Command string // that derives the file
	File    string
	Missing bool
	Ref     string // the chart, as in the arguments
	Output  string // --output, if set
}

func (e *StaleError) Error() string {
	problem := "is out of date"
	if e.Missing {
		problem = "is missing"
	}
	out := e.Output
	if out == "" {
		out = filepath.Join(e.Ref, e.File)
	}
	return fmt.Sprintf("%s %s; helm %s %s --output %s writes it", e.File, problem, e.Command, e.Ref, out)
}
