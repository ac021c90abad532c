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

// Options say how an archive is written. The zero value changes nothing of the
// chart.
type Options struct {
	// ModTime is the time that every entry bears. Zero means 1980-01-01 UTC,
	// the same for everybody: identical charts make identical archives. See
	// [ModTime] for what a command should use.
	ModTime time.Time
	// Version and AppVersion replace those of Chart.yaml where they are set.
	Version    string
	AppVersion string
	// Sign, where it is set, makes the provenance file of an archive that is called
	// name and read from r, which [Save] writes beside it as <archive>.prov. Where
	// it fails, nothing is written. m is the metadata that is packed.
	Sign func(name string, r io.Reader, m *chart.Metadata) ([]byte, error)
}

// epoch stands in for the time that files were changed, which differs from one
// checkout to the next.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// ModTime is the time that entries of an archive should bear: that of
// SOURCE_DATE_EPOCH (seconds since 1970, reproducible-builds.org), else the
// zero time, for which [Options] has a constant. Never the clock or the files'
// own times.
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

// Save writes c to dir as <name>-<version>.tgz, replacing a file of that name,
// and returns its path. dir is made where it is missing. The file appears
// complete or not at all.
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
	if unsigned := (*SignError)(nil); errors.As(err, &unsigned) {
		return "", unsigned
	}
	if err != nil {
		return "", fmt.Errorf("save chart %s: %w", m.Name, err)
	}
	return target, nil
}

// writeSigned is [Write], and puts the provenance file of what it writes beside
// target: before the archive gets its place, so that there is never one without.
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

// A SignError is returned when an archive could not be signed, and so was not written.
type SignError struct {
	Archive string
	Err     error
}

func (e *SignError) Error() string { return fmt.Sprintf("sign %s: %v", e.Archive, e.Err) }

func (e *SignError) Unwrap() error { return e.Err }

// Write writes c to w as an archive: one top directory, entries by name, fixed
// modes and times. A file stays as it was read, unless the chart's fields were
// changed since. What [LoadArchive] would refuse is refused.
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

// replaceFile writes target by way of a new file beside it, so that no reader
// ever sees half of it and a link at target is not followed.
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
