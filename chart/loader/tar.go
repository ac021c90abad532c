// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync/atomic"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/lines"
)

// tarOverhead limits the bytes of headers and padding in an uncompressed archive.
const tarOverhead = 64 << 20

// budget counts bytes against a limit. It is safe for concurrent use.
type budget struct {
	total int64
	used  atomic.Int64
}

// take adds n bytes, or returns a [*LimitError].
func (b *budget) take(n int64) error {
	if n < 0 || b.used.Add(n) > b.total {
		return &LimitError{What: "the chart unpacked", Limit: b.total, Unit: "bytes"}
	}
	return nil
}

func readArchive(r io.Reader, limits Limits, b *budget, shared *contents) ([]*chart.File, error) {
	var files []*chart.File
	indexes := map[string]int{}
	err := unpack(r, limits, b, func(name string, size int64, body io.Reader) error {
		data, err := shared.read(body, size)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		f := &chart.File{Name: name, Data: trimBOM(data)}
		if i, again := indexes[name]; again {
			files[i] = f // the last of two entries with the same name wins, as in tar
			return nil
		}
		indexes[name] = len(files)
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the archive contains no files")
	}
	return files, nil
}

// unpack calls each for every file of an archive, with the file's name without the top
// directory. It checks the name and the size before each reads the content.
func unpack(r io.Reader, limits Limits, b *budget, each func(name string, size int64, body io.Reader) error) error {
	buffered := bufio.NewReaderSize(r, 16<<10)
	if magic, err := buffered.Peek(2); err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if err != nil && err != io.EOF {
			return err
		}
		return ErrNotArchive
	}
	zr, err := gzip.NewReader(buffered)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotArchive, err)
	}
	defer zr.Close()
	tr := tar.NewReader(&cappedReader{r: zr, left: limits.Total + tarOverhead, limit: limits.Total})
	for entries := int64(0); ; entries++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if entries >= limits.Entries {
			return &LimitError{What: "the archive", Limit: limits.Entries, Unit: "files"}
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := entryName(h)
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if h.Size > limits.File {
			return &LimitError{What: name, Limit: limits.File, Unit: "bytes"}
		}
		if err := b.take(h.Size); err != nil {
			return err
		}
		if err := each(name, h.Size, tr); err != nil {
			return err
		}
	}
}

// entryName checks an entry's type and name and returns the name without the top
// directory. It returns "" for a directory.
func entryName(h *tar.Header) (string, error) {
	invalid := func(problem string) (string, error) {
		return "", &EntryError{Entry: h.Name, Problem: problem}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeGNUSparse:
	case tar.TypeSymlink, tar.TypeLink:
		return invalid("is a link, which a chart archive must not contain")
	default:
		return invalid("is neither a file nor a directory")
	}
	if problem := nameProblem(h.Name); problem != "" {
		return invalid(problem)
	}
	if h.Typeflag == tar.TypeDir {
		return "", nil
	}
	_, rest, ok := strings.Cut(h.Name, "/")
	rest = path.Clean(rest)
	if !ok || rest == "." || strings.HasPrefix(rest, "/") {
		return invalid("is not in the chart's directory")
	}
	return rest, nil
}

// nameProblem returns why an entry with the given name cannot be unpacked safely on any
// platform, or "" if it can.
func nameProblem(name string) string {
	if strings.ContainsRune(name, '\\') {
		return "has a backslash in its name"
	}
	for part := range strings.SplitSeq(name, "/") {
		// On Windows, a drive letter makes the path absolute.
		if len(part) > 1 && part[1] == ':' {
			return "is an absolute path"
		}
	}
	return pathProblem(name)
}

// pathProblem returns why a chart cannot have a file with the given name, or "" if it can.
func pathProblem(name string) string {
	switch {
	case name == "":
		return "has no name"
	case strings.ContainsRune(name, 0):
		return "has a zero byte in its name"
	case isSource(name) && strings.ContainsFunc(name, lines.Ends):
		return "has a control character in its name; rename the file"
	case strings.HasPrefix(name, "/"):
		return "is an absolute path"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "leads out of the chart (..)"
		}
	}
	return ""
}

// isSource reports whether the file's name is printed in "# Source:" comments.
func isSource(name string) bool {
	return strings.Contains("/"+name, "/"+chart.DirTemplates+"/") || strings.Contains("/"+name, "/"+chart.DirCRDs+"/")
}

// cappedReader returns a [*LimitError] after too many bytes.
type cappedReader struct {
	r           io.Reader
	left, limit int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, &LimitError{What: "the chart unpacked", Limit: c.limit, Unit: "bytes"}
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.left -= int64(n)
	return n, err
}
