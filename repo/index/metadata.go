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
	maxFile     = 5 << 20   // of Chart.yaml
	maxUnpacked = 164 << 20 // of what is unpacked in search of it
	maxFiles    = 100_000
)

var (
	errNoArchive  = errors.New("the file does not appear to be a gzipped archive of a chart")
	errNoMetadata = fmt.Errorf("%s is missing", chart.FileMetadata)
	errTooLarge   = errors.New("unpacks to more than any chart may hold")
)

// readMetadata reads Chart.yaml out of an archive, and of a chart that may need
// it requirements.yaml. It reads no further than that.
func readMetadata(r io.Reader) (meta, requirements []byte, err error) {
	zr, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, nil, errNoArchive
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
		switch _, name, _ := strings.Cut(path.Clean(h.Name), "/"); {
		case h.Typeflag != tar.TypeReg:
		case name == chart.FileMetadata && meta == nil:
			if meta, err = readFile(tr, h); err != nil {
				return nil, nil, err
			}
			if usesNoRequirements(meta) {
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

// usesNoRequirements reports whether a chart is of a generation that has its
// dependencies in Chart.yaml.
func usesNoRequirements(meta []byte) bool {
	m, err := chart.ParseMetadata(chart.FileMetadata, meta)
	return err != nil || m.APIVersion != chart.APIVersionV1
}

func readFile(r io.Reader, h *tar.Header) ([]byte, error) {
	if h.Size > maxFile {
		return nil, fmt.Errorf("%s has more than %d MiB", path.Base(h.Name), maxFile>>20)
	}
	data := make([]byte, h.Size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", path.Base(h.Name), err)
	}
	return data, nil
}
