// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/moonhelm/moonhelm/chart"
)

// Put writes what it reads from r to a file of that name in dir, and returns its
// path. dir is made where it is missing, a file of that name is replaced. The
// file appears complete or not at all; a name that is a path is refused.
func Put(dir, name string, r io.Reader) (string, error) {
	if err := chart.ValidateName(name); err != nil {
		return "", fmt.Errorf("write a file: its name %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	target := filepath.Join(dir, name)
	err := replaceFile(target, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write %s: %w", target, err)
	}
	return target, nil
}
