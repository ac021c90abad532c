// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/release"
)

// API is the part of a Kubernetes API client that the cluster drivers and package lock use.
// Call makes a request and returns the body of the response. Its errors are those of
// apimachinery's api/errors. *kube.Client implements it.
type API interface {
	Call(ctx context.Context, method, path string, query url.Values, header http.Header, body []byte) ([]byte, error)
}

// The format of records in a cluster, which is Helm's.
const (
	secretType = "helm.sh/release.v1"
	owner      = "helm"
	dataKey    = "release"

	labelName     = "name"
	labelOwner    = "owner"
	labelStatus   = "status"
	labelRevision = "version"
	labelCreated  = "createdAt"
	labelModified = "modifiedAt"

	// objectLimit is the API server's limit for the data of a Secret or ConfigMap. A
	// larger record is split into parts.
	objectLimit = 1 << 20
	// page is the page size of lists.
	page = 500
)

// Cluster stores records in a cluster, each in a Secret or ConfigMap, or in several if it is
// too large for one. Use [Secrets] or [ConfigMaps] to create one.
type Cluster struct {
	api       API
	namespace string
	resource  string // "secrets" or "configmaps"
	kind      string
	limit     int // maximum size of data in one object
	now       func() time.Time
	noPatch   atomic.Bool // the user lacks the permission to patch
	cache     sync.Map    // Key → annotationData, of records that were read or written
}

// Secrets returns Helm's default driver. With namespace "" it can list all namespaces and
// handle records whose keys have a namespace.
func Secrets(api API, namespace string) *Cluster {
	return &Cluster{api: api, namespace: namespace, resource: "secrets", kind: "Secret", limit: objectLimit, now: time.Now}
}

// ConfigMaps returns the driver of HELM_DRIVER=configmap.
func ConfigMaps(api API, namespace string) *Cluster {
	return &Cluster{api: api, namespace: namespace, resource: "configmaps", kind: "ConfigMap", limit: objectLimit,
		now: time.Now}
}

// checkKey returns an error if the key would change the API path of a request.
func checkKey(k Key) error {
	if k.Name == "" || k.Namespace == "" || strings.ContainsAny(k.Name+k.Namespace, "/%") || k.Namespace == "." ||
		k.Namespace == ".." {
		return fmt.Errorf("release %q in namespace %q: invalid name or namespace", k.Name, k.Namespace)
	}
	return nil
}

// recordPrefix begins the names of records, before the number of their format.
const recordPrefix = "sh.helm.release.v"

// RecordOf reports whether the name and labels of an object are those of a release's record, in
// this format or another, or of a part of one, and returns the release.
func RecordOf(name string, labels map[string]string) (release string, ok bool) {
	by := labels[labelOwner]
	return labels[labelName], strings.HasPrefix(name, recordPrefix) && (by == owner || by == partOwner)
}

// objectName returns the name of a record's Secret.
func objectName(k Key) string {
	return recordPrefix + "1." + k.Name + ".v" + strconv.Itoa(k.Revision)
}

// formatPrefix is the prefix of all formats, which are the types of Secrets.
const formatPrefix = "helm.sh/release."

// formatOf returns the format for the type of a record's Secret, or "" for the supported one. A
// Secret with another type was restored by a program that does not preserve types, and counts
// as supported.
func formatOf(recordType string) string {
	if recordType == secretType || !strings.HasPrefix(recordType, formatPrefix) {
		return ""
	}
	return recordType
}

// formatOfName reports whether name is the name of a record of k, and returns its format:
// sh.helm.release.v2.web.v3 has another format than sh.helm.release.v1.web.v3.
func (k Key) formatOfName(name string) (format string, ok bool) {
	if name == objectName(k) {
		return "", true
	}
	number, ok := strings.CutPrefix(name, recordPrefix)
	if ok {
		number, ok = strings.CutSuffix(number, "."+k.Name+".v"+strconv.Itoa(k.Revision))
	}
	if _, err := strconv.ParseUint(number, 10, 31); !ok || err != nil {
		return "", false
	}
	return formatPrefix + "v" + number, true
}

func (c *Cluster) path(namespace, name string) string {
	p := "/api/v1/"
	if namespace != "" {
		p += "namespaces/" + namespace + "/"
	}
	p += c.resource
	if name != "" {
		p += "/" + name
	}
	return p
}

// Accept headers for objects and lists without data.
const (
	acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptList     = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

type recordObject struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   objectMeta     `json:"metadata"`
	Data       map[string]any `json:"data"`
	Type       string         `json:"type,omitempty"`
}

type objectMeta struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid,omitempty"`
	Version     string            `json:"resourceVersion,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Owners      []ownerReference  `json:"ownerReferences,omitempty"`
	Created     *time.Time        `json:"creationTimestamp,omitempty"`
}

type ownerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// fill sets the data, and the type of a Secret.
func (o *recordObject) fill(data []byte, secretType string) {
	if o.Kind == "Secret" {
		o.Type = secretType
		o.Data = map[string]any{dataKey: data} // encoded as base64
		return
	}
	o.Data = map[string]any{dataKey: string(data)}
}

// state returns the Version of a record: the resource version and the UID.
func (m *objectMeta) state() string { return m.Version + "/" + m.UID }

// encodeObject returns the JSON of a record's Secret with the annotations in b. If version is not
// empty, it is a precondition for an update.
func (c *Cluster) encodeObject(r Record, stamp string, b annotationData, version string) ([]byte, error) {
	version, uid, _ := strings.Cut(version, "/")
	labels := make(map[string]string, len(r.Labels)+5)
	for k, v := range r.Labels {
		labels[k] = v
	}
	labels[labelName] = r.Name
	labels[labelOwner] = owner
	labels[labelStatus] = string(r.Status)
	labels[labelRevision] = strconv.Itoa(r.Revision)
	now := c.now()
	labels[stamp] = strconv.FormatInt(now.Unix(), 10)
	o := recordObject{
		APIVersion: "v1",
		Kind:       c.kind,
		Metadata: objectMeta{
			Name: objectName(r.Key), Namespace: r.Namespace, Version: version, UID: uid,
			Labels: labels, Annotations: annotations(r, b, now),
		},
	}
	o.fill(r.Data, secretType)
	return json.Marshal(o)
}

// In implements [Driver].
func (c *Cluster) In(namespace string) Driver {
	return &Cluster{api: c.api, namespace: namespace, resource: c.resource, kind: c.kind, limit: c.limit, now: c.now}
}

// Resource implements [Driver].
func (c *Cluster) Resource() string { return c.resource }

// Create implements [Driver].
func (c *Cluster) Create(ctx context.Context, r Record) (string, error) {
	if err := checkKey(r.Key); err != nil {
		return "", err
	}
	if len(r.Data) > c.limit {
		return c.createLarge(ctx, r)
	}
	m, err := c.create(ctx, r)
	return m.state(), err
}

// create creates a record that fits in one Secret.
func (c *Cluster) create(ctx context.Context, r Record) (objectMeta, error) {
	body, err := c.encodeObject(r, labelCreated, annotationData{}, "")
	if err != nil {
		return objectMeta{}, err
	}
	response, err := c.call(ctx, http.MethodPost, c.path(r.Namespace, ""), body)
	if apierrors.IsAlreadyExists(err) {
		return objectMeta{}, &ExistsError{r.Key}
	}
	var m objectMeta
	if err == nil {
		m, err = decodeMetadata(response)
	}
	if err != nil {
		return m, fmt.Errorf("create %s: %w", objectName(r.Key), err)
	}
	c.cache.Store(r.Key, newAnnotationData(r.Key, m.Annotations))
	return m, nil
}

// Update implements [Driver].
func (c *Cluster) Update(ctx context.Context, r Record) (string, error) {
	if err := checkKey(r.Key); err != nil {
		return "", err
	}
	if len(r.Data) > c.limit {
		return c.updateLarge(ctx, r)
	}
	old, known := c.cachedAnnotations(r.Key)
	if r.Version == "" || !known {
		m, err := c.readMetadata(ctx, r.Key)
		if err != nil {
			return "", err
		}
		if r.Version == "" {
			r.Version = m.state()
		}
		old = newAnnotationData(r.Key, m.Annotations)
	}
	body, err := c.encodeObject(r, labelModified, annotationData{foreign: old.foreign}, r.Version)
	if err != nil {
		return "", err
	}
	response, err := c.call(ctx, http.MethodPut, c.path(r.Namespace, objectName(r.Key)), body)
	if err = c.wrapError("update the record of release", r.Key, err); err != nil {
		return "", err
	}
	m, err := decodeMetadata(response)
	if err != nil {
		return "", fmt.Errorf("update the record of release %s: %w", r.Key, err)
	}
	c.cache.Store(r.Key, newAnnotationData(r.Key, m.Annotations))
	c.deleteParts(ctx, r.Key, old.parts)
	return m.state(), nil
}

// Read implements [Driver].
func (c *Cluster) Read(ctx context.Context, k Key, version string) (Record, error) {
	if err := checkKey(k); err != nil {
		return Record{}, err
	}
	o, p, err := c.readFirst(ctx, k, version)
	if err != nil {
		return Record{}, err
	}
	for p.Count > 0 {
		data, missing, err := c.readParts(ctx, k, p, o.data)
		if err != nil {
			return Record{}, err
		}
		if missing == nil {
			o.data = data
			break
		}
		// Another client may have replaced the record between the requests.
		seen := p.Generation
		if o, p, err = c.readFirst(ctx, k, ""); err != nil {
			return Record{}, err
		}
		if p.Generation == seen {
			return Record{}, missing
		}
	}
	c.cache.Store(k, annotationData{p, foreignAnnotations(o.annotations)})
	return Record{
		Key: k, Status: release.Status(o.labels[labelStatus]), Labels: userLabels(o.labels),
		Holder: o.annotations[annotationHolder], Data: o.data, Format: formatOf(o.secretType), Version: o.version + "/" +
			o.uid,
	}, nil
}

// acceptObject returns the headers for reading an object with its data.
func acceptObject() http.Header {
	return http.Header{
		"Accept": {"application/vnd.kubernetes.protobuf, application/json"},
		// The record is already compressed.
		"Accept-Encoding": {"identity"},
	}
}

// readFirst reads a record's own Secret and its list of parts.
func (c *Cluster) readFirst(ctx context.Context, k Key, version string) (decodedObject, parts, error) {
	var query url.Values
	version, _, _ = strings.Cut(version, "/")
	if version != "" {
		// The server responds from its watch cache once that has this version.
		query = url.Values{"resourceVersion": {version}}
	}
	body, err := c.api.Call(ctx, http.MethodGet, c.path(k.Namespace, objectName(k)), query, acceptObject(), nil)
	if err = c.wrapError("read release", k, err); err != nil {
		return decodedObject{}, parts{}, err
	}
	o, err := decodeObject(body, c.kind)
	if err != nil {
		return o, parts{}, &UnreadableError{k, fmt.Errorf("%s %s: %w", c.kind, objectName(k), err)}
	}
	p, err := partsOf(k, o.annotations)
	return o, p, err
}

// Delete implements [Driver].
func (c *Cluster) Delete(ctx context.Context, k Key, version string) error {
	if err := checkKey(k); err != nil {
		return err
	}
	old, err := c.currentParts(ctx, k)
	if err != nil {
		return err
	}
	_, uid, _ := strings.Cut(version, "/")
	err = c.deleteObject(ctx, k.Namespace, objectName(k), uid)
	if uid != "" && apierrors.IsConflict(err) {
		return &NotFoundError{k} // it was deleted and created again
	}
	if err = c.wrapError("delete the record of release", k, err); err != nil {
		return err
	}
	c.cache.Delete(k)
	c.deleteParts(ctx, k, old)
	return nil
}

// List implements [Driver]. It requests only metadata, in pages.
func (c *Cluster) List(ctx context.Context, q Query) ([]Record, error) {
	selector := labelOwner + "=" + owner
	if q.Name != "" {
		if strings.ContainsAny(q.Name, ",=!() ") {
			return nil, nil // not a valid label value
		}
		selector += "," + labelName + "=" + q.Name
	}
	if q.Status != "" {
		selector += "," + labelStatus + "=" + string(q.Status)
	}
	query := url.Values{"labelSelector": {selector}, "limit": {strconv.Itoa(page)}}
	header := http.Header{"Accept": {acceptList}}
	var out []Record
	for restarts := 0; ; {
		body, err := c.api.Call(ctx, http.MethodGet, c.path(c.namespace, ""), query, header, nil)
		if apierrors.IsResourceExpired(err) && restarts < 3 {
			// The continue token has expired: start again.
			query.Del("continue")
			out, restarts = nil, restarts+1
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list releases: %w", err)
		}
		var list metadataList
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, fmt.Errorf("list releases: %w", err)
		}
		for i := range list.Items {
			m := &list.Items[i].Metadata
			if r, ok := m.record(); ok && c.isRequested(q, r.Key) {
				if q.Name != "" && r.Format == "" {
					c.cacheAnnotations(r.Key, m)
				}
				out = append(out, r)
			}
		}
		if list.Metadata.Continue == "" {
			return out, nil
		}
		query.Set("continue", list.Metadata.Continue)
	}
}

// isRequested reports whether a record in a response matches the query and has a valid key: the
// record will be read and changed by that key.
func (c *Cluster) isRequested(q Query, k Key) bool {
	return (c.namespace == "" || k.Namespace == c.namespace) && (q.Name == "" || k.Name == q.Name) && checkKey(k) == nil
}

func (c *Cluster) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	header := http.Header{
		"Accept": {acceptMetadata},
	}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	return c.api.Call(ctx, method, path, nil, header, body)
}

func (c *Cluster) wrapError(doing string, k Key, err error) error {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && errors.As(err, &status):
		return &NotFoundError{k}
	case apierrors.IsConflict(err):
		return &ChangedError{Key: k}
	}
	return fmt.Errorf("%s %s: %w", doing, k, err)
}
