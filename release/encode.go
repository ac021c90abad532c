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

// MaxSize is how many bytes of JSON a record may have. It is far above what a
// chart can bring (100 MiB) and bounds what a forged record can make a reader
// unpack.
const MaxSize = 160 << 20

// ErrTooLarge is returned for a record that unpacks to more than [MaxSize].
var ErrTooLarge = fmt.Errorf("the record unpacks to more than %d MiB", MaxSize>>20)

// Encode returns the text that a cluster keeps: base64 of gzip of the JSON.
func Encode(r *Release) ([]byte, error) {
	// Helm compresses at the best level; level 6 needs a third of the time for
	// some 2 % more, so the best level is kept for where it may matter.
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

// compressors are those that are not in use, by level: each takes most of a megabyte,
// and a program that installs many releases encodes several records for each.
var compressors = map[int]*sync.Pool{gzip.DefaultCompression: {}, gzip.BestCompression: {}}

func compressor(w io.Writer, level int) (*gzip.Writer, error) {
	if gz, ok := compressors[level].Get().(*gzip.Writer); ok {
		gz.Reset(w)
		return gz, nil
	}
	return gzip.NewWriterLevel(w, level)
}

// Decode reads what [Encode] or Helm wrote; JSON that is not compressed is
// accepted as well. Several records are decoded within one [Budget].
func Decode(text []byte) (*Release, error) { return new(Budget).Decode(text) }

func isGzip(b []byte) bool { return len(b) > 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 }

// maxRatio is what one byte of gzip unpacks to at most.
const maxRatio = 1032

// unpack returns the JSON of an encoded record, and what it took of the budget.
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
	// The trailer tells the size. A forged one takes from the budget what it says.
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

// Summary is what a list of releases shows of one of them.
type Summary struct {
	Name      string
	Namespace string
	Revision  int
	Status    Status
	// Updated is when the revision was last deployed.
	Updated time.Time
	// Chart is the chart's name, ChartVersion its version.
	Chart        string
	ChartVersion string
	AppVersion   string
	Description  string
	// RollbackRevision is the revision that a rollback took up again, 0 for none.
	RollbackRevision int
	// Labels are the user's labels; a record does not hold them, its Secret does.
	Labels map[string]string
	// Damaged says that the record cannot be used; Description tells why.
	Damaged bool
}

// Summary returns what a list shows of r.
func (r *Release) Summary() (Summary, error) {
	s := Summary{Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Labels: r.Labels}
	s.info(&r.Info)
	meta, err := r.Metadata()
	s.meta(meta)
	return s, err
}

func (s *Summary) info(i *Info) {
	s.Status, s.Updated, s.Description, s.RollbackRevision = i.Status, i.LastDeployed, i.Description, i.RollbackRevision
}

func (s *Summary) meta(m *chart.Metadata) {
	if m != nil {
		s.Chart, s.ChartVersion, s.AppVersion = m.Name, m.Version, m.AppVersion
	}
}

// Summarize reads a summary from an encoded record and stops as soon as it
// knows enough, which is usually after the first few kilobytes: name, info and
// the chart's metadata come first. Revision and Namespace come last in a record
// and stay zero; a reader of the record's Secret knows them. Whatever the record
// unpacks to, only what the summary holds is kept.
func Summarize(text io.Reader) (Summary, error) {
	return summarize(text, func(r io.Reader) io.Reader { return r })
}

// summarize is Summarize with a bound on what the record unpacks to.
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
			var raw json.RawMessage
			if err := d.value(&raw); err != nil {
				return false, err
			}
			return false, readTime(raw, &s.Updated)
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

// scanChart reads the chart's metadata, and the rest of the chart only where
// something after it is still wanted.
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

// ChartName is the chart as lists show it: "nginx-1.2.3", or "MISSING" where
// the record has no chart.
func (s Summary) ChartName() string {
	if s.Chart == "" && s.ChartVersion == "" {
		return "MISSING"
	}
	return strings.Join([]string{s.Chart, s.ChartVersion}, "-")
}
