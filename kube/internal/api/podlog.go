// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Pods lists pods in the order of their creation.
func (c Client) Pods(ctx context.Context, namespace string, query url.Values) ([]*Pod, error) {
	body, err := c.Call(ctx, http.MethodGet, PodCollection(namespace).Resource.Path(namespace, ""), query, nil, nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []*Pod `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	// The names become elements of paths.
	list.Items = slices.DeleteFunc(list.Items, func(p *Pod) bool { return p == nil || !PlainName(p.Metadata.Name) })
	slices.SortStableFunc(list.Items, func(a, b *Pod) int {
		return cmp.Or(cmp.Compare(a.Metadata.Created, b.Metadata.Created), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	return list.Items, nil
}

// PodLog returns the last bytes of a container's log. It reads the whole log, because the API
// can limit a log in bytes only from the beginning.
func (c Client) PodLog(ctx context.Context, namespace, pod string, query url.Values, most int) (text string,
	truncated bool, err error) {
	path := PodCollection(namespace).Resource.Path(namespace, pod) + "/log"
	resp, err := c.Stream(ctx, http.MethodGet, path, query, http.Header{"Accept": {"text/plain, */*"}}, nil)
	if err != nil {
		return "", false, unwrapStatus(err)
	}
	defer resp.Body.Close()
	if text, truncated, err = tail(resp.Body, most); err != nil {
		return "", false, c.ReadError(ctx, err)
	}
	return text, truncated, nil
}

// unwrapStatus returns only the message of a Bad Request, which is the kubelet's.
func unwrapStatus(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" && status.Status().Code == http.StatusBadRequest {
		return errors.New(status.Status().Message)
	}
	return err
}

// tail reads all of r and returns its last most bytes, from the beginning of a line if
// possible.
func tail(r io.Reader, most int) (string, bool, error) {
	buf := make([]byte, 0, 4<<10)
	chunk := make([]byte, 32<<10)
	truncated := false
	for {
		n, err := r.Read(chunk)
		buf = append(buf, chunk[:n]...)
		if len(buf) > 2*most {
			buf, truncated = append(buf[:0], buf[len(buf)-most:]...), true
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", false, err
		}
	}
	if len(buf) > most {
		buf, truncated = buf[len(buf)-most:], true
	}
	text := string(buf)
	if truncated {
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD"), truncated, nil
}

// PlainName reports whether a name from a response is a single path element.
func PlainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}
