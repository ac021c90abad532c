// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
)

// MemoryLimit has no effect: the system has no suitable limit for Go programs.
type MemoryLimit struct{}

// LimitMemory sets no limit.
func LimitMemory(int64) (*MemoryLimit, error) { return &MemoryLimit{}, nil }

// Start starts cmd.
func (*MemoryLimit) Start(cmd *exec.Cmd) error { return cmd.Start() }

// CrashOutput returns [errors.ErrUnsupported].
func CrashOutput(int) (stderr *os.File, err error) { return nil, errors.ErrUnsupported }
