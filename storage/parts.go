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

// A record that one Secret cannot hold is kept in several. The first is like
// any record's, with the first part of the data, and an annotation says which
// further parts there are. Those are Secrets of a type and with labels of their
// own, so that neither Helm nor our lists take them for records, and they are
// owned by the first, so that the cluster removes them with it.
//
// Parts are never changed. Each writing has a generation, whose name is in its
// parts' names: new parts come first, then the first Secret is replaced, which
// switches readers from the old parts to the new ones at once, and then the old
// ones go. A writer that dies leaves the old record or the new one, and at worst
// parts that no one points to.
const (
	partType        = "helm.sh/release-part.v1"
	partOwner       = "moonhelm"
	labelGeneration = "generation"
	annotationParts = "moonhelm.github.io/parts"
	maxParts        = 64
	maxGeneration   = 64 // letters
	partsAtOnce     = 4
	leftoverAge     = time.Hour // older parts that no record points to are left over
)

// parts is the annotation's text. The zero value stands for a record in one
// piece.
type parts struct {
	Generation string `json:"generation"`
	// Count includes the part in the record's own Secret.
	Count  int    `json:"count"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
}

// A PartError is returned for a large record, kept in several objects, that cannot be
// read whole.
type PartError struct {
	Key
	// Object is the Secret or ConfigMap that is missing, "" where all are there
	// and do not make the record that was written.
	Object      string
	Part, Count int
}

func (e *PartError) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("release %s is kept in %d parts, and they are not what was written: restore them from a backup, "+
			"or delete this revision", e.Key, e.Count)
	}
	return fmt.Sprintf("release %s is kept in %d parts, and part %d is missing: restore %s in namespace %q from a "+
		"backup, or delete this revision",
		e.Key, e.Count, e.Part, e.Object, e.Namespace)
}

// partName is the name of the nth part's Secret.
func (p parts) partName(k Key, n int) string {
	return objectName(k) + "." + p.Generation + "." + strconv.Itoa(n)
}

// split describes data as parts, of a new generation.
func (c *Cluster) split(k Key, data []byte) (parts, error) {
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

// chunk is the nth part of data, counted from 1.
func (c *Cluster) chunk(data []byte, n int) []byte {
	return data[(n-1)*c.limit : min(n*c.limit, len(data))]
}

// partsOf reads the annotation.
func partsOf(k Key, annotations map[string]string) (parts, error) {
	var p parts
	text := annotations[annotationParts]
	if text == "" {
		return p, nil
	}
	err := json.Unmarshal([]byte(text), &p)
	if err != nil || !hexadecimal(p.Generation) || len(p.Generation) > maxGeneration || p.Count < 2 ||
		p.Count > maxParts || p.Size < 0 {
		return parts{}, &UnreadableError{k, fmt.Errorf("its annotation %s is not valid: %.200q", annotationParts, text)}
	}
	return p, nil
}

// createLarge creates a record that one Secret cannot hold. What decides who
// gets the revision is, as ever, who creates the first Secret, so that comes
// before the parts; it holds a smaller record, valid in itself, until the parts
// are there.
func (c *Cluster) createLarge(ctx context.Context, r Record) (string, error) {
	p, err := c.split(r.Key, r.Data)
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
		// The caller is told that there is no such revision: so be it. Whoever
		// is killed before this leaves the smaller record.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = c.deleteObject(ctx, r.Namespace, objectName(r.Key), m.UID)
		c.known.Delete(r.Key)
		return "", fmt.Errorf("create %s: %w", objectName(r.Key), err)
	}
	return version, nil
}

// updateLarge replaces a record by one that one Secret cannot hold.
func (c *Cluster) updateLarge(ctx context.Context, r Record) (string, error) {
	p, err := c.split(r.Key, r.Data)
	if err != nil {
		return "", err
	}
	m, err := c.metadata(ctx, r.Key)
	if err != nil {
		return "", err
	}
	if r.Version != "" && r.Version != m.state() {
		return "", m.changed(r.Key)
	}
	version, err := c.writeLarge(ctx, r, p, m)
	return version, c.found("update the record of release", r.Key, err)
}

// changed is the error of a record that is as m says, and not as expected.
func (m *objectMeta) changed(k Key) error {
	return &ChangedError{Key: k, Status: release.Status(m.Labels[labelStatus]), Holder: m.Annotations[annotationHolder]}
}

// writeLarge writes the parts of r and switches the first Secret, which is as m
// says, over to them.
func (c *Cluster) writeLarge(ctx context.Context, r Record, p parts, m objectMeta) (string, error) {
	newest, err := c.writeParts(ctx, r, p, m.UID)
	if err != nil {
		c.dropParts(ctx, r.Key, p)
		return "", err
	}
	old := besideOf(r.Key, m.Annotations).parts
	now, err := c.switchTo(ctx, r, p, m)
	if err == nil {
		c.known.Store(r.Key, beside{p, foreignAnnotations(now.Annotations)})
		c.dropParts(ctx, r.Key, old)
		c.sweep(ctx, r.Key, p, newest)
		return now.state(), nil
	}
	// Where the answer was lost the first Secret may point to the new parts.
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		c.dropParts(ctx, r.Key, p)
	}
	return "", err
}

// switchTo replaces the first Secret, which is as m says, by one that points to
// the parts p.
func (c *Cluster) switchTo(ctx context.Context, r Record, p parts, m objectMeta) (objectMeta, error) {
	r.Data = c.chunk(r.Data, 1)
	body, err := c.body(r, labelModified, beside{p, foreignAnnotations(m.Annotations)}, m.state())
	if err != nil {
		return m, err
	}
	answer, err := c.call(ctx, http.MethodPut, c.path(r.Namespace, objectName(r.Key)), body)
	if apierrors.IsConflict(err) {
		// Where an answer was lost it conflicts with itself.
		if now, again := c.metadata(ctx, r.Key); again == nil {
			if there, bad := partsOf(r.Key, now.Annotations); bad == nil && there.Generation == p.Generation {
				return now, nil
			}
		}
	}
	if err != nil {
		return m, err
	}
	return decodeMetadata(answer)
}

// writeParts creates the parts from the second on, and returns when, by the
// server's clock.
func (c *Cluster) writeParts(ctx context.Context, r Record, p parts, uid string) (time.Time, error) {
	times := make([]time.Time, p.Count+1)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for n := 2; n <= p.Count; n++ {
		group.Go(func() error {
			o := object{
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

// readParts returns the whole data of a record whose first Secret is o.
// missing is the error of a part that is not there.
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
			body, err := c.api.Call(ctx, http.MethodGet, c.path(k.Namespace, name), nil, acceptWhole(), nil)
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

// dropParts deletes parts that no one points to any more. It is a courtesy: the
// cluster removes them with the record at the latest.
func (c *Cluster) dropParts(ctx context.Context, k Key, p parts) {
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
	_ = group.Wait() // nothing fails
}

// sweep deletes what writers that died left behind. What is younger than
// leftoverAge may be a living writer's.
func (c *Cluster) sweep(ctx context.Context, k Key, keep parts, now time.Time) {
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
		// What is deleted is a part of this record, whatever the answer calls it.
		for n := 2; n <= maxParts; n++ {
			if m.Name == old.partName(k, n) && hexadecimal(old.Generation) {
				_ = c.deleteObject(ctx, k.Namespace, m.Name, m.UID)
			}
		}
	}
}

// hexadecimal reports whether a generation is one: its letters lead nowhere else
// in a path.
func hexadecimal(generation string) bool {
	_, err := hex.DecodeString(generation)
	return err == nil && generation != ""
}

// deleteObject deletes an object, with a uid only that one.
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

// beside is what is next to a record's text on its Secret: in which parts the text
// is, and the annotations of others, which an update keeps.
type beside struct {
	parts   parts
	foreign map[string]string
}

// besideOf reads the annotations of a record. Parts that cannot be read are none: a
// client that replaces or deletes the record need not read it.
func besideOf(k Key, annotations map[string]string) beside {
	p, _ := partsOf(k, annotations)
	return beside{p, foreignAnnotations(annotations)}
}

// knownBeside returns what this process has seen last of a record.
func (c *Cluster) knownBeside(k Key) (beside, bool) {
	b, ok := c.known.Load(k)
	if !ok {
		return beside{}, false
	}
	return b.(beside), true // nothing else is stored
}

// partsNow returns in which parts a record is, asking the server only where this
// process has not seen the record yet.
func (c *Cluster) partsNow(ctx context.Context, k Key) (parts, error) {
	if b, ok := c.knownBeside(k); ok {
		return b.parts, nil
	}
	m, err := c.metadata(ctx, k)
	return besideOf(k, m.Annotations).parts, err
}

// note remembers what a list has shown of a record.
func (c *Cluster) note(k Key, m *objectMeta) {
	if p, err := partsOf(k, m.Annotations); err == nil {
		c.known.Store(k, beside{p, foreignAnnotations(m.Annotations)})
	}
}

// decodeMetadata reads the metadata of an answer.
func decodeMetadata(body []byte) (objectMeta, error) {
	var o struct {
		Metadata objectMeta `json:"metadata"`
	}
	err := json.Unmarshal(body, &o)
	return o.Metadata, err
}
