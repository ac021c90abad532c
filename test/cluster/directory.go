// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockFile marks a directory as a cluster's. Both processes of a cluster hold a lock on it, so
// that it is free only when both have ended. It contains the process ID of the first one.
const lockFile = "lock"

// claim creates and locks the directory. It removes what a crashed cluster left in it. A
// directory with other files is an error.
func claim(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	switch pid, err := owner(dir); {
	case err == nil:
		return nil, fmt.Errorf("a cluster is already running in %s (process %d); stop it with: cluster down", dir, pid)
	case !errors.Is(err, errNotRunning):
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil {
		if err := removeDirectory(dir); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("the directory %s is not empty; name one that is, its content would be removed", dir)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another cluster is just starting in %s", dir)
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	return f, err
}

// owner returns the ID of the process that runs the cluster in the directory, or errNotRunning.
func owner(dir string) (int, error) {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errNotRunning
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0, errNotRunning
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("the cluster in %s is just starting: %w", dir, err)
	}
	return pid, nil
}

// removeDirectory removes a cluster's directory. It retries, because a process that is ending may
// still write into it.
func removeDirectory(dir string) error {
	var err error
	for range 40 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("remove the cluster's directory: %w", err)
}
