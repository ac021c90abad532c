// SPDX-License-Identifier: Apache-2.0

// Command images makes container images of a release, as OCI layouts, without a daemon:
//
//	images build DIST OUT          make the layouts of all images from the archives in DIST
//	images push LAYOUT REFERENCE   push a layout to a registry, with the credentials of Docker
//
// Each image is an index over the platforms of Linux. The time of all files is that of
// SOURCE_DATE_EPOCH: the same archives give the same digests.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "build":
		return build(args[1], args[2])
	case len(args) == 3 && args[0] == "push":
		return push(args[1], args[2])
	}
	return errors.New("usage: images build DIST OUT | push LAYOUT REFERENCE")
}

func build(dist, out string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH must be a number of seconds since 1970")
	}
	text, err := os.ReadFile(filepath.Join(dist, "helm-latest-version"))
	if err != nil {
		return err
	}
	r := release{dist: dist, version: strings.TrimPrefix(strings.TrimSpace(string(text)), "v"),
		created: time.Unix(seconds, 0).UTC()}
	for _, kind := range kinds {
		index, err := r.index(kind)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		dir := filepath.Join(out, kind.name)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if _, err := layout.Write(dir, index); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return err
		}
		fmt.Println(dir, digest)
	}
	return nil
}

// push pushes the index that a layout was written from.
func push(dir, reference string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	return remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
