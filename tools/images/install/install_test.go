// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInstall(t *testing.T) {
	program := filepath.Join(t.TempDir(), "helm")
	if err := os.WriteFile(program, []byte("new"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]string{"an empty volume": "", "an older helm": "old"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			target := filepath.Join(dir, "helm")
			if there != "" {
				if err := os.WriteFile(target, []byte(there), 0o555); err != nil {
					t.Fatal(err)
				}
			}
			if err := run(program, []string{dir}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(target)
			if err != nil || string(text) != "new" {
				t.Errorf("got %q, %v, want the new program", text, err)
			}
			if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("got %v, %v, want mode 755", info.Mode(), err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("left in the volume: %v, %v", entries, err)
			}
		})
	}
}

func TestInstallErrors(t *testing.T) {
	for name, args := range map[string][]string{"no directory": nil, "a directory that is not there": {"/nonexistent"}} {
		t.Run(name, func(t *testing.T) {
			if err := run(os.Args[0], args); err == nil {
				t.Error("no error")
			}
		})
	}
}
