// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
)

// pluginType is the type of Helm 4's plugins: the artifact type of the manifest or, in
// older ones, the media type of the configuration.
const pluginType = "application/vnd.helm.plugin.v1+json"

// PulledPlugin describes a pulled plugin.
type PulledPlugin struct {
	Name string // the archive's: "name-1.2.3.tgz"
	// Provenance is nil if there is none.
	Provenance []byte
}

type pluginManifest struct {
	ArtifactType string     `json:"artifactType"`
	Config       descriptor `json:"config"`
	Layers       []struct {
		descriptor
		Annotations map[string]string `json:"annotations"`
	} `json:"layers"`
}

// PullPlugin writes the archive of the plugin ref, which must have a tag or a digest, to w,
// and verifies its digest. progress, if not nil, is called with the number of received
// bytes and the size of the archive. Errors are those of [Client.Pull].
func (c *Client) PullPlugin(ctx context.Context, ref Ref, w io.Writer, progress func(done, total int64)) (*PulledPlugin,
	error) {
	if ref.Tag == "" && ref.Digest == "" {
		return nil, &RefError{Ref: ref.errorName(), Problem: "it has no version"}
	}
	ctx, alive, stop := withIdleTimeout(ctx, c.idleTimeout())
	defer stop()
	call := c.call(ref)
	out, archive, prov, err := call.pluginManifest(ctx)
	if err != nil {
		return nil, call.callerError(ctx, err)
	}
	if prov != nil {
		if out.Provenance, err = call.blob(ctx, *prov); err != nil {
			return nil, call.callerError(ctx, err)
		}
	}
	done := int64(0)
	err = call.download(ctx, w, archive, func(n int) {
		alive(n)
		done += int64(n)
		if progress != nil {
			progress(done, archive.Size)
		}
	})
	if err != nil {
		return nil, call.callerError(ctx, err)
	}
	return out, nil
}

func (c *call) pluginManifest(ctx context.Context) (out *PulledPlugin, archive descriptor, prov *descriptor,
	err error) {
	name := c.ref.Tag
	if c.ref.Digest != "" {
		name = c.ref.Digest
	}
	resp, err := c.do(ctx,
		request{method: http.MethodGet, path: "manifests/" + name, header: http.Header{"Accept": {manifestTypes}}})
	if err != nil {
		return nil, archive, nil, err
	}
	defer resp.Body.Close()
	data, err := c.readSmall(resp.Body, "its manifest is", maxManifest)
	if err != nil {
		return nil, archive, nil, err
	}
	if c.ref.Digest != "" && c.ref.Digest != digestOf(data) {
		return nil, archive, nil, &ContentError{Ref: c.ref.errorName(),
			Problem: "the manifest that the registry sent has another digest"}
	}
	return parsePlugin(c.ref.errorName(), data)
}

// parsePlugin returns the layers of a plugin's archive and provenance file, by their
// titles.
func parsePlugin(ref string, data []byte) (out *PulledPlugin, archive descriptor, prov *descriptor, err error) {
	wrong := func(problem string) (*PulledPlugin, descriptor, *descriptor, error) {
		return nil, descriptor{}, nil, &ContentError{Ref: ref, Problem: problem}
	}
	var m pluginManifest
	if err := json.Unmarshal(data, &m); err != nil {
		return wrong(fmt.Sprintf("its manifest cannot be read: %v", err))
	}
	switch {
	case m.ArtifactType == pluginType, m.Config.MediaType == pluginType:
	case m.Config.MediaType == configType:
		return wrong("it is a chart, not a plugin")
	default:
		return wrong("it is not a plugin")
	}
	byTitle := map[string]descriptor{}
	title := ""
	for _, l := range m.Layers {
		name := l.Annotations[annotation+"title"]
		if name != path.Base(name) || strings.Contains(name, `\`) {
			return wrong("its manifest has a file in another directory")
		}
		byTitle[name] = l.descriptor
		if strings.HasSuffix(name, ".tgz") {
			if title != "" {
				return wrong("its manifest has two archives")
			}
			title, archive = name, l.descriptor
		}
	}
	if title == "" {
		return wrong("its manifest has no plugin archive")
	}
	out = &PulledPlugin{Name: title}
	parts := &layers{archive: archive, config: m.Config}
	if p, ok := byTitle[title+".prov"]; ok {
		prov, parts.provenance = &p, &p
	}
	return out, archive, prov, parts.check(ref)
}
