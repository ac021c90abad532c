// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/moonhelm/moonhelm/kube/internal/api"
	"github.com/moonhelm/moonhelm/openapi"
)

// schemas caches OpenAPI documents in memory.
type schemas struct {
	mu        sync.Mutex
	documents map[string]*document // keys are apiVersions
	fetches   map[string]*fetch    // in progress; keys are apiVersions
}

// fetch is a document that is being read. Concurrent operations wait for the same fetch,
// because a document is megabytes.
type fetch struct {
	done   chan struct{}
	ended  bool      // its context ended; a waiting operation tries again
	result *document // nil if reading failed
}

// get returns the document with the given address from memory, or else calls read, at most once
// at a time for each apiVersion.
func (s *schemas) get(ctx context.Context, apiVersion, at string, read func() *document) *document {
	for {
		s.mu.Lock()
		if have := s.documents[apiVersion]; have != nil && have.At == at {
			s.mu.Unlock()
			return have
		}
		r := s.fetches[apiVersion]
		if r == nil {
			r = &fetch{done: make(chan struct{})}
			if s.fetches == nil {
				s.fetches, s.documents = map[string]*fetch{}, map[string]*document{}
			}
			s.fetches[apiVersion] = r
			s.mu.Unlock()
			return s.finish(ctx, apiVersion, r, read())
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-r.done:
			if !r.ended {
				return r.result
			}
		}
	}
}

// finish stores the result of a fetch and wakes the waiting operations.
func (s *schemas) finish(ctx context.Context, apiVersion string, r *fetch, d *document) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d != nil {
		s.documents[apiVersion] = d
	}
	delete(s.fetches, apiVersion)
	r.result, r.ended = d, d == nil && ctx.Err() != nil
	close(r.done)
	return d
}

// document is the OpenAPI document of one group and version, in the format of the cache file.
type document struct {
	Server string `json:"server"`
	// At is the document's address on the server, which changes with its content.
	At       string            `json:"at"`
	Document *openapi.Document `json:"document"`
}

// documents returns the OpenAPI documents of apiVersions. It omits those that cannot be read,
// because validation is optional.
func (c *Applier) documents(ctx context.Context, apiVersions []string) map[string]*openapi.Document {
	out := map[string]*openapi.Document{}
	index := c.documentIndex(ctx)
	if len(index) == 0 {
		return out
	}
	var mu sync.Mutex
	_ = api.ForEach(ctx, apiVersions, func(ctx context.Context, apiVersion string) error {
		at := index[documentName(apiVersion)]
		if at == "" {
			return nil
		}
		if d := c.document(ctx, apiVersion, at); d != nil {
			mu.Lock()
			defer mu.Unlock()
			out[apiVersion] = d
		}
		return nil
	})
	return out
}

// documentName returns the key of a group and version in the server's index.
func documentName(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "apis/" + apiVersion
	}
	return "api/" + apiVersion
}

// documentIndex returns the addresses of the server's documents.
func (c *Applier) documentIndex(ctx context.Context) map[string]string {
	body, err := c.api.WithoutRetry().Call(ctx, http.MethodGet, "/openapi/v3", nil, nil, nil)
	if err != nil {
		return nil
	}
	var index struct {
		Paths map[string]struct {
			At string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if json.Unmarshal(body, &index) != nil {
		return nil
	}
	out := make(map[string]string, len(index.Paths))
	for name, p := range index.Paths {
		out[name] = p.At
	}
	return out
}

// document returns the document with the given address from memory, the cache file or the
// server, or nil if it cannot be read.
func (c *Applier) document(ctx context.Context, apiVersion, at string) *openapi.Document {
	d := c.schemas.get(ctx, apiVersion, at, func() *document {
		if d := c.readDocument(apiVersion); d != nil && d.At == at {
			return d
		}
		return c.fetchDocument(ctx, apiVersion, at)
	})
	if d == nil {
		return nil
	}
	return d.Document
}

func (c *Applier) fetchDocument(ctx context.Context, apiVersion, at string) *document {
	u, err := url.Parse(at)
	if err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/openapi/v3/") {
		return nil
	}
	body, err := c.api.WithoutRetry().Call(ctx, http.MethodGet, u.Path, u.Query(), nil, nil)
	if err != nil {
		return nil
	}
	parsed, err := openapi.Parse(apiVersion, body)
	if err != nil {
		return nil
	}
	d := &document{Server: c.api.Server(), At: at, Document: parsed}
	if text, err := json.Marshal(d); err == nil {
		c.api.SaveCache(documentCache(apiVersion), text)
	}
	return d
}

// documentCache returns the prefix of the cache file of a document.
func documentCache(apiVersion string) string {
	return "openapi-" + strings.ReplaceAll(apiVersion, "/", "_") + "-"
}

// readDocument returns the document in the cache file, or nil if it is not usable.
func (c *Applier) readDocument(apiVersion string) *document {
	var d document
	if json.Unmarshal(c.api.LoadCache(documentCache(apiVersion)), &d) != nil || d.Server != c.api.Server() ||
		d.Document == nil {
		return nil
	}
	return &d
}
