// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// MemoryLimit is nothing here: the system has no limit that fits a program in Go.
type MemoryLimit struct{}

// LimitMemory limits nothing here.
func LimitMemory(int64) (*MemoryLimit, error) { return &MemoryLimit{}, nil }

// Start starts cmd.
func (*MemoryLimit) Start(cmd *exec.Cmd) error { return cmd.Start() }

// CrashOutput fails here.
func CrashOutput(int) (stderr *os.File, err error) { return nil, errors.ErrUnsupported }
