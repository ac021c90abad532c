// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/release"
)

// A record that is too large for one Secret is stored in several. The first is the
// record's own Secret with the first part of the data and an annotation that describes the
// other parts. Those have another type and other labels, so that neither Helm nor this
// package lists them as records, and an owner reference to the first, so that the garbage
// collector deletes them with it.
//
// Parts are immutable. Each write has a generation, which is in the names of its parts. It
// creates the new parts, then updates the first Secret, which switches readers to the new
// parts atomically, and then deletes the old parts. A client that dies leaves the old or
// the new record intact, and at worst some unused parts.
const (
	partType        = "helm.sh/release-part.v1"
	partOwner       = "moonhelm"
	labelGeneration = "generation"
	annotationParts = "moonhelm.github.io/parts"
	maxParts        = 64
	maxGeneration   = 64        // characters
	partsAtOnce     = 4         // maximum number of concurrent requests
	leftoverAge     = time.Hour // unused parts that are older are deleted
)

// parts is the content of the annotation. The zero value means that the record is in one
// Secret.
type parts struct {
	Generation string `json:"generation"`
	// Count includes the part in the record's own Secret.
	Count  int    `json:"count"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// A PartError is returned if the parts of a large record are missing or damaged.
type PartError struct {
	Key
	// Object is the missing Secret or ConfigMap. It is "" if all exist but the checksum is
	// wrong.
	Object      string
	Part, Count int
}

func (e *PartError) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("release %s is stored in %d parts, whose checksum is wrong: restore them from a backup, "+
			"or delete this revision", e.Key, e.Count)
	}
	return fmt.Sprintf("release %s is stored in %d parts, and part %d is missing: restore %s in namespace %q from a "+
		"backup, or delete this revision",
		e.Key, e.Count, e.Part, e.Object, e.Namespace)
}

// partName returns the name of the nth part's Secret.
func (p parts) partName(k Key, n int) string {
	return objectName(k) + "." + p.Generation + "." + strconv.Itoa(n)
}

// newParts returns a new generation of parts for data.
func (c *Cluster) newParts(k Key, data []byte) (parts, error) {
	count := (len(data) + c.limit - 1) / c.limit
	if count > maxParts {
		return parts{}, &TooLargeError{Key: k, Size: len(data), Limit: maxParts * c.limit}
	}
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	sum := sha256.Sum256(data)
	return parts{Generation: hex.EncodeToString(id[:]), Count: count, Size: len(data),
		SHA256: hex.EncodeToString(sum[:])}, nil
}

// chunk returns the nth part of data, counting from 1.
func (c *Cluster) chunk(data []byte, n int) []byte {
	return data[(n-1)*c.limit : min(n*c.limit, len(data))]
}

// partsOf decodes the annotation.
func partsOf(k Key, annotations map[string]string) (parts, error) {
	var p parts
	text := annotations[annotationParts]
	if text == "" {
		return p, nil
	}
	err := json.Unmarshal([]byte(text), &p)
	if err != nil || !isHex(p.Generation) || len(p.Generation) > maxGeneration || p.Count < 2 ||
		p.Count > maxParts || p.Size < 0 {
		return parts{}, &UnreadableError{k, fmt.Errorf("its annotation %s is not valid: %.200q", annotationParts, text)}
	}
	return p, nil
}

// createLarge creates a record that is too large for one Secret. The creation of the first
// Secret decides which client gets the revision, so it comes first. Until the parts exist, it
// contains a smaller but valid record.
func (c *Cluster) createLarge(ctx context.Context, r Record) (string, error) {
	p, err := c.newParts(r.Key, r.Data)
	if err != nil {
		return "", err
	}
	small := r
	if small.Data, err = abridge(r, c.limit); err != nil {
		return "", err
	}
	m, err := c.create(ctx, small)
	if err != nil {
		return "", err
	}
	version, err := c.writeLarge(ctx, r, p, m)
	if err != nil {
		// The error means that the revision does not exist, so delete its first Secret.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = c.deleteObject(ctx, r.Namespace, objectName(r.Key), m.UID)
		c.cache.Delete(r.Key)
		return "", fmt.Errorf("create %s: %w", objectName(r.Key), err)
	}
	return version, nil
}

// updateLarge updates a record with data that is too large for one Secret.
func (c *Cluster) updateLarge(ctx context.Context, r Record) (string, error) {
	p, err := c.newParts(r.Key, r.Data)
	if err != nil {
		return "", err
	}
	m, err := c.readMetadata(ctx, r.Key)
	if err != nil {
		return "", err
	}
	if r.Version != "" && r.Version != m.state() {
		return "", m.changedError(r.Key)
	}
	version, err := c.writeLarge(ctx, r, p, m)
	return version, c.wrapError("update the record of release", r.Key, err)
}

// changedError returns the error for a record whose state is m instead of the expected one.
func (m *objectMeta) changedError(k Key) error {
	return &ChangedError{Key: k, Status: release.Status(m.Labels[labelStatus]), Holder: m.Annotations[annotationHolder]}
}

// writeLarge writes the parts of r and then updates the first Secret, whose metadata is m.
func (c *Cluster) writeLarge(ctx context.Context, r Record, p parts, m objectMeta) (string, error) {
	newest, err := c.writeParts(ctx, r, p, m.UID)
	if err != nil {
		c.deleteParts(ctx, r.Key, p)
		return "", err
	}
	old := newAnnotationData(r.Key, m.Annotations).parts
	version, err := c.commitParts(ctx, r, p, m)
	if err == nil {
		c.cache.Store(r.Key, annotationData{p, foreignAnnotations(version.Annotations)})
		c.deleteParts(ctx, r.Key, old)
		c.deleteLeftovers(ctx, r.Key, p, newest)
		return version.state(), nil
	}
	// After other errors the first Secret may have been updated.
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		c.deleteParts(ctx, r.Key, p)
	}
	return "", err
}

// commitParts updates the first Secret, whose metadata is m, to use the parts p.
func (c *Cluster) commitParts(ctx context.Context, r Record, p parts, m objectMeta) (objectMeta, error) {
	r.Data = c.chunk(r.Data, 1)
	body, err := c.encodeObject(r, labelModified, annotationData{p, foreignAnnotations(m.Annotations)}, m.state())
	if err != nil {
		return m, err
	}
	answer, err := c.call(ctx, http.MethodPut, c.path(r.Namespace, objectName(r.Key)), body)
	if apierrors.IsConflict(err) {
		// The update may conflict with its own first attempt, whose response was lost.
		if current, again := c.readMetadata(ctx, r.Key); again == nil {
			if there, bad := partsOf(r.Key, current.Annotations); bad == nil && there.Generation == p.Generation {
				return current, nil
			}
		}
	}
	if err != nil {
		return m, err
	}
	return decodeMetadata(answer)
}

// writeParts creates the parts from the second on. It returns the creation timestamp of the
// last one, which is by the server's clock.
func (c *Cluster) writeParts(ctx context.Context, r Record, p parts, uid string) (time.Time, error) {
	times := make([]time.Time, p.Count+1)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for n := 2; n <= p.Count; n++ {
		group.Go(func() error {
			o := recordObject{
				APIVersion: "v1", Kind: c.kind,
				Metadata: objectMeta{
					Name: p.partName(r.Key, n), Namespace: r.Namespace,
					Labels: map[string]string{
						labelOwner: partOwner, labelName: r.Name, labelRevision: strconv.Itoa(r.Revision), labelGeneration: p.Generation,
					},
					Owners: []ownerReference{{APIVersion: "v1", Kind: c.kind, Name: objectName(r.Key), UID: uid}},
				},
			}
			o.fill(c.chunk(r.Data, n), partType)
			body, err := json.Marshal(o)
			if err != nil {
				return err
			}
			answer, err := c.call(ctx, http.MethodPost, c.path(r.Namespace, ""), body)
			if err != nil {
				return fmt.Errorf("create part %d of %d, %s: %w", n, p.Count, o.Metadata.Name, err)
			}
			m, err := decodeMetadata(answer)
			if err == nil && m.Created != nil {
				times[n] = *m.Created
			}
			return err
		})
	}
	err := group.Wait()
	return times[p.Count], err
}

// readParts returns the data of a record whose first part is first. missing is the error for a
// part that does not exist.
func (c *Cluster) readParts(ctx context.Context, k Key, p parts, first []byte) (data []byte, missing *PartError,
	err error) {
	chunks := make([][]byte, p.Count)
	chunks[0] = first
	gone := make([]bool, p.Count+1)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for n := 2; n <= p.Count; n++ {
		group.Go(func() error {
			name := p.partName(k, n)
			body, err := c.api.Call(ctx, http.MethodGet, c.path(k.Namespace, name), nil, acceptObject(), nil)
			if apierrors.IsNotFound(err) {
				gone[n] = true
				return nil
			}
			if err != nil {
				return fmt.Errorf("read release %s: part %d of %d: %w", k, n, p.Count, err)
			}
			o, err := decodeObject(body, c.kind)
			if err != nil {
				return &UnreadableError{k, fmt.Errorf("%s %s: %w", c.kind, name, err)}
			}
			chunks[n-1] = o.data
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for n := range gone {
		if gone[n] {
			return nil, &PartError{Key: k, Object: c.kind + " " + p.partName(k, n), Part: n, Count: p.Count}, nil
		}
	}
	data = bytes.Join(chunks, nil)
	if sum := sha256.Sum256(data); len(data) != p.Size || hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, nil, &PartError{Key: k, Count: p.Count}
	}
	return data, nil, nil
}

// deleteParts deletes unused parts. It ignores errors, because the cluster deletes parts with the
// record at the latest.
func (c *Cluster) deleteParts(ctx context.Context, k Key, p parts) {
	if p.Count == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(partsAtOnce)
	for n := 2; n <= p.Count; n++ {
		group.Go(func() error {
			_ = c.deleteObject(ctx, k.Namespace, p.partName(k, n), "")
			return nil
		})
	}
	_ = group.Wait() // the functions return nil
}

// deleteLeftovers deletes unused parts that clients have left when they died. Parts younger than
// leftoverAge may belong to a running operation.
func (c *Cluster) deleteLeftovers(ctx context.Context, k Key, keep parts, now time.Time) {
	query := url.Values{
		"labelSelector": {fmt.Sprintf("%s=%s,%s=%s,%s=%d", labelOwner, partOwner, labelName, k.Name, labelRevision,
			k.Revision)},
		"limit": {strconv.Itoa(page)},
	}
	body, err := c.api.Call(ctx, http.MethodGet, c.path(k.Namespace, ""), query, http.Header{"Accept": {acceptList}}, nil)
	var list metadataList
	if err != nil || json.Unmarshal(body, &list) != nil {
		return
	}
	for _, item := range list.Items {
		m := item.Metadata
		old := parts{Generation: m.Labels[labelGeneration]}
		if old.Generation == keep.Generation || m.Created == nil || now.Sub(*m.Created) <= leftoverAge {
			continue
		}
		// Delete only objects with the name of a part of this record.
		for n := 2; n <= maxParts; n++ {
			if m.Name == old.partName(k, n) && isHex(old.Generation) {
				_ = c.deleteObject(ctx, k.Namespace, m.Name, m.UID)
			}
		}
	}
}

// isHex reports whether a generation is a hexadecimal number, which is safe in an API
// path.
func isHex(generation string) bool {
	_, err := hex.DecodeString(generation)
	return err == nil && generation != ""
}

// deleteObject deletes an object. If uid is not empty, it is a precondition.
func (c *Cluster) deleteObject(ctx context.Context, namespace, name, uid string) error {
	var body []byte
	if uid != "" {
		text, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]string{"uid": uid},
		})
		if err != nil {
			return err
		}
		body = text
	}
	_, err := c.call(ctx, http.MethodDelete, c.path(namespace, name), body)
	return err
}

// annotationData is the data in the annotations of a record's Secret: the parts, and the
// annotations of other programs, which an update preserves.
type annotationData struct {
	parts   parts
	foreign map[string]string
}

// newAnnotationData decodes the annotations of a record. It ignores an invalid list of parts,
// because a record can be replaced or deleted without reading them.
func newAnnotationData(k Key, annotations map[string]string) annotationData {
	p, _ := partsOf(k, annotations)
	return annotationData{p, foreignAnnotations(annotations)}
}

// cachedAnnotations returns the cached annotations of a record.
func (c *Cluster) cachedAnnotations(k Key) (annotationData, bool) {
	b, ok := c.cache.Load(k)
	if !ok {
		return annotationData{}, false
	}
	return b.(annotationData), true
}

// currentParts returns the parts of a record, from the cache or the server.
func (c *Cluster) currentParts(ctx context.Context, k Key) (parts, error) {
	if b, ok := c.cachedAnnotations(k); ok {
		return b.parts, nil
	}
	m, err := c.readMetadata(ctx, k)
	return newAnnotationData(k, m.Annotations).parts, err
}

// cacheAnnotations caches the annotations of a listed record.
func (c *Cluster) cacheAnnotations(k Key, m *objectMeta) {
	if p, err := partsOf(k, m.Annotations); err == nil {
		c.cache.Store(k, annotationData{p, foreignAnnotations(m.Annotations)})
	}
}

// decodeMetadata decodes the metadata in a response.
func decodeMetadata(body []byte) (objectMeta, error) {
	var o struct {
		Metadata objectMeta `json:"metadata"`
	}
	err := json.Unmarshal(body, &o)
	return o.Metadata, err
}
