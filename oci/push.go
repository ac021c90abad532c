// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"

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
}

// Pushed is where a chart is now.
type Pushed struct {
	Ref      Ref    // with the tag
	Manifest string // the manifest's digest, "sha256:..."
}

// Push puts a chart into folder, "oci://host/path": its name becomes the last
// element of the path, its version the tag. What the registry has already is not
// sent again. The tag is set last, so that nobody sees a chart of which a part is
// missing.
//
// Errors are those of [Client.Pull], and what reading the archive says.
func (c *Client) Push(ctx context.Context, folder Ref, a Artifact) (*Pushed, error) {
	if folder.Tag != "" || folder.Digest != "" {
		return nil, &RefError{Ref: folder.String(), Problem: "a push names the place only: the chart's own name and version are added to it"}
	}
	ref, err := ParseRef(Ref{Host: folder.Host, Path: path.Join(folder.Path, a.Metadata.Name), Tag: TagOf(a.Metadata.Version)}.String())
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(a.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	start, err := a.Archive.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	l := layers{config: part(configType, config), archive: ocispec.Descriptor{MediaType: contentType}}
	hash := digest.Canonical.Digester()
	if l.archive.Size, err = io.Copy(hash.Hash(), a.Archive); err != nil {
		return nil, err
	}
	l.archive.Digest = hash.Digest()
	if _, err := a.Archive.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	if a.Provenance != nil {
		desc := part(provenanceType, a.Provenance)
		l.provenance = &desc
	}
	if err := l.check(ref.String()); err != nil {
		return nil, err
	}
	manifest, err := newManifest(a.Metadata, a.Created, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	return c.push(ctx, ref, l, manifest, map[digest.Digest]io.Reader{
		l.config.Digest: bytes.NewReader(config), l.archive.Digest: a.Archive, digest.FromBytes(a.Provenance): bytes.NewReader(a.Provenance),
	})
}

// push sends the parts, then the manifest under its tag.
func (c *Client) push(ctx context.Context, ref Ref, l layers, manifest []byte, content map[digest.Digest]io.Reader) (*Pushed, error) {
	ctx, alive, stop := attentive(ctx, c.waiting())
	defer stop()
	call := c.call(ref)
	parts := []ocispec.Descriptor{l.config, l.archive}
	if l.provenance != nil {
		parts = append(parts, *l.provenance)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, desc := range parts {
		group.Go(func() error {
			done := int64(0)
			return call.send(groupCtx, desc, content[desc.Digest], func(n int) {
				alive()
				if done += int64(n); desc.Digest == l.archive.Digest {
					c.tell(ref, done, desc.Size)
				}
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, call.explain(ctx, err)
	}
	alive()
	desc := part(ocispec.MediaTypeImageManifest, manifest)
	if err := call.repo.Manifests().PushReference(ctx, desc, bytes.NewReader(manifest), ref.Tag); err != nil {
		return nil, call.explain(ctx, err)
	}
	return &Pushed{Ref: ref, Manifest: desc.Digest.String()}, nil
}

// send sends one blob, unless it is there.
func (c *call) send(ctx context.Context, desc ocispec.Descriptor, from io.Reader, tell func(int)) error {
	// Asked with the right to write, or a token for reading would be fetched first
	// and then another one.
	ctx = auth.AppendRepositoryScope(ctx, c.repo.Reference, auth.ActionPull, auth.ActionPush)
	there, err := c.repo.Blobs().Exists(ctx, desc)
	if err == nil && there || err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return err
	}
	return c.repo.Blobs().Push(ctx, desc, watched{from, tell})
}
