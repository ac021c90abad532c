// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/chart"
)

// Pulled describes a pulled chart.
type Pulled struct {
	Metadata *chart.Metadata
	Manifest string // the manifest's digest, "sha256:..."
	// ManifestJSON is the manifest as the registry sent it.
	ManifestJSON []byte
	Digest       string // the archive's SHA-256, in hex
	Size         int64  // the archive's, in bytes
	// Provenance is the provenance file, or nil if there is none or it was not requested.
	Provenance []byte
}

// PullOptions are the options of a pull. The zero value pulls only the archive.
type PullOptions struct {
	// Provenance pulls the provenance file too.
	Provenance bool
	// Have reports whether the caller has the archive with that SHA-256 in hex. If so, Pull
	// does not pull it and writes nothing. It may be nil.
	Have func(digest string) bool
	// Progress, if not nil, is called with the number of received bytes of the archive and
	// its size.
	Progress func(done, total int64)
}

// Pull writes the archive of the chart ref to w and verifies its digest. ref must have a tag
// or a digest; if it has both, the tag must have that digest. If Pull fails, part of
// the archive may have been written to w.
//
// Errors: *[RefError], *[NotFoundError], *[UnauthorizedError], *[KindError],
// *[ContentError], *[SizeError], *[StatusError], *[PlainHTTPError], *[ConnectError],
// *[InterruptedError] if the context is done, and those of w.
func (c *Client) Pull(ctx context.Context, ref Ref, w io.Writer, o PullOptions) (*Pulled, error) {
	if err := chartRef(ref); err != nil {
		return nil, err
	}
	if ref.Tag == "" && ref.Digest == "" {
		return nil, &RefError{Ref: ref.errorName(), Problem: "it has no version"}
	}
	ctx, alive, stop := withIdleTimeout(ctx, c.idleTimeout())
	defer stop()
	call := c.call(ref)
	found, out, err := call.manifest(ctx)
	if err != nil {
		return nil, call.callerError(ctx, err)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		data, err := call.blob(groupCtx, found.config)
		if err == nil {
			out.Metadata, err = parseConfig(ref.errorName(), data)
		}
		return err
	})
	if o.Provenance && found.provenance != nil {
		group.Go(func() (err error) {
			out.Provenance, err = call.blob(groupCtx, *found.provenance)
			return err
		})
	}
	if o.Have == nil || !o.Have(out.Digest) {
		group.Go(func() error {
			done := int64(0)
			return call.download(groupCtx, w, found.archive, func(n int) {
				alive(n)
				done += int64(n)
				if o.Progress != nil {
					o.Progress(done, out.Size)
				}
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, call.callerError(ctx, err)
	}
	return out, nil
}

// Metadata returns the metadata of the chart ref, which must have a tag or a digest,
// without pulling its archive. Errors are those of [Client.Pull].
func (c *Client) Metadata(ctx context.Context, ref Ref) (*chart.Metadata, error) {
	p, err := c.Pull(ctx, ref, io.Discard, PullOptions{Have: func(string) bool { return true }})
	if err != nil {
		return nil, err
	}
	return p.Metadata, nil
}

func (c *Client) idleTimeout() time.Duration {
	if c.timeout > 0 {
		return c.timeout
	}
	return idleTimeout
}

// manifest pulls and parses the manifest.
func (c *call) manifest(ctx context.Context) (*layers, *Pulled, error) {
	name := c.ref.Tag
	if name == "" {
		name = c.ref.Digest
	}
	resp, err := c.do(ctx,
		request{method: http.MethodGet, path: "manifests/" + name, header: http.Header{"Accept": {manifestTypes}}})
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := c.readSmall(resp.Body, "its manifest is", maxManifest)
	if err != nil {
		return nil, nil, err
	}
	digest := digestOf(data)
	switch {
	case c.ref.Digest == "" || c.ref.Digest == digest:
	case c.ref.Tag != "":
		return nil, nil, &ContentError{Ref: c.ref.errorName(),
			Problem: fmt.Sprintf("the tag %s has the digest %s, not the requested one", c.ref.Tag, digest)}
	default:
		return nil, nil, &ContentError{Ref: c.ref.errorName(), Problem: "the registry sent a manifest with another digest"}
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	found, err := parseManifest(c.ref.errorName(), strings.TrimSpace(mediaType), data)
	if err != nil {
		return nil, nil, err
	}
	return found, &Pulled{
		Manifest: digest, ManifestJSON: data,
		Digest: strings.TrimPrefix(found.archive.Digest, "sha256:"), Size: found.archive.Size,
	}, nil
}

// blob pulls a blob into memory.
func (c *call) blob(ctx context.Context, desc descriptor) ([]byte, error) {
	var b bytes.Buffer
	err := c.download(ctx, &b, desc, func(int) {})
	return b.Bytes(), err
}

// readSmall reads content of at most limit bytes.
func (c *call) readSmall(r io.Reader, what string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, &ConnectError{Ref: c.ref.errorName(), Host: c.ref.Host, Err: err}
	}
	if int64(len(data)) > limit {
		return nil, &SizeError{Ref: c.ref.errorName(), What: what, Limit: limit}
	}
	return data, nil
}

// maxBreaks is how often the connection may break during the download of a blob.
const maxBreaks = 3

// download writes a blob to w and verifies its digest. If the connection breaks and the
// registry supports ranges, it resumes the download.
func (c *call) download(ctx context.Context, w io.Writer, desc descriptor, tell func(int)) error {
	hash := sha256.New()
	to := &target{w: io.MultiWriter(w, hash)}
	for breaks := 0; ; breaks++ {
		err := c.copyFrom(ctx, to, desc, tell)
		var broken *brokenError
		if err == nil {
			break
		}
		if !errors.As(err, &broken) || to.err != nil || ctx.Err() != nil {
			return err
		}
		if breaks == maxBreaks {
			return &ConnectError{Ref: c.ref.errorName(), Host: c.ref.Host,
				Err: fmt.Errorf("the connection broke after %d of %d bytes: %w", to.n, desc.Size, broken.err)}
		}
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); to.n != desc.Size || got != desc.Digest {
		return &ContentError{Ref: c.ref.errorName(), Problem: fmt.Sprintf("the registry sent content that does not match "+
			"the digest %s", desc.Digest)}
	}
	return nil
}

// copyFrom downloads the rest of a blob.
func (c *call) copyFrom(ctx context.Context, to *target, desc descriptor, tell func(int)) error {
	r := request{method: http.MethodGet, path: "blobs/" + desc.Digest, header: http.Header{}}
	if to.n > 0 {
		r.header.Set("Range", fmt.Sprintf("bytes=%d-", to.n))
	}
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if to.n > 0 &&
		(resp.StatusCode != http.StatusPartialContent ||
			!strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", to.n))) {
		return &ConnectError{Ref: c.ref.errorName(), Host: c.ref.Host,
			Err: fmt.Errorf("the connection broke after %d of %d bytes, and the registry cannot resume", to.n, desc.Size)}
	}
	// One more byte detects content that is too long.
	_, err = io.Copy(to, countingReader{io.LimitReader(resp.Body, desc.Size-to.n+1), tell})
	switch {
	case to.n >= desc.Size:
		return to.err
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return &brokenError{err}
}

// A brokenError is returned if the connection breaks during a download.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// target counts the written bytes and keeps the error of the writer.
type target struct {
	w   io.Writer
	n   int64
	err error
}

func (t *target) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.n += int64(n)
	if err != nil {
		t.err = err
	}
	return n, err
}
