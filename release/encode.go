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
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// MaxSize is how many bytes of JSON a record may have. It is far above what a
// chart can bring (100 MiB) and bounds what a forged record can make a reader
// unpack.
const MaxSize = 160 << 20

// ErrTooLarge tells that a record unpacks to more than [MaxSize].
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
	gz, err := gzip.NewWriterLevel(b64, level)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(gz, 32<<10)
	if err := r.write(w); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Flush(), gz.Close(), b64.Close()); err != nil {
		return nil, fmt.Errorf("encode release %s: %w", r.Name, err)
	}
	return out.Bytes(), nil
}

// Decode reads what [Encode] or Helm wrote; JSON that is not compressed is
// accepted as well.
func Decode(text []byte) (*Release, error) {
	packed := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(packed, text)
	if err != nil {
		return nil, fmt.Errorf("decode release record: %w", err)
	}
	data, err := unpack(packed[:n])
	if err != nil {
		return nil, fmt.Errorf("decode release record: %w", err)
	}
	r := &Release{}
	if err := r.read(data); err != nil {
		return nil, fmt.Errorf("decode release record: %w", err)
	}
	return r, nil
}

func isGzip(b []byte) bool { return len(b) > 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 }

func unpack(packed []byte) ([]byte, error) {
	if !isGzip(packed) {
		return packed, nil
	}
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	// The trailer tells the size; a forged one costs no more than a record of
	// the usual ratio would.
	size := int(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
	out.Grow(min(size, 64*len(packed)) + bytes.MinRead)
	if n, err := out.ReadFrom(io.LimitReader(gz, MaxSize+1)); err != nil {
		return nil, err
	} else if n > MaxSize {
		return nil, ErrTooLarge
	}
	return out.Bytes(), nil
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
// and stay zero; whoever has the record's Secret knows them.
func Summarize(text io.Reader) (Summary, error) {
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
	limited := &io.LimitedReader{R: plain, N: MaxSize}
	err := s.scan(json.NewDecoder(limited))
	if err != nil && limited.N <= 0 {
		err = ErrTooLarge
	}
	if err != nil {
		return s, fmt.Errorf("decode release record: %w", err)
	}
	return s, nil
}

func (s *Summary) scan(d *json.Decoder) error {
	missing := map[string]bool{"name": true, "info": true, "chart": true}
	return scanObject(d, func(key string) (bool, error) {
		delete(missing, key)
		var err error
		switch key {
		case "name":
			err = d.Decode(&s.Name)
		case "info":
			var i Info
			err = d.Decode(&i)
			s.info(&i)
		case "chart":
			last := len(missing) == 0
			err = s.scanChart(d, last)
			if last {
				return true, err
			}
		default:
			err = skip(d)
		}
		return len(missing) == 0, err
	})
}

// scanChart reads the chart's metadata, and the rest of the chart only where
// something after it is still wanted.
func (s *Summary) scanChart(d *json.Decoder, last bool) error {
	return scanObject(d, func(key string) (bool, error) {
		if key != "metadata" {
			return false, skip(d)
		}
		var m chart.Metadata
		err := d.Decode(&m)
		s.meta(&m)
		return last, err
	})
}

// scanObject calls fn for each key of the object that follows, until fn says
// that it is done. fn reads the value.
func scanObject(d *json.Decoder, fn func(key string) (done bool, err error)) error {
	tok, err := d.Token()
	if err != nil || tok == nil {
		return err
	}
	if tok != json.Delim('{') {
		return errSyntax
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return errSyntax
		}
		if done, err := fn(name); done || err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// skip reads one value in small steps, so that its size does not matter.
func skip(d *json.Decoder) error {
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return err
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// ChartName is the chart as lists show it: "nginx-1.2.3", or "MISSING" where
// the record has no chart.
func (s Summary) ChartName() string {
	if s.Chart == "" && s.ChartVersion == "" {
		return "MISSING"
	}
	return strings.Join([]string{s.Chart, s.ChartVersion}, "-")
}
