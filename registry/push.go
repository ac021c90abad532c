// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/chart"
)

// Artifact is a chart to push.
type Artifact struct {
	Metadata *chart.Metadata
	// Archive is read twice, from its current offset.
	Archive    io.ReadSeeker
	Provenance []byte // nil if there is none
	// Created is written to the manifest. Helm uses the modification time of the archive.
	Created time.Time
	// Progress, if not nil, is called with the number of sent bytes of the archive and
	// its size.
	Progress func(done, total int64)
}

// Pushed identifies a pushed chart.
type Pushed struct {
	Ref      Ref    // with the tag
	Manifest string // the manifest's digest, "sha256:..."
}

// Push pushes a chart to directory, "oci://host/path". The chart's name becomes the last
// element of the path, its version the tag. Blobs that the registry has are not sent
// again. The tag is set last, so that no client sees an incomplete chart.
//
// Errors are those of [Client.Pull], and those of reading the archive.
func (c *Client) Push(ctx context.Context, directory Ref, a Artifact) (*Pushed, error) {
	if directory.Tag != "" || directory.Digest != "" {
		return nil, &RefError{Ref: directory.errorName(),
			Problem: "a push takes only a path: the chart's name and version are added to it"}
	}
	name := a.Metadata.Name
	if directory.Path != "" {
		name = directory.Path + "/" + name
	}
	ref, err := ParseRef(Ref{Host: directory.Host, Path: name, Tag: TagOf(a.Metadata.Version)}.String())
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(a.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.errorName(), err)
	}
	start, err := a.Archive.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	l := layers{config: describe(configType, config), archive: descriptor{MediaType: contentType}}
	hash := sha256.New()
	if l.archive.Size, err = io.Copy(hash, a.Archive); err != nil {
		return nil, err
	}
	l.archive.Digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	if _, err := a.Archive.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	if a.Provenance != nil {
		desc := describe(provenanceType, a.Provenance)
		l.provenance = &desc
	}
	if err := l.check(ref.errorName()); err != nil {
		return nil, err
	}
	manifest, err := newManifest(a.Metadata, a.Created, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.errorName(), err)
	}
	return c.push(ctx, ref, l, manifest, a.Progress, map[string]io.Reader{
		l.config.Digest: bytes.NewReader(config), l.archive.Digest: a.Archive,
		digestOf(a.Provenance): bytes.NewReader(a.Provenance),
	})
}

// push uploads the blobs, then the manifest with its tag.
func (c *Client) push(ctx context.Context, ref Ref, l layers, manifest []byte, progress func(done, total int64),
	content map[string]io.Reader) (*Pushed, error) {
	ctx, alive, stop := withIdleTimeout(ctx, c.idleTimeout())
	defer stop()
	call := c.call(ref)
	parts := []descriptor{l.config, l.archive}
	if l.provenance != nil {
		parts = append(parts, *l.provenance)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, desc := range parts {
		group.Go(func() error {
			done := int64(0)
			return call.upload(groupCtx, desc, content[desc.Digest], func(n int) {
				alive(n)
				if done += int64(n); progress != nil && desc.Digest == l.archive.Digest {
					progress(done, desc.Size)
				}
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, call.callerError(ctx, err)
	}
	alive(0)
	desc := describe(imageManifest, manifest)
	resp, err := call.do(ctx, request{
		method: http.MethodPut, path: "manifests/" + ref.Tag, small: string(manifest), write: true,
		header: http.Header{"Content-Type": {imageManifest}},
	})
	if err != nil {
		return nil, call.callerError(ctx, err)
	}
	resp.Body.Close()
	return &Pushed{Ref: ref, Manifest: desc.Digest}, nil
}

// upload uploads a blob unless the registry has it.
func (c *call) upload(ctx context.Context, desc descriptor, from io.Reader, tell func(int)) error {
	// Every request asks for push permission; otherwise a second token would be needed
	// after one for pulling.
	resp, err := c.do(ctx, request{method: http.MethodHead, path: "blobs/" + desc.Digest, write: true})
	if err == nil {
		return resp.Body.Close()
	}
	if _, ok := errors.AsType[*NotFoundError](err); !ok {
		return err
	}
	resp, err = c.do(ctx, request{method: http.MethodPost, path: "blobs/uploads/", write: true})
	if err != nil {
		return err
	}
	resp.Body.Close()
	location, err := resp.Location()
	if err != nil {
		return &ContentError{Ref: c.ref.errorName(), Problem: "the registry sent no upload location"}
	}
	if !sameOrigin(location, c.base()) {
		return &ContentError{Ref: c.ref.errorName(), Problem: fmt.Sprintf("the registry redirects the upload to %s://%s; "+
			"credentials are not sent there", location.Scheme, location.Host)}
	}
	query := location.Query()
	query.Set("digest", desc.Digest)
	location.RawQuery = query.Encode()
	resp, err = c.do(ctx, request{
		method: http.MethodPut, url: location, body: countingReader{from, tell}, size: desc.Size, write: true,
		header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
