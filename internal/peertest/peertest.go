// SPDX-License-Identifier: Apache-2.0

// Package peertest remembers what Helm's binary answers in tests that hold it beside ours.
// Of a binary and files that have not changed the answers do not change either, and to start
// Helm takes six times as long as to start ours.
//
//	answer, err := peertest.Command{Bin: helm, Args: []string{"lint", chart}, Reads: []string{chart}}.Run()
//
// Answers are kept below the user's cache directory. With MOONHELM_PEER_ANSWERS=off each
// command is run, and nothing is kept.
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

// Command is one run of a binary that makes no requests and changes no files.
type Command struct {
	Bin  string
	Args []string
	// Reads are absolute paths of the files and directories that the command may read; in
	// Args, Env and the answer they stand for themselves, wherever they are.
	Reads []string
	Dir   string   // where it runs, which counts as one of Reads; "" for here
	Env   []string // nil for the environment of the test, which must then not matter
}

// Answer is how a command ended.
type Answer struct {
	Stdout, Stderr string
	Code           int
}

// Run runs the command, or returns what it has answered before. The error is not the
// command's own: its exit code is in the answer.
func (c Command) Run() (Answer, error) {
	if c.Dir != "" {
		c.Reads = append([]string{c.Dir}, c.Reads...)
	}
	key, err := c.key()
	if err != nil {
		return Answer{}, err
	}
	if text, ok := recall(key); ok {
		var a Answer
		if json.Unmarshal(text, &a) == nil {
			a.Stdout, a.Stderr = c.expand(a.Stdout), c.expand(a.Stderr)
			return a, nil
		}
	}
	a, err := c.run()
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(Answer{c.abstract(a.Stdout), c.abstract(a.Stderr), a.Code})
	if err != nil {
		return a, err
	}
	return a, remember(key, text)
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

func (c Command) abstract(text string) string {
	for i, path := range c.Reads {
		text = strings.ReplaceAll(text, path, place(i))
	}
	return text
}

func (c Command) expand(text string) string {
	for i, path := range c.Reads {
		text = strings.ReplaceAll(text, place(i), path)
	}
	return text
}

func place(i int) string { return "\x00" + strconv.Itoa(i) + "\x00" }

func (c Command) key() (string, error) {
	h := sha256.New()
	if err := binary(h, c.Bin); err != nil {
		return "", err
	}
	for _, list := range [][]string{c.Args, c.Env} {
		fmt.Fprintln(h, len(list))
		for _, text := range list {
			if !strings.HasPrefix(text, "PATH=") {
				fmt.Fprintf(h, "%q\n", c.abstract(text))
			}
		}
	}
	for _, path := range c.Reads {
		if err := tree(h, path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// binary adds which binary it is.
func binary(h hash.Hash, path string) error {
	info, err := os.Stat(path)
	if err == nil {
		fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
	}
	return err
}

// tree adds the names, modes and contents of what is at path.
func tree(h hash.Hash, path string) error {
	return filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			fmt.Fprintf(h, "%q -> %q\n", name, to)
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(at)
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(text))
			return err
		}
		fmt.Fprintf(h, "%q %v\n", name, d.Type())
		return nil
	})
}

// Once runs a test that involves nothing of ours: it is skipped where it has passed with
// the same binary, and the same contents of files.
func Once(t *testing.T, name, bin string, files []string, test func(t *testing.T)) {
	t.Helper()
	id := t.Name() + "/" + name
	t.Run(name, func(t *testing.T) {
		h := sha256.New()
		if err := binary(h, bin); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(h, id)
		for _, path := range files {
			if err := tree(h, path); err != nil {
				t.Fatal(err)
			}
		}
		key := hex.EncodeToString(h.Sum(nil))
		if _, ok := recall(key); ok {
			t.Skip("passed before with the same binary and files; MOONHELM_PEER_ANSWERS=off runs it again")
		}
		t.Cleanup(func() {
			if t.Failed() || t.Skipped() {
				return
			}
			if err := remember(key, []byte("{}")); err != nil {
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

func recall(key string) ([]byte, bool) {
	dir := directory()
	if dir == "" {
		return nil, false
	}
	text, err := os.ReadFile(filepath.Join(dir, key[:2], key))
	return text, err == nil
}

// remember writes whole files only: other tests may look at the same time.
func remember(key string, text []byte) error {
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
