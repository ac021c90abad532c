// SPDX-License-Identifier: Apache-2.0

// Package peertest builds the programs that tests compare Moonhelm with, and caches their
// output. The output is the same as long as the binary and the files it reads are unchanged, and
// Helm takes six times as long to start as Moonhelm.
//
//	helm, err := peertest.Helm(peertest.Helm4)
//	...
//	answer, err := peertest.Command{Bin: helm, Args: []string{"lint", chart}, Reads: []string{chart}}.Run()
//
// Both are in the user's cache directory. MOONHELM_PEER_ANSWERS=off disables the cache of output.
package peertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Command is a run of a binary that makes no requests and changes no files.
type Command struct {
	Bin  string
	Args []string
	// Reads are absolute paths of the files and directories that the command may read. They are
	// replaced with placeholders in Args, Env and the output, so that their location does not
	// matter.
	Reads []string
	Dir   string   // working directory, implicitly in Reads; "" is the current one
	Env   []string // nil is the test's environment, which must not affect the output
}

// Answer is the result of a command.
type Answer struct {
	Stdout, Stderr string
	Code           int
}

// Run returns the cached result of the command, or runs it. A non-zero exit code of the command is
// not an error.
func (c Command) Run() (Answer, error) {
	if c.Dir != "" {
		c.Reads = append([]string{c.Dir}, c.Reads...)
	}
	key, err := c.key()
	if err != nil {
		return Answer{}, err
	}
	if text, ok := load(key); ok {
		var a Answer
		if json.Unmarshal(text, &a) == nil {
			a.Stdout, a.Stderr = c.expandPlaceholders(a.Stdout), c.expandPlaceholders(a.Stderr)
			return a, nil
		}
	}
	a, err := c.run()
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(Answer{c.insertPlaceholders(a.Stdout), c.insertPlaceholders(a.Stderr), a.Code})
	if err != nil {
		return a, err
	}
	return a, store(key, text)
}

func (c Command) run() (Answer, error) {
	cmd := exec.Command(c.Bin, c.Args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &stdout, &stderr, c.Dir, c.Env
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || !exit.Exited()) {
		return Answer{}, err
	}
	return Answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, nil
}

func (c Command) insertPlaceholders(text string) string {
	for i, path := range c.Reads {
		text = strings.ReplaceAll(text, path, placeholder(i))
	}
	return text
}

func (c Command) expandPlaceholders(text string) string {
	for i, path := range c.Reads {
		text = strings.ReplaceAll(text, placeholder(i), path)
	}
	return text
}

func placeholder(i int) string { return "\x00" + strconv.Itoa(i) + "\x00" }

func (c Command) key() (string, error) {
	h := sha256.New()
	if err := hashBinary(h, c.Bin); err != nil {
		return "", err
	}
	for _, list := range [][]string{c.Args, c.Env} {
		fmt.Fprintln(h, len(list))
		for _, text := range list {
			if !strings.HasPrefix(text, "PATH=") {
				fmt.Fprintf(h, "%q\n", c.insertPlaceholders(text))
			}
		}
	}
	for _, path := range c.Reads {
		if err := hashTree(h, path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashBinary hashes the identity of a binary: its path, size and modification time.
func hashBinary(h hash.Hash, path string) error {
	info, err := os.Stat(path)
	if err == nil {
		fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
	}
	return err
}

// hashTree hashes the names, types and contents of all files in path.
func hashTree(h hash.Hash, path string) error {
	return filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(file)
			fmt.Fprintf(h, "%q -> %q\n", name, to)
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(file)
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(text))
			return err
		}
		fmt.Fprintf(h, "%q %v\n", name, d.Type())
		return nil
	})
}

// Once runs a test that involves only the binary bin and files. It skips the test if it has passed
// before with the same binary and files.
func Once(t *testing.T, name, bin string, files []string, test func(t *testing.T)) {
	t.Helper()
	id := t.Name() + "/" + name
	t.Run(name, func(t *testing.T) {
		h := sha256.New()
		if err := hashBinary(h, bin); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(h, id)
		for _, path := range files {
			if err := hashTree(h, path); err != nil {
				t.Fatal(err)
			}
		}
		key := hex.EncodeToString(h.Sum(nil))
		if _, ok := load(key); ok {
			t.Skip("passed before with the same binary and files; MOONHELM_PEER_ANSWERS=off runs it again")
		}
		t.Cleanup(func() {
			if t.Failed() || t.Skipped() {
				return
			}
			if err := store(key, []byte("{}")); err != nil {
				t.Error(err)
			}
		})
		test(t)
	})
}

func directory() string {
	if os.Getenv("MOONHELM_PEER_ANSWERS") == "off" {
		return ""
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "moonhelm", "answers")
}

func load(key string) ([]byte, bool) {
	dir := directory()
	if dir == "" {
		return nil, false
	}
	text, err := os.ReadFile(filepath.Join(dir, key[:2], key))
	return text, err == nil
}

// store writes atomically: other tests may read concurrently.
func store(key string, text []byte) error {
	dir := directory()
	if dir == "" {
		return nil
	}
	dir = filepath.Join(dir, key[:2])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, key))
}
