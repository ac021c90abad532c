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

// Pulled is a chart that was pulled.
type Pulled struct {
	Metadata *chart.Metadata
	Manifest string // the manifest's digest, "sha256:..."
	// ManifestJSON are the manifest's bytes, as the registry sent them.
	ManifestJSON []byte
	Digest       string // the archive's SHA-256, in hex
	Size         int64  // the archive's, in bytes
	// Provenance is nil where there is none or it was not asked for.
	Provenance []byte
}

// PullOptions say what of a chart is pulled. The zero value is its archive.
type PullOptions struct {
	// Provenance asks for the provenance file too.
	Provenance bool
	// Have reports whether the caller has the archive of that SHA-256 (hex): then
	// nothing is written. nil has nothing.
	Have func(digest string) bool
	// Progress, if any, is told how many bytes of the archive have arrived, out of
	// how many.
	Progress func(done, total int64)
}

// Pull writes the archive of the chart at ref to w, whose digest has been
// checked when there is no error. ref has a tag or a digest; with both, the tag
// must be of that digest.
//
// Errors: *[RefError], *[NotFoundError], *[UnauthorizedError], *[KindError],
// *[ContentError], *[SizeError], *[StatusError], *[PlainHTTPError], *[ConnectError],
// *[InterruptedError] where the context has ended, and those of w.
func (c *Client) Pull(ctx context.Context, ref Ref, w io.Writer, o PullOptions) (*Pulled, error) {
	if err := chartRef(ref); err != nil {
		return nil, err
	}
	if ref.Tag == "" && ref.Digest == "" {
		return nil, &RefError{Ref: ref.told(), Problem: "it has no version"}
	}
	ctx, alive, stop := attentive(ctx, c.waiting())
	defer stop()
	call := c.call(ref)
	found, out, err := call.manifest(ctx)
	if err != nil {
		return nil, call.explain(ctx, err)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		data, err := call.blob(groupCtx, found.config)
		if err == nil {
			out.Metadata, err = parseConfig(ref.told(), data)
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
		return nil, call.explain(ctx, err)
	}
	return out, nil
}

// Metadata brings what the chart at ref, which has a tag or a digest, says of
// itself, without its archive. Errors are those of [Client.Pull].
func (c *Client) Metadata(ctx context.Context, ref Ref) (*chart.Metadata, error) {
	p, err := c.Pull(ctx, ref, io.Discard, PullOptions{Have: func(string) bool { return true }})
	if err != nil {
		return nil, err
	}
	return p.Metadata, nil
}

func (c *Client) waiting() time.Duration {
	if c.patience > 0 {
		return c.patience
	}
	return patience
}

// manifest brings the manifest of what the call is about, and what it tells.
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
		return nil, nil, &ContentError{Ref: c.ref.told(),
			Problem: fmt.Sprintf("the tag %s is of %s, not of that digest", c.ref.Tag, digest)}
	default:
		return nil, nil, &ContentError{Ref: c.ref.told(), Problem: "the manifest that the registry sent has another digest"}
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	found, err := parseManifest(c.ref.told(), strings.TrimSpace(mediaType), data)
	if err != nil {
		return nil, nil, err
	}
	return found, &Pulled{
		Manifest: digest, ManifestJSON: data,
		Digest: strings.TrimPrefix(found.archive.Digest, "sha256:"), Size: found.archive.Size,
	}, nil
}

// blob brings a small blob.
func (c *call) blob(ctx context.Context, desc descriptor) ([]byte, error) {
	var b bytes.Buffer
	err := c.download(ctx, &b, desc, func(int) {})
	return b.Bytes(), err
}

// readSmall reads what must be small.
func (c *call) readSmall(r io.Reader, what string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, &ConnectError{Ref: c.ref.told(), Host: c.ref.Host, Err: err}
	}
	if int64(len(data)) > limit {
		return nil, &SizeError{Ref: c.ref.told(), What: what, Limit: limit}
	}
	return data, nil
}

// maxBreaks is how often a connection may break while one blob arrives.
const maxBreaks = 3

// download writes a blob to w and checks its digest. Where the connection breaks, and
// the registry can do that, it goes on from there.
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
			return &ConnectError{Ref: c.ref.told(), Host: c.ref.Host,
				Err: fmt.Errorf("the connection broke after %d of %d bytes: %w", to.n, desc.Size, broken.err)}
		}
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); to.n != desc.Size || got != desc.Digest {
		return &ContentError{Ref: c.ref.told(), Problem: fmt.Sprintf("what the registry sent is not %s, but "+
			"damaged or something else", desc.Digest)}
	}
	return nil
}

// copyFrom goes on with a blob where to is.
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
		return &ConnectError{Ref: c.ref.told(), Host: c.ref.Host,
			Err: fmt.Errorf("the connection broke after %d of %d bytes, and the registry cannot go on there", to.n, desc.Size)}
	}
	// One byte more shows content that is longer than it should be.
	_, err = io.Copy(to, watched{io.LimitReader(resp.Body, desc.Size-to.n+1), tell})
	switch {
	case to.n >= desc.Size:
		return to.err
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return &brokenError{err}
}

// A brokenError is returned when a connection broke while content arrived.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// target counts what was written, and remembers whose fault an error was.
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
