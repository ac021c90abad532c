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

// Memory stores records in memory, for tests and dry runs. Use [NewMemory] to create one; the
// zero value is not usable.
type Memory struct {
	shared    *memory
	namespace string
}

type memory struct {
	mu      sync.RWMutex
	records map[Key]memoryRecord
	created int // number of records ever created, for IDs
	now     func() time.Time
}

type memoryRecord struct {
	Record
	id      int // differs for a record that was deleted and created again
	writes  int
	changed time.Time
}

// version returns the Version of the record.
func (r memoryRecord) version() string { return strconv.Itoa(r.id) + "." + strconv.Itoa(r.writes) }

// NewMemory returns an empty driver for namespace, or for all namespaces if it is "".
func NewMemory(namespace string) Memory {
	return Memory{shared: &memory{records: map[Key]memoryRecord{}, now: time.Now}, namespace: namespace}
}

// In returns a driver of the same records for another namespace.
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
	m.shared.created++
	made := memoryRecord{Record: r.clone(), id: m.shared.created, changed: m.shared.now()}
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
	next := memoryRecord{Record: r.clone(), id: old.id, writes: old.writes + 1, changed: m.shared.now()}
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
	out := r.clone()
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
		r = r.clone()
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
	case !seen.isCurrent(r.heartbeat()):
		return Heartbeat{}, &ChangedError{Key: k, Status: r.Status, Holder: r.Holder}
	}
	r.writes++
	r.Holder = holder
	m.shared.records[k] = r
	return r.heartbeat(), nil
}

func (r memoryRecord) heartbeat() Heartbeat {
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
	return r.heartbeat(), nil
}

func (r Record) clone() Record {
	r.Labels = maps.Clone(r.Labels)
	r.Data = slices.Clone(r.Data)
	if r.Summary != nil {
		s := *r.Summary
		r.Summary = &s
	}
	return r
}
