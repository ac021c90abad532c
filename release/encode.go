// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// MaxSize is the largest size of a record's JSON in bytes. It is more than a chart can
// have (100 MiB) and limits what a forged record unpacks to.
const MaxSize = 160 << 20

// ErrTooLarge is returned for a record that unpacks to more than [MaxSize].
var ErrTooLarge = fmt.Errorf("the record unpacks to more than %d MiB", MaxSize>>20)

// Encode returns the data to store in the cluster: base64 of gzip of the JSON.
func Encode(r *Release) ([]byte, error) {
	// Helm always compresses at the best level. Level 6 takes a third of the time and
	// yields 2 % more, so the best level is used only near the size limit of a Secret.
	text, err := encode(r, gzip.DefaultCompression)
	if err == nil && len(text) > 600<<10 {
		return encode(r, gzip.BestCompression)
	}
	return text, err
}

func encode(r *Release, level int) ([]byte, error) {
	var out bytes.Buffer
	b64 := base64.NewEncoder(base64.StdEncoding, &out)
	gz, err := compressor(b64, level)
	if err != nil {
		return nil, err
	}
	defer compressors[level].Put(gz)
	w := bufio.NewWriterSize(gz, 32<<10)
	if err := r.write(w); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Flush(), gz.Close(), b64.Close()); err != nil {
		return nil, fmt.Errorf("encode release %s: %w", r.Name, err)
	}
	return out.Bytes(), nil
}

// compressors are pools of gzip writers by level: each takes most of a megabyte, and a
// program that installs many releases encodes several records per release.
var compressors = map[int]*sync.Pool{gzip.DefaultCompression: {}, gzip.BestCompression: {}}

func compressor(w io.Writer, level int) (*gzip.Writer, error) {
	if gz, ok := compressors[level].Get().(*gzip.Writer); ok {
		gz.Reset(w)
		return gz, nil
	}
	return gzip.NewWriterLevel(w, level)
}

// Decode reads a record that [Encode] or Helm wrote. It also accepts JSON that is not
// compressed. To limit the memory of several records, use [Budget.Decode].
func Decode(text []byte) (*Release, error) { return new(Budget).Decode(text) }

func isGzip(b []byte) bool { return len(b) > 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 }

// maxRatio is the highest compression ratio of gzip.
const maxRatio = 1032

// unpack returns the JSON of an encoded record and the bytes taken from the budget.
func (b *Budget) unpack(text []byte) (data []byte, took int, err error) {
	packed := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(packed, text)
	if err != nil {
		return nil, 0, err
	}
	if packed = packed[:n]; !isGzip(packed) {
		return packed, 0, nil
	}
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, 0, err
	}
	// The trailer holds the size. If it is forged, that size is taken from the budget.
	size := int(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
	free := freePerByte * len(text)
	out := make([]byte, 0, min(size, free, MaxSize)+bytes.MinRead)
	for {
		n, err := gz.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case len(out) > MaxSize:
			return nil, took, ErrTooLarge
		case errors.Is(err, io.EOF):
			return out, took, nil
		case err != nil:
			return nil, took, err
		case len(out) < cap(out):
			continue
		}
		next := 2 * cap(out)
		if size > len(out) && size/maxRatio <= len(packed) {
			next = size + bytes.MinRead
		}
		next = min(next, MaxSize+bytes.MinRead)
		if more := next - free - took; more > 0 {
			if err := b.take(more); err != nil {
				return nil, took, err
			}
			took += more
		}
		out = append(make([]byte, 0, next), out...)
	}
}

// Summary holds the columns of a release list.
type Summary struct {
	Name      string
	Namespace string
	Revision  int
	Status    Status
	// Updated is when the revision was last deployed.
	Updated time.Time
	// Completed is when that deployment ended, or zero if it has not or the record does not say.
	Completed time.Time
	// Chart is the chart's name and ChartVersion its version.
	Chart        string
	ChartVersion string
	AppVersion   string
	Description  string
	// RollbackRevision is the revision that a rollback restored, or 0 if it is not a rollback.
	RollbackRevision int
	// Labels are the user's labels, from the labels of the Secret.
	Labels map[string]string
	// Damaged is set if the record cannot be decoded; Description then has the reason.
	Damaged bool
}

// Summary returns the summary of r.
func (r *Release) Summary() (Summary, error) {
	s := Summary{Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Labels: r.Labels}
	s.info(&r.Info)
	meta, err := r.Metadata()
	s.meta(meta)
	return s, err
}

func (s *Summary) info(i *Info) {
	s.Status, s.Updated, s.Description, s.RollbackRevision = i.Status, i.LastDeployed, i.Description, i.RollbackRevision
	s.Completed = i.Completed
}

func (s *Summary) meta(m *chart.Metadata) {
	if m != nil {
		s.Chart, s.ChartVersion, s.AppVersion = m.Name, m.Version, m.AppVersion
	}
}

// Summarize reads a summary from an encoded record. It stops after name, info and the
// chart's metadata, which come first, usually in the first few kilobytes. Revision and
// Namespace come last and stay zero; the record's Secret has them. Memory does not
// grow with the size of the record.
func Summarize(text io.Reader) (Summary, error) {
	return summarize(text, func(r io.Reader) io.Reader { return r })
}

// summarize is Summarize with a wrapper that limits the unpacked size.
func summarize(text io.Reader, bound func(io.Reader) io.Reader) (Summary, error) {
	var s Summary
	in := bufio.NewReaderSize(base64.NewDecoder(base64.StdEncoding, text), 4<<10)
	var plain io.Reader = in
	if head, _ := in.Peek(4); isGzip(head) {
		gz, err := gzip.NewReader(in)
		if err != nil {
			return s, fmt.Errorf("decode release record: %w", err)
		}
		plain = gz
	}
	limited := &io.LimitedReader{R: bound(plain), N: MaxSize}
	err := s.scan(newScanner(limited))
	if err != nil && limited.N <= 0 {
		err = ErrTooLarge
	}
	if err != nil {
		return s, fmt.Errorf("decode release record: %w", err)
	}
	return s, nil
}

func (s *Summary) scan(d *scanner) error {
	missing := map[string]bool{"name": true, "info": true, "chart": true}
	return d.object(func(key string) (bool, error) {
		delete(missing, key)
		var err error
		switch key {
		case "name":
			err = d.value(&s.Name)
		case "info":
			err = s.scanInfo(d)
		case "chart":
			last := len(missing) == 0
			err = s.scanChart(d, last)
			if last {
				return true, err
			}
		default:
			err = d.skip()
		}
		return len(missing) == 0, err
	})
}

func (s *Summary) scanInfo(d *scanner) error {
	return d.object(func(key string) (bool, error) {
		switch key {
		case "last_deployed":
			return false, d.time(&s.Updated)
		case keyCompleted:
			return false, d.time(&s.Completed)
		case "description":
			return false, d.value(&s.Description)
		case "status":
			return false, d.value(&s.Status)
		case "rollback_revision":
			return false, d.value(&s.RollbackRevision)
		}
		return false, d.skip()
	})
}

func (s *scanner) time(t *time.Time) error {
	var raw json.RawMessage
	if err := s.value(&raw); err != nil {
		return err
	}
	return readTime(raw, t)
}

// scanChart reads the chart's metadata. It reads the rest of the chart only if last is
// false, because other keys must still be read.
func (s *Summary) scanChart(d *scanner, last bool) error {
	return d.object(func(key string) (bool, error) {
		if key != "metadata" {
			return false, d.skip()
		}
		return last, d.object(func(key string) (bool, error) {
			switch key {
			case "name":
				return false, d.value(&s.Chart)
			case "version":
				return false, d.value(&s.ChartVersion)
			case "appVersion":
				return false, d.value(&s.AppVersion)
			}
			return false, d.skip()
		})
	})
}

// ChartName returns the chart as lists show it, such as "nginx-1.2.3", or "MISSING" if the
// record has no chart.
func (s Summary) ChartName() string {
	if s.Chart == "" && s.ChartVersion == "" {
		return "MISSING"
	}
	return strings.Join([]string{s.Chart, s.ChartVersion}, "-")
}
