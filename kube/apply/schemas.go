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

// schemas are the documents about kinds that were read in this run.
type schemas struct {
	mu        sync.Mutex
	documents map[string]*document // by apiVersion
	readings  map[string]*reading  // by apiVersion, those in progress
}

// reading is the work of getting a document. It takes megabytes: operations that want
// the same document at the same time wait for the first.
type reading struct {
	done   chan struct{}
	ended  bool      // by its context; another has to try
	result *document // nil where it cannot be had
}

// get returns the document of this run that is at that address, or calls read, once at a
// time.
func (s *schemas) get(ctx context.Context, apiVersion, at string, read func() *document) *document {
	for {
		s.mu.Lock()
		if have := s.documents[apiVersion]; have != nil && have.At == at {
			s.mu.Unlock()
			return have
		}
		r := s.readings[apiVersion]
		if r == nil {
			r = &reading{done: make(chan struct{})}
			if s.readings == nil {
				s.readings, s.documents = map[string]*reading{}, map[string]*document{}
			}
			s.readings[apiVersion] = r
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

// finish keeps what a reading came to.
func (s *schemas) finish(ctx context.Context, apiVersion string, r *reading, d *document) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d != nil {
		s.documents[apiVersion] = d
	}
	delete(s.readings, apiVersion)
	r.result, r.ended = d, d == nil && ctx.Err() != nil
	close(r.done)
	return d
}

// document is one group and version's, in the form that the cached file has.
type document struct {
	Server string `json:"server"`
	// Data is where the server has it. The address changes with the text.
	At       string            `json:"at"`
	Document *openapi.Document `json:"document"`
}

// documents returns what the server publishes about kinds, by apiVersion. One
// that cannot be had is left out: it is a help, and never a reason to fail.
func (c *Applier) documents(ctx context.Context, apiVersions []string) map[string]*openapi.Document {
	out := map[string]*openapi.Document{}
	index := c.documentIndex(ctx)
	if len(index) == 0 {
		return out
	}
	var mu sync.Mutex
	_ = api.Together(ctx, apiVersions, func(ctx context.Context, apiVersion string) error {
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

// documentName is what the index calls a group and version.
func documentName(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "apis/" + apiVersion
	}
	return "api/" + apiVersion
}

// documentIndex is where the server has each document.
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

// document is the one at that address: of this run, of the disk, or the
// server's. It returns nil where none of them has it.
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

// documentCache is how the name of a document's cache begins.
func documentCache(apiVersion string) string {
	return "openapi-" + strings.ReplaceAll(apiVersion, "/", "_") + "-"
}

// readDocument returns nil where the disk has none that can be used.
func (c *Applier) readDocument(apiVersion string) *document {
	var d document
	if json.Unmarshal(c.api.LoadCache(documentCache(apiVersion)), &d) != nil || d.Server != c.api.Server() ||
		d.Document == nil {
		return nil
	}
	return &d
}
