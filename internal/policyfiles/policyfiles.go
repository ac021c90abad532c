// SPDX-License-Identifier: Apache-2.0

// Package policyfiles reads the files with ValidatingAdmissionPolicies that --policy names.
package policyfiles

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/internal/file"
)

// maxFile is the largest file with policies, in bytes.
const maxFile = 4 << 20

// Read returns the files at paths: files, and the YAML files in directories.
func Read(paths []string) ([]lint.PolicyFile, error) {
	var out []lint.PolicyFile
	for _, p := range paths {
		err := filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			ext := filepath.Ext(name)
			if name != p && !slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
				return nil
			}
			text, err := file.Read(name, maxFile)
			if err == nil {
				out = append(out, lint.PolicyFile{Name: filepath.ToSlash(name), Text: string(text)})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("--policy: %s has no YAML files", p)
		}
	}
	return out, nil
}
