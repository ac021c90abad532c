// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// leavingOnly rejects the deletion of pods that are not terminating with "not found". Kwok
// deletes pods by name, sometimes twice, and the second request could delete a new pod of that
// name. Like a kubelet, it deletes the pod with the UID that it has read, or none.
type leavingOnly struct{ next http.RoundTripper }

func (l leavingOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodDelete || !strings.Contains(req.URL.Path, "/pods/") {
		return l.next.RoundTrip(req)
	}
	look := req.Clone(req.Context())
	look.Method, look.Body, look.ContentLength = http.MethodGet, nil, 0
	look.URL.RawQuery = ""
	look.Header.Set("Accept", "application/json")
	res, err := l.next.RoundTrip(look)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Request = req
		return res, nil
	}
	defer res.Body.Close()
	var pod struct {
		Metadata struct {
			UID               string  `json:"uid"`
			DeletionTimestamp *string `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	if err := json.NewDecoder(res.Body).Decode(&pod); err != nil {
		return nil, err
	}
	if pod.Metadata.DeletionTimestamp != nil {
		res, err := l.next.RoundTrip(last(req, pod.Metadata.UID))
		if err != nil || res.StatusCode != http.StatusConflict {
			return res, err
		}
		res.Body.Close() // it is gone, and another pod has its name
	}
	const gone = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	return &http.Response{
		StatusCode: http.StatusNotFound, Status: "404 Not Found",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    io.NopCloser(strings.NewReader(gone)),
		Request: req,
	}, nil
}

// last returns the final deletion of the pod with the UID, without a grace period.
func last(req *http.Request, uid string) *http.Request {
	body := fmt.Sprintf(`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":%q}}`, uid)
	out := req.Clone(req.Context())
	out.Body, out.ContentLength, out.GetBody = io.NopCloser(strings.NewReader(body)), int64(len(body)), nil
	out.Header.Set("Content-Type", "application/json")
	return out
}
