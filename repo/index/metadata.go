// SPDX-License-Identifier: Apache-2.0

package index

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/moonhelm/moonhelm/chart"
)

const (
	maxFile     = 5 << 20   // bytes of Chart.yaml, and of requirements.yaml
	maxUnpacked = 164 << 20 // bytes to unpack to find them
	maxFiles    = 100_000   // entries: empty ones do not count as bytes
)

var (
	errNotArchive = errors.New("the file does not appear to be a gzipped archive of a chart")
	errNoMetadata = fmt.Errorf("%s is missing", chart.FileMetadata)
	errTooLarge   = fmt.Errorf("the chart archive exceeds the limit of %d MiB or %d files", maxUnpacked>>20, maxFiles)
)

// readMetadata returns the Chart.yaml of a chart archive, and the requirements.yaml if a
// chart of that apiVersion may have one. It stops reading as soon as it has them.
func readMetadata(r io.Reader) (meta, requirements []byte, err error) {
	zr, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, nil, errNotArchive
	}
	defer zr.Close()
	limited := &io.LimitedReader{R: zr, N: maxUnpacked}
	tr := tar.NewReader(limited)
	for range maxFiles {
		h, err := tr.Next()
		switch {
		case limited.N <= 0:
			return nil, nil, errTooLarge
		case errors.Is(err, io.EOF) && meta == nil:
			return nil, nil, errNoMetadata
		case errors.Is(err, io.EOF):
			return meta, requirements, nil
		case err != nil:
			return nil, nil, fmt.Errorf("read the archive: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		// Below the chart's directory: those of subcharts are in charts/.
		switch _, name, _ := strings.Cut(path.Clean(h.Name), "/"); {
		case name == chart.FileMetadata && meta == nil:
			if meta, err = readFile(tr, h); err != nil {
				return nil, nil, err
			}
			if !mayHaveRequirements(meta) {
				return meta, nil, nil
			}
		case name == chart.FileRequirements && requirements == nil:
			if requirements, err = readFile(tr, h); err != nil {
				return nil, nil, err
			}
		}
	}
	return nil, nil, errTooLarge
}

// mayHaveRequirements reports whether a chart has its dependencies in requirements.yaml, as
// with apiVersion v1. It returns false if meta is invalid, which the caller detects.
func mayHaveRequirements(meta []byte) bool {
	m, err := chart.ParseMetadata(chart.FileMetadata, meta)
	return err == nil && m.APIVersion == chart.APIVersionV1
}

func readFile(r io.Reader, h *tar.Header) ([]byte, error) {
	if h.Size > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", path.Base(h.Name), maxFile>>20)
	}
	data := make([]byte, h.Size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", path.Base(h.Name), err)
	}
	return data, nil
}
