// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/content"

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
	// Have tells whether an archive of that SHA-256 (hex) is here already: then
	// nothing is written. nil has nothing.
	Have func(digest string) bool
}

// Pull writes the archive of the chart at ref to w, whose digest has been
// checked when there is no error. ref has a tag or a digest; with both, the tag
// must be of that digest.
//
// Errors: *[RefError], *[NotFoundError], *[UnauthorizedError], *[KindError],
// *[ContentError], *[SizeError], *[StatusError], *[PlainError], *[ConnectError],
// and what w and the context say.
func (c *Client) Pull(ctx context.Context, ref Ref, w io.Writer, o PullOptions) (*Pulled, error) {
	if err := chartRef(ref); err != nil {
		return nil, err
	}
	if ref.Tag == "" && ref.Digest == "" {
		return nil, &RefError{Ref: ref.String(), Problem: "it has no version"}
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
			out.Metadata, err = parseConfig(ref.String(), data)
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
			return call.copy(groupCtx, w, found.archive, func(n int) {
				alive()
				done += int64(n)
				c.tell(ref, done, out.Size)
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, call.explain(ctx, err)
	}
	return out, nil
}

// tell reports how much of an archive has been transferred.
func (c *Client) tell(ref Ref, done, total int64) {
	if c.Progress == nil {
		return
	}
	name := ref.Name()
	if ref.Tag != "" {
		name = fmt.Sprintf("%s-%s.tgz", name, VersionOf(ref.Tag))
	}
	c.Progress(name, done, total)
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
	desc, body, err := c.repo.Manifests().FetchReference(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	if desc.Size > maxManifest {
		return nil, nil, &SizeError{Ref: c.ref.String(), What: "its manifest is", Limit: maxManifest}
	}
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, nil, c.damaged("its manifest", err)
	}
	if c.ref.Digest != "" && desc.Digest.String() != c.ref.Digest {
		return nil, nil, &ContentError{Ref: c.ref.String(), Problem: fmt.Sprintf("the tag %s is of %s, not of that digest", c.ref.Tag, desc.Digest)}
	}
	found, err := parseManifest(c.ref.String(), desc.MediaType, data)
	if err != nil {
		return nil, nil, err
	}
	return found, &Pulled{
		Manifest: desc.Digest.String(), ManifestJSON: data,
		Digest: found.archive.Digest.Encoded(), Size: found.archive.Size,
	}, nil
}

// blob brings a small blob.
func (c *call) blob(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	var b bytes.Buffer
	err := c.copy(ctx, &b, desc, func(int) {})
	return b.Bytes(), err
}

// maxBreaks is how often a connection may break while one blob arrives.
const maxBreaks = 3

// copy writes a blob to w and checks its digest. Where the connection breaks, and
// the registry can do that, it goes on from there.
func (c *call) copy(ctx context.Context, w io.Writer, desc ocispec.Descriptor, tell func(int)) error {
	body, err := c.repo.Blobs().Fetch(ctx, desc)
	if err != nil {
		return err
	}
	defer body.Close()
	check := desc.Digest.Verifier()
	to := &target{w: io.MultiWriter(w, check)}
	for breaks := 0; ; breaks++ {
		_, err := io.Copy(to, watched{io.LimitReader(body, desc.Size-to.n+1), tell})
		if err == nil && to.n >= desc.Size {
			break
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		seeker, ok := body.(io.Seeker)
		if to.err != nil || ctx.Err() != nil {
			return err
		}
		if !ok || breaks == maxBreaks {
			return &ConnectError{Ref: c.ref.String(), Host: c.ref.Host, Err: fmt.Errorf("the connection broke after %d of %d bytes: %w", to.n, desc.Size, err)}
		}
		if _, err := seeker.Seek(to.n, io.SeekStart); err != nil {
			return err
		}
	}
	if to.n != desc.Size || !check.Verified() {
		return c.damaged("what the registry sent", errors.New("its digest is another"))
	}
	return nil
}

func (c *call) damaged(what string, err error) error {
	return &ContentError{Ref: c.ref.String(), Problem: fmt.Sprintf("%s is not what its digest says: %v", what, err)}
}

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
