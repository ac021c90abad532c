// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/moonhelm/moonhelm/internal/apiserver"
)

// cluster is a client of the API server.
type cluster struct{ *apiserver.Client }

// connect returns a client for a kubeconfig of bin/cluster.
func connect(path string) (*cluster, error) {
	client, err := apiserver.Open(path)
	return &cluster{client}, err
}

func (c *cluster) call(method, path string, body []byte) ([]byte, error) {
	text, status, err := c.Call(context.Background(), method, path, "", string(body))
	if err == nil && status >= 300 {
		err = fmt.Errorf("%s %s: %d %.300s", method, path, status, text)
	}
	return text, err
}

// secret is a release record.
type secret struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Type       string            `json:"type"`
	Metadata   secretMeta        `json:"metadata"`
	Data       map[string][]byte `json:"data"`
}

type secretMeta struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// summary is Moonhelm's annotation with which lists need not read the record.
const summary = "moonhelm.github.io/summary"

// multiply replaces the release of a namespace with many releases of many revisions.
func (c *cluster) multiply(namespace, release string, releases, revisions int) error {
	path := "/api/v1/namespaces/" + namespace + "/secrets"
	one := path + "/sh.helm.release.v1." + release + ".v1"
	text, err := c.call(http.MethodGet, one, nil)
	if err != nil {
		return err
	}
	var s secret
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("read the record of release %s: %w", release, err)
	}
	heads, tail, err := splitRecord(s.Data["release"])
	if err != nil {
		return fmt.Errorf("read the record of release %s: %w", release, err)
	}
	labels, annotation := s.Metadata.Labels, s.Metadata.Annotations[summary]
	errs := make(chan error)
	work := make(chan [2]int)
	for range 4 {
		go func() {
			var failed error
			for w := range work {
				name, revision, status := fmt.Sprintf("rel%04d", w[0]), w[1], "superseded"
				if revision == revisions {
					status = "deployed"
				}
				s := secret{APIVersion: "v1", Kind: "Secret", Type: s.Type}
				s.Metadata = secretMeta{Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision),
					Namespace: namespace, Labels: map[string]string{}}
				for k, v := range labels {
					s.Metadata.Labels[k] = v
				}
				s.Metadata.Labels["name"], s.Metadata.Labels["version"], s.Metadata.Labels["status"] = name,
					fmt.Sprint(revision), status
				if annotation != "" {
					s.Metadata.Annotations = map[string]string{summary: strings.Replace(annotation, `"deployed"`, `"`+status+`"`, 1)}
				}
				s.Data = map[string][]byte{"release": joinRecord(heads, tail, name, namespace, status, revision)}
				body, err := json.Marshal(s)
				if err == nil {
					_, err = c.call(http.MethodPost, path, body)
				}
				failed = errors.Join(failed, err)
			}
			errs <- failed
		}()
	}
	for i := range releases {
		for r := range revisions {
			work <- [2]int{i, r + 1}
		}
	}
	close(work)
	for range 4 {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	_, err = c.call(http.MethodDelete, one, nil)
	return err
}

// splitRecord splits a record into the info, which differs between copies, and the rest without its
// opening brace, compressed.
func splitRecord(data []byte) (info map[string]any, rest []byte, err error) {
	packed, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return nil, nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, nil, err
	}
	var all map[string]json.RawMessage
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(all["info"], &info); err != nil {
		return nil, nil, err
	}
	for _, key := range []string{"info", "name", "namespace", "version"} {
		delete(all, key)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, nil, err
	}
	return info, compress(text[1:]), nil
}

// joinRecord assembles a record. Gzip members may be concatenated, so the rest need not be compressed for
// every copy.
func joinRecord(info map[string]any, rest []byte, name, namespace, status string, revision int) []byte {
	copied := make(map[string]any, len(info))
	for k, v := range info {
		copied[k] = v
	}
	copied["status"] = status
	head, _ := json.Marshal(map[string]any{"name": name, "namespace": namespace, "version": revision,
		"info": copied}) // unmarshalled from JSON
	head[len(head)-1] = ','
	return []byte(base64.StdEncoding.EncodeToString(append(compress(head), rest...)))
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // writing to memory does not fail
	_ = z.Close()
	return b.Bytes()
}
