// SPDX-License-Identifier: Apache-2.0

// Package file opens files without blocking. A FIFO instead of an index or a lock file would block
// the program until something writes to it, and a device may have no end:
//
//	data, err := file.Read(path, 8<<20)                  // helm's own file
//	data, err := file.ReadInput(ctx, "/dev/fd/63", 8<<20) // a file from the command line
//
// Helm's own files must be regular files. Files from the command line may be of any kind, such as
// the pipe of the shell's <(...); reading them ends with a context. Symbolic links are followed,
// and the caller checks their targets.
package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moonhelm/moonhelm/internal/term"
)

// KindError is returned for a file that is not a regular file. It is the Err of a [*fs.PathError].
type KindError struct{ Kind fs.FileMode }

func (e *KindError) Error() string {
	what := "something else"
	switch {
	case e.Kind.IsDir():
		what = "a directory"
	case e.Kind&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case e.Kind&fs.ModeSocket != 0:
		what = "a socket"
	case e.Kind&fs.ModeDevice != 0:
		what = "a device"
	}
	return "a regular file is expected here, and this is " + what
}

// SizeError is returned for a file that is larger than the limit. It is the Err of a
// [*fs.PathError].
type SizeError struct{ Limit int64 }

func (e *SizeError) Error() string {
	if e.Limit%(1<<20) == 0 {
		return fmt.Sprintf("it is larger than %d MiB", e.Limit>>20)
	}
	return fmt.Sprintf("it is larger than %d bytes", e.Limit)
}

// Open opens a regular file for reading, like [os.Open]. For other files it returns a [*KindError].
func Open(path string) (*os.File, error) {
	return OpenFile(path, os.O_RDONLY, 0)
}

// OpenFile opens or creates a regular file, like [os.OpenFile]. For other files it returns a
// [*KindError].
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	// Opening a device may have side effects: check first.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: &KindError{Kind: info.Mode().Type()}}
	}
	f, err := os.OpenFile(path, flag|NonBlock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() { // replaced meanwhile
		err = &fs.PathError{Op: "open", Path: path, Err: &KindError{Kind: info.Mode().Type()}}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads a regular file of at most limit bytes. It returns a [*KindError], a [*SizeError], or
// the errors of [os.ReadFile].
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// A LinkError is returned for a symbolic link to a file outside of the directory. It is the Err of
// a [*fs.PathError].
type LinkError struct{ Dir string }

func (e *LinkError) Error() string {
	return "it is a symbolic link that leads out of " + e.Dir
}

// OpenIn is [Open] for a file in dir, which may itself be a symbolic link. Links that lead out of
// it are a [*LinkError].
func OpenIn(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if _, outside := os.Stat(path); err != nil && outside == nil {
		err = &LinkError{Dir: dir}
	} else if err == nil && !info.Mode().IsRegular() {
		err = &KindError{Kind: info.Mode().Type()}
	}
	var f *os.File
	if err == nil {
		f, err = root.OpenFile(name, os.O_RDONLY|NonBlock, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: WithoutPath(err)}
	}
	return f, nil
}

// ReadIn is [Read] with the restrictions of [OpenIn].
func ReadIn(dir, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, filepath.Join(dir, name), limit)
}

// WithoutPath returns the Err of a [*fs.PathError], and other errors as they are: for errors that
// contain the path already.
func WithoutPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// ReadInput reads at most limit bytes of a file of any kind. It waits for a pipe's writer until ctx
// ends.
func ReadInput(ctx context.Context, path string, limit int64) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return Read(path, limit)
	}
	return term.Until(ctx, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readLimited(path, f, limit, 0)
	})
}

// readAll reads a regular file.
func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &SizeError{Limit: limit}}
	}
	return readLimited(path, f, limit, info.Size())
}

// readLimited reads all of r, whose size is probably size bytes.
func readLimited(path string, r io.Reader, limit, size int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &SizeError{Limit: limit}}
	}
	return data.Bytes(), nil
}
