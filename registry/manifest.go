// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
)

// The media types of charts, defined by Helm.
const (
	configType     = "application/vnd.cncf.helm.config.v1+json"
	contentType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	provenanceType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
	// legacyType is the type of archives in early versions of Helm.
	legacyType = "application/tar+gzip"
)

// The media types of manifests and of container images.
const (
	imageManifest  = "application/vnd.oci.image.manifest.v1+json"
	imageIndex     = "application/vnd.oci.image.index.v1+json"
	imageConfig    = "application/vnd.oci.image.config.v1+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerImage    = "application/vnd.docker.container.image.v1+json"
)

// The size limits, in bytes.
const (
	maxManifest   = 4 << 20
	maxConfig     = 4 << 20
	maxArchive    = 200 << 20
	maxProvenance = 5 << 20
)

// manifestTypes are the accepted types of manifests: those of charts, and others that are
// recognized for error messages.
const manifestTypes = imageManifest + ", " + dockerManifest + ", " + imageIndex + ", " + dockerList

// annotation is the prefix of the annotations in the OCI specification.
const annotation = "org.opencontainers.image."

// descriptor describes a blob. Its JSON, and the manifest's, is that of the OCI image
// specification, without fields that charts do not use.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// layers are the blobs of a chart.
type layers struct {
	config, archive descriptor
	provenance      *descriptor // nil if there is none
}

// parseManifest returns the blobs of a chart. ref is the reference in errors.
func parseManifest(ref, mediaType string, data []byte) (*layers, error) {
	var m manifest
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
				return nil, &ContentError{Ref: ref, Problem: "its manifest has two archives"}
			}
			found.archive = layer
		case provenanceType:
			found.provenance = &layer
		}
	}
	if found.archive.Digest == "" {
		return nil, &ContentError{Ref: ref, Problem: "its manifest has no chart archive"}
	}
	return found, found.check(ref)
}

// kindOf returns a description of a manifest that is not a chart's, or "" for a chart's.
func kindOf(mediaType string, m manifest) string {
	switch {
	case mediaType == imageIndex, mediaType == dockerList:
		return "an index of several images"
	case m.Config.MediaType == configType:
		return ""
	case m.Config.MediaType == imageConfig, m.Config.MediaType == dockerImage:
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

// check checks the digests and the sizes.
func (l *layers) check(ref string) error {
	type bound struct {
		what  string
		desc  descriptor
		limit int64
	}
	parts := []bound{{"its metadata is", l.config, maxConfig}, {"the archive is", l.archive, maxArchive}}
	if l.provenance != nil {
		parts = append(parts, bound{"its provenance file is", *l.provenance, maxProvenance})
	}
	for _, p := range parts {
		if !isDigest(p.desc.Digest) || p.desc.Size < 0 {
			return &ContentError{Ref: ref, Problem: "its manifest has a malformed digest or size"}
		}
		if p.desc.Size > p.limit {
			return &SizeError{Ref: ref, What: p.what, Limit: p.limit}
		}
	}
	return nil
}

// describe returns the descriptor of a blob.
func describe(mediaType string, data []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digestOf(data), Size: int64(len(data))}
}

func digestOf(data []byte) string { return sum(sha256.Sum256(data)) }

func sum(hash [sha256.Size]byte) string { return "sha256:" + hex.EncodeToString(hash[:]) }

// newManifest returns the manifest of a chart, identical to Helm's: layers are sorted by
// digest.
func newManifest(meta *chart.Metadata, created time.Time, l layers) ([]byte, error) {
	m := manifest{
		SchemaVersion: 2,
		Config:        l.config,
		Layers:        []descriptor{l.archive},
		Annotations:   annotations(meta, created),
	}
	if l.provenance != nil {
		m.Layers = append(m.Layers, *l.provenance)
	}
	slices.SortFunc(m.Layers, func(a, b descriptor) int { return strings.Compare(a.Digest, b.Digest) })
	return json.Marshal(m)
}

// annotations returns the annotations of a chart's manifest as Helm sets them: those from the
// metadata, overridden by the chart's annotations except for title and version.
func annotations(meta *chart.Metadata, created time.Time) map[string]string {
	out := map[string]string{}
	set := func(name, value string) {
		if strings.TrimSpace(value) != "" {
			out[name] = value
		}
	}
	set(annotation+"description", meta.Description)
	set(annotation+"url", meta.Home)
	set(annotation+"created", created.Format(time.RFC3339))
	if len(meta.Sources) > 0 {
		set(annotation+"source", meta.Sources[0])
	}
	set(annotation+"authors", authors(meta.Maintainers))
	maps.Copy(out, meta.Annotations)
	delete(out, annotation+"title")
	delete(out, annotation+"version")
	set(annotation+"title", meta.Name)
	set(annotation+"version", meta.Version)
	return out
}

// authors formats the maintainers like Helm: "Ann (ann@example.com), Bob".
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

// parseConfig parses the metadata of a chart. Name and version must be valid file names
// (CVE-2024-25620).
func parseConfig(ref string, data []byte) (*chart.Metadata, error) {
	var meta chart.Metadata
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&meta); err != nil {
		return nil, &ContentError{Ref: ref, Problem: fmt.Sprintf("the chart's metadata cannot be read: %v", err)}
	}
	for _, is := range []struct{ what, text string }{{"name", meta.Name}, {"version", meta.Version}} {
		if is.text == "" || is.text == "." || is.text == ".." || strings.ContainsAny(is.text, "/\\\x00") {
			return nil, &ContentError{Ref: ref, Problem: fmt.Sprintf("%q is not a valid %s of a chart", short(is.text), is.what)}
		}
	}
	return &meta, nil
}
