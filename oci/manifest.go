// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/moonhelm/moonhelm/chart"
)

// The media types of charts, as Helm has them.
const (
	configType     = "application/vnd.cncf.helm.config.v1+json"
	contentType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	provenanceType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
	// legacyType is what archives were called in Helm's experiments.
	legacyType = "application/tar+gzip"
)

const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerImage    = "application/vnd.docker.container.image.v1+json"
)

// What is read of a registry, at most, in bytes.
const (
	maxManifest   = 4 << 20
	maxConfig     = 4 << 20
	maxArchive    = 200 << 20
	maxProvenance = 5 << 20
)

// manifestTypes are the manifests that we ask for: those that can be a chart's,
// and those about which we can tell what they are instead.
func manifestTypes() []string {
	return []string{ocispec.MediaTypeImageManifest, dockerManifest, ocispec.MediaTypeImageIndex, dockerList}
}

// layers are the parts of a chart in a registry.
type layers struct {
	config, archive ocispec.Descriptor
	provenance      *ocispec.Descriptor // nil for none
}

// parseManifest finds the parts of a chart. ref stands for it in errors.
func parseManifest(ref, mediaType string, data []byte) (*layers, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, &ContentError{Ref: ref, Problem: fmt.Sprintf("its manifest cannot be read: %v", err)}
	}
	if m.MediaType != "" {
		mediaType = m.MediaType
	}
	if kind := kindOf(mediaType, m); kind != "" {
		return nil, &KindError{Ref: ref, Kind: kind}
	}
	found := &layers{config: m.Config}
	for _, layer := range m.Layers {
		switch layer.MediaType {
		case contentType, legacyType:
			if found.archive.Digest != "" {
				return nil, &ContentError{Ref: ref, Problem: "its manifest names two archives"}
			}
			found.archive = layer
		case provenanceType:
			found.provenance = &layer
		}
	}
	if found.archive.Digest == "" {
		return nil, &ContentError{Ref: ref, Problem: "its manifest names no archive of a chart"}
	}
	return found, found.check(ref)
}

// kindOf tells what a manifest is that is no chart's, "" for a chart's.
func kindOf(mediaType string, m ocispec.Manifest) string {
	switch {
	case mediaType == ocispec.MediaTypeImageIndex, mediaType == dockerList:
		return "an index of several images"
	case m.Config.MediaType == configType:
		return ""
	case m.Config.MediaType == ocispec.MediaTypeImageConfig, m.Config.MediaType == dockerImage:
		return "a container image"
	}
	kind := m.ArtifactType
	if kind == "" {
		kind = m.Config.MediaType
	}
	if kind == "" {
		return "something without a media type"
	}
	return fmt.Sprintf("something of the type %q", short(kind))
}

// check refuses sizes and digests that are beyond what is read.
func (l *layers) check(ref string) error {
	type bound struct {
		what  string
		desc  ocispec.Descriptor
		limit int64
	}
	parts := []bound{{"its metadata is", l.config, maxConfig}, {"the archive is", l.archive, maxArchive}}
	if l.provenance != nil {
		parts = append(parts, bound{"its provenance file is", *l.provenance, maxProvenance})
	}
	for _, p := range parts {
		if !isDigest(p.desc.Digest.String()) || p.desc.Size < 0 {
			return &ContentError{Ref: ref, Problem: "its manifest has a malformed digest or size"}
		}
		if p.desc.Size > p.limit {
			return &SizeError{Ref: ref, What: p.what, Limit: p.limit}
		}
	}
	return nil
}

// part describes a blob.
func part(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
}

// newManifest is the manifest of a chart, byte for byte as Helm writes it: layers
// in the order of their digests.
func newManifest(meta *chart.Metadata, created time.Time, l layers) ([]byte, error) {
	m := ocispec.Manifest{
		Versioned:   specs.Versioned{SchemaVersion: 2},
		Config:      l.config,
		Layers:      []ocispec.Descriptor{l.archive},
		Annotations: annotations(meta, created),
	}
	if l.provenance != nil {
		m.Layers = append(m.Layers, *l.provenance)
	}
	slices.SortFunc(m.Layers, func(a, b ocispec.Descriptor) int { return strings.Compare(a.Digest.String(), b.Digest.String()) })
	return json.Marshal(m)
}

// annotations are what Helm says of a chart in its manifest: what the metadata
// says, and over that the chart's own annotations, which leave title and version
// alone.
func annotations(meta *chart.Metadata, created time.Time) map[string]string {
	out := map[string]string{}
	set := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			out[name] = value
		}
	}
	set(ocispec.AnnotationDescription, meta.Description)
	set(ocispec.AnnotationURL, meta.Home)
	set(ocispec.AnnotationCreated, created.Format(time.RFC3339))
	if len(meta.Sources) > 0 {
		set(ocispec.AnnotationSource, meta.Sources[0])
	}
	set(ocispec.AnnotationAuthors, authors(meta.Maintainers))
	maps.Copy(out, meta.Annotations)
	delete(out, ocispec.AnnotationTitle)
	delete(out, ocispec.AnnotationVersion)
	set(ocispec.AnnotationTitle, meta.Name)
	set(ocispec.AnnotationVersion, meta.Version)
	return out
}

// authors are the maintainers in Helm's form: "Ann (ann@example.com), Bob".
func authors(list []*chart.Maintainer) string {
	var out []string
	for _, m := range list {
		if m == nil {
			continue
		}
		text := m.Name
		if m.Email != "" {
			text += " (" + m.Email + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// parseConfig reads the metadata of a chart, of which name and version become
// file names (CVE-2024-25620).
func parseConfig(ref string, data []byte) (*chart.Metadata, error) {
	var meta chart.Metadata
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&meta); err != nil {
		return nil, &ContentError{Ref: ref, Problem: fmt.Sprintf("the chart's metadata cannot be read: %v", err)}
	}
	for _, is := range []struct{ what, text string }{{"name", meta.Name}, {"version", meta.Version}} {
		if is.text == "" || is.text == "." || is.text == ".." || strings.ContainsAny(is.text, "/\\\x00") {
			return nil, &ContentError{Ref: ref, Problem: fmt.Sprintf("%q is no %s of a chart", short(is.text), is.what)}
		}
	}
	return &meta, nil
}
