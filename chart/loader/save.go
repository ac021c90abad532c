// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// Options are the options of [Write] and [Save]. With the zero value, the chart is
// written unchanged.
type Options struct {
	// ModTime is the modification time of every entry. Zero means 1980-01-01 UTC, so
	// that identical charts make identical archives. The function [ModTime] returns the
	// time for a command.
	ModTime time.Time
	// Version and AppVersion, unless empty, replace those of Chart.yaml.
	Version    string
	AppVersion string
	// Sign, unless nil, returns the provenance file of the archive with the given name,
	// content and metadata. [Save] writes it next to the archive as <archive>.prov. If
	// Sign fails, Save writes no files.
	Sign func(name string, r io.Reader, m *chart.Metadata) ([]byte, error)
}

// epoch returns the default of [Options.ModTime]. The real modification times of files
// differ from one checkout to the next.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// ModTime returns the time of the environment variable SOURCE_DATE_EPOCH (seconds since
// 1970; see reproducible-builds.org), or the zero time if it is not set.
func ModTime(getenv func(string) string) (time.Time, error) {
	text := getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, must be a number of seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Save writes c to the file <name>-<version>.tgz in dir and returns its path. It creates
// dir if needed and replaces an existing file. The file appears complete or not at all. If
// opts.Sign fails, the error is a [*SignError]; other errors are those of [Write] and of the
// file system.
func Save(c *chart.Chart, dir string, opts Options) (string, error) {
	m, err := effectiveMetadata(c, opts)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save chart: %w", err)
	}
	target := filepath.Join(dir, m.Name+"-"+m.Version+".tgz")
	write := func(w io.Writer) error { return Write(w, c, opts) }
	if opts.Sign != nil {
		write = func(w io.Writer) error { return writeSigned(w, c, m, target, opts) }
	}
	err = replaceFile(target, write)
	if unsigned, ok := errors.AsType[*SignError](err); ok {
		return "", unsigned
	}
	if err != nil {
		return "", fmt.Errorf("save chart %s: %w", m.Name, err)
	}
	return target, nil
}

// writeSigned is like [Write] and also writes the provenance file of target. Save renames
// the archive to target afterwards, so there is never an archive without its provenance.
func writeSigned(w io.Writer, c *chart.Chart, m *chart.Metadata, target string, opts Options) error {
	var packed bytes.Buffer
	if err := Write(&packed, c, opts); err != nil {
		return err
	}
	prov, err := opts.Sign(filepath.Base(target), bytes.NewReader(packed.Bytes()), m)
	if err != nil {
		return &SignError{Archive: filepath.Base(target), Err: err}
	}
	if _, err := packed.WriteTo(w); err != nil {
		return err
	}
	return replaceFile(target+".prov", func(w io.Writer) error {
		_, err := w.Write(prov)
		return err
	})
}

// A SignError is returned if an archive was not written because signing it failed.
type SignError struct {
	Archive string
	Err     error
}

func (e *SignError) Error() string { return fmt.Sprintf("sign %s: %v", e.Archive, e.Err) }

func (e *SignError) Unwrap() error { return e.Err }

// Write writes c to w as an archive with a single top directory, entries sorted by name,
// and fixed modes and times. A file has its original content, unless the fields of c that
// come from it were changed. For a chart that [LoadArchive] would reject, Write returns the
// same error: [ErrNoMetadata], [*chart.InvalidError], [*EntryError] or [*LimitError].
func Write(w io.Writer, c *chart.Chart, opts Options) error {
	if _, err := effectiveMetadata(c, opts); err != nil {
		return err
	}
	files, err := packedFiles(c, opts)
	if err != nil {
		return err
	}
	if err := checkPacked(files); err != nil {
		return err
	}
	modTime := opts.ModTime
	if modTime.IsZero() {
		modTime = epoch()
	}
	zw := gzip.NewWriter(w)
	tw := tar.NewWriter(zw)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Data)), Mode: 0o644,
			ModTime: modTime.Truncate(time.Second).UTC()}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
		if _, err := tw.Write(f.Data); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
	}
	return errors.Join(tw.Close(), zw.Close())
}

func checkPacked(files []*chart.File) error {
	limits := Limits{}.withDefaults()
	b := budget{total: limits.Total}
	for _, f := range files {
		if problem := nameProblem(f.Name); problem != "" {
			return &EntryError{Entry: f.Name, Problem: problem}
		}
		if int64(len(f.Data)) > limits.File {
			return &LimitError{What: f.Name, Limit: limits.File, Unit: "bytes"}
		}
		if err := b.take(int64(len(f.Data))); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes a temporary file and renames it to target, so that readers never see
// an incomplete file and a symbolic link at target is not followed.
func replaceFile(target string, write func(io.Writer) error) (err error) {
	temp := filepath.Join(filepath.Dir(target), ".tmp-"+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, target)
}
