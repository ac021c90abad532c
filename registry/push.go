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
	// Archive is read twice, from where it stands.
	Archive    io.ReadSeeker
	Provenance []byte // nil for none
	// Created is told in the manifest; Helm takes the time of the archive's file.
	Created time.Time
	// Progress, if any, is told how many bytes of the archive have left, out of how
	// many.
	Progress func(done, total int64)
}

// Pushed is where a chart is now.
type Pushed struct {
	Ref      Ref    // with the tag
	Manifest string // the manifest's digest, "sha256:..."
}

// Push puts a chart into directory, "oci://host/path": its name becomes the last
// element of the path, its version the tag. What the registry has already is not
// sent again. The tag is set last, so that a chart is never seen
// in part.
//
// Errors are those of [Client.Pull], and what reading the archive says.
func (c *Client) Push(ctx context.Context, directory Ref, a Artifact) (*Pushed, error) {
	if directory.Tag != "" || directory.Digest != "" {
		return nil, &RefError{Ref: directory.told(),
			Problem: "a push names the place only: the chart's own name and version are added to it"}
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
		return nil, fmt.Errorf("%s: %w", ref.told(), err)
	}
	start, err := a.Archive.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	l := layers{config: part(configType, config), archive: descriptor{MediaType: contentType}}
	hash := sha256.New()
	if l.archive.Size, err = io.Copy(hash, a.Archive); err != nil {
		return nil, err
	}
	l.archive.Digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	if _, err := a.Archive.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	if a.Provenance != nil {
		desc := part(provenanceType, a.Provenance)
		l.provenance = &desc
	}
	if err := l.check(ref.told()); err != nil {
		return nil, err
	}
	manifest, err := newManifest(a.Metadata, a.Created, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref.told(), err)
	}
	return c.push(ctx, ref, l, manifest, a.Progress, map[string]io.Reader{
		l.config.Digest: bytes.NewReader(config), l.archive.Digest: a.Archive,
		digestOf(a.Provenance): bytes.NewReader(a.Provenance),
	})
}

// push sends the parts, then the manifest under its tag.
func (c *Client) push(ctx context.Context, ref Ref, l layers, manifest []byte, progress func(done, total int64),
	content map[string]io.Reader) (*Pushed, error) {
	ctx, alive, stop := attentive(ctx, c.waiting())
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
		return nil, call.explain(ctx, err)
	}
	alive(0)
	desc := part(imageManifest, manifest)
	resp, err := call.do(ctx, request{
		method: http.MethodPut, path: "manifests/" + ref.Tag, small: string(manifest), write: true,
		header: http.Header{"Content-Type": {imageManifest}},
	})
	if err != nil {
		return nil, call.explain(ctx, err)
	}
	resp.Body.Close()
	return &Pushed{Ref: ref, Manifest: desc.Digest}, nil
}

// upload sends one blob, unless it is there.
func (c *call) upload(ctx context.Context, desc descriptor, from io.Reader, tell func(int)) error {
	// Everything is asked with the right to write, or a token for reading would
	// be fetched first and then another one.
	resp, err := c.do(ctx, request{method: http.MethodHead, path: "blobs/" + desc.Digest, write: true})
	var missing *NotFoundError
	if err == nil {
		return resp.Body.Close()
	}
	if !errors.As(err, &missing) {
		return err
	}
	resp, err = c.do(ctx, request{method: http.MethodPost, path: "blobs/uploads/", write: true})
	if err != nil {
		return err
	}
	resp.Body.Close()
	location, err := resp.Location()
	if err != nil {
		return &ContentError{Ref: c.ref.told(), Problem: "the registry does not say where to upload to"}
	}
	if !sameOrigin(location, c.base()) {
		return &ContentError{Ref: c.ref.told(), Problem: fmt.Sprintf("the registry wants the upload sent to %s://%s, where "+
			"its credentials do not belong", location.Scheme, location.Host)}
	}
	query := location.Query()
	query.Set("digest", desc.Digest)
	location.RawQuery = query.Encode()
	resp, err = c.do(ctx, request{
		method: http.MethodPut, url: location, body: watched{from, tell}, size: desc.Size, write: true,
		header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
