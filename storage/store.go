// SPDX-License-Identifier: Apache-2.0

// Package storage stores the records of releases: one record for each revision.
//
//	releases := storage.New(storage.Secrets(client, "shop"), "shop") // a *kube.Client
//	rel, err := releases.Get(ctx, "web", 0)                           // the newest revision
//	...
//	all, err := releases.List(ctx, storage.Filter{})
//
// A [Driver] stores the records: in Secrets or ConfigMaps of a cluster in Helm's format, in
// PostgreSQL in Helm's tables, or in memory. [Storage] adds what all drivers share:
// encoding, the newest revision, lists. Package storetest contains the tests that a driver
// must pass.
//
// The package does not lock releases (see package lock): if two clients create the same
// revision, one of them gets [ErrExists].
package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/moonhelm/moonhelm/release"
)

// parallel is the maximum number of records that are read concurrently.
const parallel = 16

// Storage stores releases with a driver. It is safe for concurrent use.
type Storage struct {
	driver    Driver
	namespace string
	budget    *release.Budget // for the records that are read whole
	allow     func(context.Context) error
}

// New returns the storage of the releases in namespace. With namespace "" it can only list the
// releases of all namespaces.
func New(d Driver, namespace string) *Storage {
	return &Storage{driver: d, namespace: namespace, budget: &release.Budget{}}
}

// Guarded returns a copy of s that calls allow before each write, with its context, and returns
// its error instead of writing.
func (s *Storage) Guarded(allow func(context.Context) error) *Storage {
	out := *s
	out.allow = allow
	return &out
}

// In returns the storage of another namespace with the same driver.
func (s *Storage) In(namespace string) *Storage {
	out := *s
	out.driver, out.namespace = s.driver.In(namespace), namespace
	return &out
}

// Resource returns the driver's resource, see [Driver].
func (s *Storage) Resource() string { return s.driver.Resource() }

// Namespace returns the namespace of the releases, or "" for all.
func (s *Storage) Namespace() string { return s.namespace }

func (s *Storage) checkAllowed(ctx context.Context) error {
	if s.allow == nil {
		return nil
	}
	return s.allow(ctx)
}

// Create records a new revision. It returns [ErrExists] if the revision exists.
func (s *Storage) Create(ctx context.Context, r *release.Release) error {
	if err := s.checkAllowed(ctx); err != nil {
		return err
	}
	rec, err := s.encode(r)
	if err != nil {
		return err
	}
	rec.Version, err = s.driver.Create(ctx, rec)
	if err == nil {
		r.Stored = rec.stored()
	}
	return err
}

// Update replaces the record that r was read from or last written to. If another client has
// changed the record since, Update does not overwrite it and returns a [*ChangedError];
// heartbeats and other clients' labels do not count as changes. If r was neither read nor
// written, Update replaces the current record.
func (s *Storage) Update(ctx context.Context, r *release.Release) error {
	if err := s.checkAllowed(ctx); err != nil {
		return err
	}
	rec, err := s.encode(r)
	if err != nil {
		return err
	}
	seen := r.Stored
	for tries := 0; ; tries++ {
		rec.Version = seen.Version
		rec.Version, err = s.driver.Update(ctx, rec)
		if err == nil {
			r.Stored = rec.stored()
			return nil
		}
		if !errors.Is(err, ErrChanged) || tries >= maxUpdateAttempts {
			return err
		}
		// The cause may be a heartbeat, another client's label, or our own update whose
		// response was lost.
		current, err := s.driver.Read(ctx, rec.Key, "")
		if err != nil {
			return err
		}
		is := current.stored()
		if rec.stored().Unchanged(is) {
			r.Stored = is
			return nil
		}
		if seen.Version != "" && !seen.Unchanged(is) {
			return &ChangedError{Key: rec.Key, Status: current.Status, Holder: current.Holder}
		}
		seen.Version = is.Version
	}
}

// maxUpdateAttempts is the maximum number of attempts to update a record whose metadata other
// clients change.
const maxUpdateAttempts = 4

// Get returns a revision of a release, or the newest if revision is 0 or less, whatever its
// status. It returns a [*NotFoundError] if there is no such record, and an [*UnreadableError]
// if it cannot be read.
func (s *Storage) Get(ctx context.Context, name string, revision int) (*release.Release, error) {
	if revision <= 0 {
		return s.newest(ctx, Query{Name: name})
	}
	k := Key{s.namespace, name, revision}
	r, err := s.read(ctx, k, "")
	if errors.Is(err, ErrNotFound) {
		if other := s.unsupported(ctx, k); other != nil {
			return nil, other
		}
	}
	return r, err
}

// unsupported returns the error for a record of k in another format, or nil if there is none.
func (s *Storage) unsupported(ctx context.Context, k Key) error {
	records, err := s.driver.List(ctx, Query{Name: k.Name})
	if err != nil {
		return nil // the caller returns its own error
	}
	for _, r := range records {
		if r.Revision == k.Revision && r.Format != "" {
			return r.Unsupported()
		}
	}
	return nil
}

// Deployed returns the newest revision whose status is deployed. Errors are those of Get.
func (s *Storage) Deployed(ctx context.Context, name string) (*release.Release, error) {
	return s.newest(ctx, Query{Name: name, Status: release.Deployed})
}

func (s *Storage) newest(ctx context.Context, q Query) (*release.Release, error) {
	for tries := 0; ; tries++ {
		records, err := s.driver.List(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return nil, &NotFoundError{Key{Namespace: s.namespace, Name: q.Name}}
		}
		last := slices.MaxFunc(records, compareRevisions)
		if err := last.Unsupported(); err != nil {
			return nil, err
		}
		r, err := s.read(ctx, last.Key, last.Version)
		if errors.Is(err, ErrNotFound) && tries < 3 {
			continue // deleted between the two requests
		}
		return r, err
	}
}

// Delete deletes the record of a revision. If version, a Version from a list, is not empty, it
// deletes only that record and not one that was created later.
func (s *Storage) Delete(ctx context.Context, name string, revision int, version string) error {
	if err := s.checkAllowed(ctx); err != nil {
		return err
	}
	return s.driver.Delete(ctx, Key{s.namespace, name, revision}, version)
}

// RenewHeartbeat makes holder the holder of a pending revision whose heartbeat is the one in
// seen, and returns the next heartbeat. It returns [ErrChanged] if the heartbeat is another or
// the revision is no longer pending.
func (s *Storage) RenewHeartbeat(ctx context.Context, name string, revision int, seen Heartbeat,
	holder string) (Heartbeat, error) {
	return s.driver.RenewHeartbeat(ctx, Key{s.namespace, name, revision}, seen, holder)
}

// Heartbeat returns the heartbeat of a revision, without reading its data. If the Token does
// not change for longer than the heartbeat interval, the holder has died.
func (s *Storage) Heartbeat(ctx context.Context, name string, revision int) (Heartbeat, error) {
	return s.driver.Heartbeat(ctx, Key{s.namespace, name, revision})
}

// History returns all revisions of a release, oldest first, or [ErrNotFound] if there are none.
// A record that cannot be decoded is not an error: its summary has Damaged set. If newest is
// positive, it returns only that many of the newest revisions. It reads the data only of records
// without a summary.
func (s *Storage) History(ctx context.Context, name string, newest int) ([]release.Summary, error) {
	records, err := s.driver.List(ctx, Query{Name: name})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, &NotFoundError{Key{Namespace: s.namespace, Name: name}}
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) })
	if newest > 0 && len(records) > newest {
		records = records[len(records)-newest:]
	}
	return s.summaries(ctx, records)
}

// Revisions returns the records of a release without their data, oldest first, or [ErrNotFound]
// if there are none.
func (s *Storage) Revisions(ctx context.Context, name string) ([]Record, error) {
	records, err := s.driver.List(ctx, Query{Name: name})
	if err == nil && len(records) == 0 {
		err = &NotFoundError{Key{Namespace: s.namespace, Name: name}}
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) })
	return records, err
}

// Histories returns the records of all releases whose newest revision f selects, without their data:
// one slice for each release, oldest first, sorted by name and namespace. It ignores f.AllRevisions.
func (s *Storage) Histories(ctx context.Context, f Filter) ([][]Record, error) {
	records, err := s.driver.List(ctx, Query{})
	if err != nil {
		return nil, err
	}
	byRelease := map[Key][]Record{}
	for _, r := range records {
		k := Key{Namespace: r.Namespace, Name: r.Name}
		byRelease[k] = append(byRelease[k], r)
	}
	var out [][]Record
	for _, history := range byRelease {
		slices.SortFunc(history, compareRevisions)
		if f.matches(history[len(history)-1]) {
			out = append(out, history)
		}
	}
	slices.SortFunc(out, func(a, b []Record) int {
		return cmp.Or(cmp.Compare(a[0].Name, b[0].Name), cmp.Compare(a[0].Namespace, b[0].Namespace))
	})
	return out, nil
}

// Filter selects the results of [Storage.List] and [Storage.Histories]. The zero value selects the newest revision of
// every release.
type Filter struct {
	// Statuses selects by status; none means all. The filter applies after the newest revision
	// was selected.
	Statuses []release.Status
	// Match, if not nil, selects by the labels of a record, including those of Helm.
	Match func(labels map[string]string) bool
	// Name, if not nil, selects by the name of the release.
	Name func(name string) bool
	// AllRevisions lists every revision, not only the newest.
	AllRevisions bool
}

// List returns releases, sorted by name and namespace.
func (s *Storage) List(ctx context.Context, f Filter) ([]release.Summary, error) {
	records, err := s.driver.List(ctx, Query{})
	if err != nil {
		return nil, err
	}
	if !f.AllRevisions {
		records = newestOnly(records)
	}
	records = slices.DeleteFunc(records, func(r Record) bool { return !f.matches(r) })
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Revision, b.Revision))
	})
	return s.summaries(ctx, records)
}

func (f Filter) matches(r Record) bool {
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, r.Status) || f.Name != nil && !f.Name(r.Name) {
		return false
	}
	return f.Match == nil || f.Match(r.allLabels())
}

// allLabels returns the labels by which records can be selected.
func (r Record) allLabels() map[string]string {
	all := map[string]string{
		labelName: r.Name, labelOwner: owner, labelStatus: string(r.Status), labelRevision: fmt.Sprint(r.Revision),
	}
	maps.Copy(all, r.Times)
	maps.Copy(all, r.Labels)
	return all
}

// stored returns the state of a record, for detecting changes.
func (r Record) stored() release.Stored {
	return release.Stored{Version: r.Version, Digest: sha256.Sum256(r.Data), Status: r.Status, Holder: r.Holder}
}

// compareRevisions compares two revisions of a release. Invalid revision numbers come first, so
// that they are never the newest.
func compareRevisions(a, b Record) int {
	sane := func(r Record) int {
		if release.ValidRevision(r.Revision) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(sane(a), sane(b)), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Format, b.Format))
}

// damagedSummary returns the summary of a record that cannot be read.
func (r Record) damagedSummary(why error) release.Summary {
	description := "damaged: " + why.Error()
	if other, ok := errors.AsType[*release.UnsupportedError](why); ok {
		description = "of another generation: it " + other.Error()
	}
	return release.Summary{
		Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Status: r.Status, Labels: r.Labels,
		Description: description, Damaged: true,
	}
}

// errRevisionRange is the error for a revision number out of range.
var errRevisionRange = fmt.Errorf("revisions count from 1 to %d", release.MaxRevision)

func newestOnly(records []Record) []Record {
	newest := map[Key]Record{}
	for _, r := range records {
		k := Key{Namespace: r.Namespace, Name: r.Name}
		if have, ok := newest[k]; !ok || compareRevisions(have, r) < 0 {
			newest[k] = r
		}
	}
	out := records[:0]
	for _, r := range newest {
		out = append(out, r)
	}
	return out
}

// summaries returns the summaries of records. It reads those records that have none. It omits
// records that were deleted after they were listed. For a record that cannot be read, the
// description is the reason: one damaged record must not hide all other releases.
func (s *Storage) summaries(ctx context.Context, records []Record) ([]release.Summary, error) {
	out := make([]release.Summary, len(records))
	budget := &release.Budget{} // of one list
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range records {
		if !release.ValidRevision(r.Revision) {
			out[i] = r.damagedSummary(errRevisionRange)
			continue
		}
		if err := r.Unsupported(); err != nil {
			out[i] = r.damagedSummary(err)
			continue
		}
		if r.Summary != nil {
			out[i] = *r.Summary
			continue
		}
		group.Go(func() error {
			sum, err := s.summary(ctx, r, budget)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			var unreadable *UnreadableError
			var incomplete *PartError
			if errors.As(err, &unreadable) || errors.As(err, &incomplete) {
				sum, err = r.damagedSummary(err), nil
			}
			out[i] = sum
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out, func(s release.Summary) bool { return s.Name == "" }), nil
}

func (s *Storage) summary(ctx context.Context, listed Record, budget *release.Budget) (release.Summary, error) {
	k := listed.Key
	rec, err := s.driver.Read(ctx, k, listed.Version)
	if err != nil {
		return release.Summary{}, err
	}
	if err := rec.Unsupported(); err != nil {
		return release.Summary{}, err
	}
	sum, err := budget.Summarize(rec.Data)
	if err == nil {
		err = sum.Supported()
	}
	if err != nil {
		return sum, &UnreadableError{k, err}
	}
	sum.Name, sum.Namespace, sum.Revision, sum.Labels = k.Name, k.Namespace, k.Revision, rec.Labels
	return sum, nil
}

func (s *Storage) read(ctx context.Context, k Key, version string) (*release.Release, error) {
	rec, err := s.driver.Read(ctx, k, version)
	if err != nil {
		return nil, err
	}
	if err := rec.Unsupported(); err != nil {
		return nil, err
	}
	r, err := s.budget.Decode(rec.Data)
	if err == nil {
		err = r.Supported()
	}
	if err != nil {
		return nil, &UnreadableError{k, err}
	}
	r.Labels, r.Holder, r.Stored = rec.Labels, rec.Holder, rec.stored()
	// The key determines the release, not the data: a record with another name or
	// namespace was copied from elsewhere, or forged to delete another release's objects.
	r.Name, r.Revision = k.Name, k.Revision
	if k.Namespace != "" {
		r.Namespace = k.Namespace
	}
	return r, nil
}

func (s *Storage) encode(r *release.Release) (Record, error) {
	data, err := release.Encode(r)
	if err != nil {
		return Record{}, err
	}
	sum, err := r.Summary()
	if err != nil {
		return Record{}, err
	}
	ns := r.Namespace
	if ns == "" {
		ns = s.namespace
	}
	if s.namespace != "" && ns != s.namespace {
		return Record{}, fmt.Errorf("record release %q of namespace %q: the storage is of namespace %q", r.Name, ns,
			s.namespace)
	}
	return Record{
		Key:    Key{Namespace: ns, Name: r.Name, Revision: r.Revision},
		Status: r.Info.Status, Labels: userLabels(r.Labels), Holder: r.Holder, Summary: &sum, Data: data,
	}, nil
}
