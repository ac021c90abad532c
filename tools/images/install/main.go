// SPDX-License-Identifier: Apache-2.0

// Command install copies helm into a directory: install DIRECTORY. It is the program of the
// image moonhelm-argocd, an init container that puts helm into a volume; an image without a
// shell has no other means to copy a file.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run("/usr/bin/helm", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

// run copies the program to a directory under its own name. A program that is there is replaced
// at once, so that none is seen half-written.
func run(program string, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: install DIRECTORY")
	}
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(args[0], ".helm-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // nothing is there any more where all went well
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(0o755), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), filepath.Join(args[0], filepath.Base(program)))
}
