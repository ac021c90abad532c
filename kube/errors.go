// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An ObjectError is returned when a request about one object fails.
type ObjectError struct {
	// Object is the kind, the name and, if it has one, the namespace.
	Object string
	// Source is the template that the object comes from, or "" if it is not known.
	Source string
	// Line is the line of the template that the error is about, or 0 if it is not known.
	Line int
	// Verb is the failed operation: "create", "update", "delete", "read", "watch".
	Verb string
	Err  error
}

func (e *ObjectError) Error() string {
	from := ""
	switch {
	case e.Source != "" && e.Line > 0:
		from = fmt.Sprintf(" (%s:%d)", e.Source, e.Line)
	case e.Source != "":
		from = " (" + e.Source + ")"
	}
	return fmt.Sprintf("%s %s%s: %s", e.Verb, e.Object, from, e.Err)
}

func (e *ObjectError) Unwrap() error { return e.Err }

// A ForbiddenError is returned when a request is refused because a permission is missing.
type ForbiddenError struct {
	Verb      string // as in a Role: "create", "list", ...
	Resource  string // "deployments.apps"
	Namespace string // "" for a cluster-wide permission
	Err       error  // the server's response
}

func (e *ForbiddenError) Error() string {
	where := "in the whole cluster"
	if e.Namespace != "" {
		where = fmt.Sprintf("in namespace %q", e.Namespace)
	}
	return fmt.Sprintf("the permission to %s %s %s is missing (%s)", e.Verb, e.Resource, where, e.Err)
}

func (e *ForbiddenError) Unwrap() error { return e.Err }

// An UnreachableError is returned when a cluster does not respond.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("Kubernetes cluster unreachable: no answer from %s: %s", e.Server, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// An UnauthorizedError is returned when a cluster does not accept the client's
// credentials.
type UnauthorizedError struct {
	Server string
	Err    error
}

func (e *UnauthorizedError) Error() string {
	return fmt.Sprintf("Kubernetes cluster unreachable: the server has asked for the client to provide credentials: %s "+
		"does not accept your credentials: log in again, or check the user in your kubeconfig (%s)", e.Server, e.Err)
}

func (e *UnauthorizedError) Unwrap() error { return e.Err }

// A NoMatchError is returned for kinds that the cluster does not serve.
type NoMatchError struct {
	// Missing lists the kinds, as "Kind in group/version", without duplicates.
	Missing []string
	// Objects lists the objects of these kinds, and Sources the template of each, "" if it is not
	// known. Sources may be nil.
	Objects, Sources []string
}

func (e *NoMatchError) Error() string {
	kinds := make([]string, len(e.Missing))
	for i, missing := range e.Missing {
		kind, version, _ := strings.Cut(missing, " in ")
		kinds[i] = fmt.Sprintf("no matches for kind %q in version %q", kind, version)
	}
	objects := slices.Clone(e.Objects)
	for i, source := range e.Sources {
		if source != "" && i < len(objects) {
			objects[i] += " (" + source + ")"
		}
	}
	return fmt.Sprintf("unable to build kubernetes objects from release manifest: %s, needed by %s: ensure CRDs are "+
		"installed first, or check the apiVersion",
		strings.Join(kinds, ", "), strings.Join(objects, ", "))
}

// statusError returns the error for a response that is not a success. It closes the body.
func statusError(method, path string, resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	gr, namespace, name := splitPath(path)
	var err error
	if status := readStatus(body); status != nil {
		err = &apierrors.StatusError{ErrStatus: *status}
	} else {
		err = apierrors.NewGenericServerResponse(resp.StatusCode, strings.ToLower(method), gr, name,
			strings.TrimSpace(string(body)), 0, true)
	}
	switch resp.StatusCode {
	case http.StatusForbidden:
		// Quotas, policies and terminating namespaces also cause status 403; only the
		// authorizer's message contains "cannot".
		if strings.Contains(err.Error(), "cannot") {
			return &ForbiddenError{Verb: requestVerb(method, name), Resource: gr.String(), Namespace: namespace, Err: err}
		}
	case http.StatusUnauthorized:
		server := resp.Request.URL
		return &UnauthorizedError{Server: server.Scheme + "://" + server.Host, Err: err}
	}
	return err
}

// readStatus decodes the Status of a failure from JSON or protobuf. It returns nil if body is
// no such Status.
func readStatus(body []byte) *metav1.Status {
	var status metav1.Status
	if packed, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok {
		var envelope runtime.Unknown
		if envelope.Unmarshal(packed) != nil || envelope.Kind != "Status" || status.Unmarshal(envelope.Raw) != nil {
			return nil
		}
	} else if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		return nil
	}
	if status.Status == metav1.StatusSuccess {
		return nil
	}
	return &status
}

func requestVerb(method, name string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodGet:
		if name == "" {
			return "list"
		}
	}
	return strings.ToLower(method)
}

// splitPath parses an API path into its resource, namespace and name.
func splitPath(path string) (gr schema.GroupResource, namespace, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		gr.Group, parts = parts[1], parts[3:]
	default:
		gr.Resource = path
		return gr, "", ""
	}
	if parts[0] == "namespaces" && len(parts) >= 3 {
		namespace, parts = parts[1], parts[2:]
	}
	gr.Resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		gr.Resource += "/" + parts[2]
	}
	return gr, namespace, name
}

// ReadError returns the error for a [Client.Stream] response whose body failed with err: the
// cause of ctx if it was cancelled, else an [*UnreachableError].
func (c *Client) ReadError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	server := "the cluster"
	if conn, cerr := c.connect(); cerr == nil {
		server = conn.base.Redacted()
	}
	// net/http's own text repeats the address and the method.
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) {
		if inner := wrapped.Unwrap(); inner != nil {
			err = inner
		}
	}
	return &UnreachableError{Server: server, Err: err}
}
