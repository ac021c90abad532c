// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Memory keeps records in this process. It serves tests, dry runs and SDK
// users who want no trace. The zero value is not usable; see [NewMemory].
type Memory struct {
	shared    *memory
	namespace string
}

type memory struct {
	mu      sync.RWMutex
	records map[Key]Record
}

// NewMemory returns an empty store bound to namespace, "" for all.
func NewMemory(namespace string) Memory {
	return Memory{shared: &memory{records: map[Key]Record{}}, namespace: namespace}
}

// In returns a driver over the same records, bound to another namespace.
func (m Memory) In(namespace string) Memory { return Memory{shared: m.shared, namespace: namespace} }

// Create implements [Driver].
func (m Memory) Create(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	if _, taken := m.shared.records[r.Key]; taken {
		return &ExistsError{r.Key}
	}
	m.shared.records[r.Key] = r.copied()
	return nil
}

// Update implements [Driver].
func (m Memory) Update(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	if _, ok := m.shared.records[r.Key]; !ok {
		return &NotFoundError{r.Key}
	}
	m.shared.records[r.Key] = r.copied()
	return nil
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
	return r.copied(), nil
}

// List implements [Driver].
func (m Memory) List(ctx context.Context, q Query) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.shared.mu.RLock()
	defer m.shared.mu.RUnlock()
	var out []Record
	for _, r := range m.shared.records {
		if m.namespace != "" && r.Namespace != m.namespace || q.Name != "" && r.Name != q.Name || q.Status != "" && r.Status != q.Status {
			continue
		}
		r = r.copied()
		r.Data = nil
		out = append(out, r)
	}
	return out, nil
}

// Delete implements [Driver].
func (m Memory) Delete(ctx context.Context, k Key) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	if _, ok := m.shared.records[k]; !ok {
		return &NotFoundError{k}
	}
	delete(m.shared.records, k)
	return nil
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
