// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The format of leases.
const (
	leasePrefix = "moonhelm.v1."
	labelOwner  = "owner"
	labelName   = "name"
	owner       = "moonhelm"
	// annotation contains the result of [Lock.Holder].
	annotation = "moonhelm.github.io/holder"
	// microTime is the format of the API's MicroTime.
	microTime = "2006-01-02T15:04:05.000000Z07:00"
)

// lease is the part of a coordination.k8s.io/v1 Lease that locks use.
type lease struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   leaseMeta `json:"metadata"`
	Spec       leaseSpec `json:"spec"`
}

type leaseMeta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

type leaseSpec struct {
	HolderIdentity       string `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds int    `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          string `json:"acquireTime,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
	LeaseTransitions     int    `json:"leaseTransitions,omitempty"`
}

func newLease(namespace, release string, h Holder) *lease {
	now := time.Now().UTC().Format(microTime)
	return &lease{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease",
		Metadata: leaseMeta{
			Name: leasePrefix + release, Namespace: namespace,
			Labels:      map[string]string{labelOwner: owner, labelName: release},
			Annotations: map[string]string{annotation: h.String()},
		},
		Spec: leaseSpec{
			HolderIdentity: h.identity(), LeaseDurationSeconds: int(leaseDuration / time.Second),
			AcquireTime: now, RenewTime: now,
		},
	}
}

func (l *lease) state() state { return state{l.Metadata.UID, l.Metadata.ResourceVersion} }

// duration returns how long the lease is valid without being renewed.
func (l *lease) duration() time.Duration {
	if l.Spec.LeaseDurationSeconds <= 0 {
		return leaseDuration
	}
	return time.Duration(min(l.Spec.LeaseDurationSeconds, int(maxLeaseDuration/time.Second))) * time.Second
}

// holder returns the holder of the lease. known is false if the lease contains only an
// identity.
func (l *lease) holder() (h Holder, known bool) {
	if h, known = ParseHolder(l.Metadata.Annotations[annotation]); known {
		return h, true
	}
	h.Who = l.Spec.HolderIdentity
	h.Since, _ = time.Parse(time.RFC3339Nano, l.Spec.AcquireTime)
	return h, false
}

// collection returns the API path of the namespace's leases.
func (l *Locker) collection() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + l.namespace + "/leases"
}

// LeaseOf reports whether the name and labels of an object are those of the lease that locks a
// release, and returns the release.
func LeaseOf(name string, labels map[string]string) (release string, ok bool) {
	return labels[labelName], strings.HasPrefix(name, leasePrefix) && labels[labelOwner] == owner
}

// path returns the API path of a release's lease. It never contains a name from a response.
func (l *Locker) path(release string) string { return l.collection() + "/" + leasePrefix + release }

func (l *Locker) post(ctx context.Context, release string, next *lease) (*lease, error) {
	return l.write(ctx, http.MethodPost, l.collection(), release, next)
}

// put updates a release's lease. It returns a conflict error if the lease is no longer in the
// state from which next was made.
func (l *Locker) put(ctx context.Context, release string, next *lease) (*lease, error) {
	return l.write(ctx, http.MethodPut, l.path(release), release, next)
}

func (l *Locker) write(ctx context.Context, method, path, release string, next *lease) (*lease, error) {
	body, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	response, err := l.api.Call(ctx, method, path, nil, http.Header{"Content-Type": {"application/json"}}, body)
	return l.decode(release, response, err)
}

func (l *Locker) read(ctx context.Context, release string) (*lease, error) {
	response, err := l.api.Call(ctx, http.MethodGet, l.path(release), nil, nil, nil)
	return l.decode(release, response, err)
}

// remove deletes a release's lease if it is still in the state old.
func (l *Locker) remove(ctx context.Context, release string, old *lease) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions",
		"preconditions": map[string]string{"uid": old.Metadata.UID, "resourceVersion": old.Metadata.ResourceVersion},
	})
	if err != nil {
		return err
	}
	_, err = l.api.Call(ctx, http.MethodDelete, l.path(release), nil, http.Header{"Content-Type": {"application/json"}},
		body)
	return err
}

// decode decodes the lease of a release. It sets the name to the requested one, whatever the
// response contains.
func (l *Locker) decode(release string, body []byte, err error) (*lease, error) {
	if err != nil {
		return nil, err
	}
	var got lease
	if err := json.Unmarshal(body, &got); err != nil {
		return nil, fmt.Errorf("read a lease: %w", err)
	}
	got.Metadata.Name, got.Metadata.Namespace = leasePrefix+release, l.namespace
	return &got, nil
}

// deleting reports whether the object in a response is being deleted.
func deleting(body []byte) bool {
	var o struct {
		Metadata struct {
			Deletion string `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	return json.Unmarshal(body, &o) == nil && o.Metadata.Deletion != ""
}

// unavailable reports whether err means that there can be no lease: no permission, no such API,
// no such namespace, or an admission policy that rejects it.
func unavailable(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)
}
