// SPDX-License-Identifier: Apache-2.0

// Command changelog gathers the fragments of changes/ into CHANGELOG.md, in the form of
// https://keepachangelog.com.
//
//	changelog check                report fragments whose names are not valid
//	changelog preview              print what the next release's section would be
//	changelog release 0.2.0 DATE   move all fragments into a section of CHANGELOG.md
//	changelog notes 0.2.0          print a release's notes: its introduction and its section
//
// It works in the repository's root, or in the directory of -C. A release's introduction is
// changes/releases/vX.Y.Z.md, where there is one.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

const usage = "usage: changelog [-C dir] check | preview | release X.Y.Z YYYY-MM-DD | notes X.Y.Z"

func main() {
	dir := flag.String("C", ".", "the repository's root")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	flag.Parse()
	if err := run(os.Stdout, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "changelog:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, dir string, args []string) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case verb == "check" && len(args) == 1:
		_, err := readFragments(filepath.Join(dir, "changes"))
		return err
	case verb == "preview" && len(args) == 1:
		fragments, err := readFragments(filepath.Join(dir, "changes"))
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, section("Unreleased", "", fragments))
		return err
	case verb == "release" && len(args) == 3:
		return release(dir, args[1], args[2])
	case verb == "notes" && len(args) == 2:
		return notes(w, dir, args[1])
	}
	return errors.New(usage)
}

var numbered = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// release writes the section of a version to CHANGELOG.md and removes the fragments.
// Fragments are removed last: interrupted before, it can be run again.
func release(dir, version, date string) error {
	if !numbered.MatchString(version) {
		return fmt.Errorf("invalid version %q: want one such as 0.2.0, without a v", version)
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("invalid date %q: want one such as 2026-11-24", date)
	}
	fragments, err := readFragments(filepath.Join(dir, "changes"))
	if err != nil {
		return err
	}
	if len(fragments) == 0 {
		return errors.New("nothing to release: changes/ has no fragments")
	}
	file := filepath.Join(dir, "CHANGELOG.md")
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	log, err := insert(string(old), version, section(version, date, fragments))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(log), 0o644); err != nil {
		return err
	}
	for _, f := range fragments {
		if err := os.Remove(filepath.Join(dir, "changes", f.file)); err != nil {
			return err
		}
	}
	return nil
}

// notes prints a release's notes. A version that CHANGELOG.md does not have yet, as in a
// snapshot, gets the fragments as they are.
func notes(w io.Writer, dir, version string) error {
	introduction, err := os.ReadFile(filepath.Join(dir, "changes", "releases", "v"+version+".md"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	body, ok := find(string(log), version)
	if !ok {
		fragments, err := readFragments(filepath.Join(dir, "changes"))
		if err != nil {
			return err
		}
		body = section(version, "", fragments)
	}
	if len(introduction) > 0 {
		body = string(introduction) + "\n" + body
	}
	_, err = io.WriteString(w, body)
	return err
}
