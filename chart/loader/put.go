// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/moonhelm/moonhelm/chart"
)

// Put copies r to a file in dir and returns the file's path. It creates dir if needed and
// replaces an existing file. The file appears complete or not at all. A name with a slash
// is an error.
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
