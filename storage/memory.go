// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Memory keeps records in this process. It serves tests, dry runs and SDK
// users who want no trace. The zero value is not usable; see [NewMemory].
type Memory struct {
	shared    *memory
	namespace string
}

type memory struct {
	mu      sync.RWMutex
	records map[Key]memoryRecord
	made    int // how many records there ever were
	now     func() time.Time
}

type memoryRecord struct {
	Record
	id      int // of this very record
	beats   int
	changed time.Time
}

// version names the state that a record is in.
func (r memoryRecord) version() string { return strconv.Itoa(r.id) + "." + strconv.Itoa(r.beats) }

// NewMemory returns an empty store bound to namespace, "" for all.
func NewMemory(namespace string) Memory {
	return Memory{shared: &memory{records: map[Key]memoryRecord{}, now: time.Now}, namespace: namespace}
}

// In returns a driver over the same records, bound to another namespace.
func (m Memory) In(namespace string) Driver { return Memory{shared: m.shared, namespace: namespace} }

// Resource implements [Driver].
func (m Memory) Resource() string { return "" }

// Create implements [Driver].
func (m Memory) Create(ctx context.Context, r Record) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	if _, taken := m.shared.records[r.Key]; taken {
		return "", &ExistsError{r.Key}
	}
	m.shared.made++
	made := memoryRecord{Record: r.copied(), id: m.shared.made, changed: m.shared.now()}
	m.shared.records[r.Key] = made
	return made.version(), nil
}

// Update implements [Driver].
func (m Memory) Update(ctx context.Context, r Record) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	old, ok := m.shared.records[r.Key]
	switch {
	case !ok:
		return "", &NotFoundError{r.Key}
	case r.Version != "" && r.Version != old.version():
		return "", &ChangedError{Key: r.Key, Status: old.Status, Holder: old.Holder}
	}
	next := memoryRecord{Record: r.copied(), id: old.id, beats: old.beats + 1, changed: m.shared.now()}
	m.shared.records[r.Key] = next
	return next.version(), nil
}

// Read implements [Driver].
func (m Memory) Read(ctx context.Context, k Key, _ string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	r, ok := m.shared.records[k]
	if !ok {
		return Record{}, &NotFoundError{k}
	}
	out := r.copied()
	out.Version = r.version()
	return out, nil
}

// List implements [Driver].
func (m Memory) List(ctx context.Context, q Query) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	var out []Record
	for _, rec := range m.shared.records {
		r := rec.Record
		if m.namespace != "" && r.Namespace != m.namespace || q.Name != "" && r.Name != q.Name || q.Status != "" &&
			r.Status != q.Status {
			continue
		}
		r = r.copied()
		r.Data, r.Version = nil, rec.version()
		out = append(out, r)
	}
	return out, nil
}

// Delete implements [Driver].
func (m Memory) Delete(ctx context.Context, k Key, version string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	id, _, _ := strings.Cut(version, ".")
	if r, ok := m.shared.records[k]; !ok || version != "" && id != strconv.Itoa(r.id) {
		return &NotFoundError{k}
	}
	delete(m.shared.records, k)
	return nil
}

// RenewHeartbeat implements [Driver].
func (m Memory) RenewHeartbeat(ctx context.Context, k Key, seen Heartbeat, holder string) (Heartbeat, error) {
	if err := ctx.Err(); err != nil {
		return Heartbeat{}, err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	r, ok := m.shared.records[k]
	switch {
	case !ok:
		return Heartbeat{}, &NotFoundError{k}
	case !seen.beats(r.pulse()):
		return Heartbeat{}, &ChangedError{Key: k, Status: r.Status, Holder: r.Holder}
	}
	r.beats++
	r.Holder = holder
	m.shared.records[k] = r
	return r.pulse(), nil
}

func (r memoryRecord) pulse() Heartbeat {
	return Heartbeat{Status: r.Status, Holder: r.Holder, Token: r.version(), Changed: r.changed}
}

// Heartbeat implements [Driver].
func (m Memory) Heartbeat(ctx context.Context, k Key) (Heartbeat, error) {
	if err := ctx.Err(); err != nil {
		return Heartbeat{}, err
	}
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	r, ok := m.shared.records[k]
	if !ok {
		return Heartbeat{}, &NotFoundError{k}
	}
	return r.pulse(), nil
}

func (r Record) copied() Record {
	r.Labels = maps.Clone(r.Labels)
	r.Data = slices.Clone(r.Data)
	if r.Summary != nil {
		s := *r.Summary
		r.Summary = &s
	}
	return r
}
