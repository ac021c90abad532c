// SPDX-License-Identifier: Apache-2.0

// Command dist makes what a release has beside its archives and packages.
//
//	dist sbom ARCHIVE FILE    write what is in an archive as an SPDX document
//	dist sum ARCHIVE FILE     write the checksum of an archive as sha256sum prints it
//	dist provenance ARCHIVE   print what is signed in the provenance file of a plugin's archive
//	dist manifests DIR        write DIR/manifests for Homebrew, Scoop, winget and Nix
//
// Everything is made from the archives alone: the same archives give the same bytes. The time
// in an SPDX document is that of SOURCE_DATE_EPOCH.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(args []string, getenv func(string) string, out io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == "sbom":
		created, err := sourceDate(getenv("SOURCE_DATE_EPOCH"))
		if err != nil {
			return err
		}
		return writeSBOM(args[1], args[2], created)
	case len(args) == 3 && args[0] == "sum":
		sum, err := checksum(args[1])
		if err != nil {
			return err
		}
		return os.WriteFile(args[2], []byte(sum+"  "+filepath.Base(args[1])+"\n"), 0o644)
	case len(args) == 2 && args[0] == "provenance":
		return writeProvenance(args[1], out)
	case len(args) == 2 && args[0] == "manifests":
		return writeManifests(args[1])
	}
	return errors.New("usage: dist sbom ARCHIVE FILE | sum ARCHIVE FILE | provenance ARCHIVE | manifests DIR")
}

func sourceDate(epoch string) (time.Time, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, must be a number of seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
