// SPDX-License-Identifier: Apache-2.0

// Package storage keeps the records of releases: which revisions there are, and what each
// of them was.
//
//	releases := storage.New(storage.Secrets(client, "shop"), "shop") // a *kube.Client
//	rel, err := releases.Get(ctx, "web", 0)                           // the newest revision
//	...
//	all, err := releases.List(ctx, storage.Filter{})
//
// A [Driver] keeps the records: in Secrets or ConfigMaps of a cluster, in the format that
// Helm reads and writes, in PostgreSQL, in the tables of Helm's, or in memory. [Storage]
// adds what all drivers share: encoding, the newest revision, lists. Package storetest has
// the tests that a driver has to pass.
//
// The package decides nothing about releases, and does not lock them (see package lock): of
// two clients that create one revision, one gets [ErrExists].
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

// parallel bounds how many records are read at once.
const parallel = 16

// Storage keeps releases with a driver. It is safe for concurrent use.
type Storage struct {
	driver    Driver
	namespace string
	budget    *release.Budget // for the records that are read whole
	allow     func(context.Context) error
}

// New returns the records that d keeps in namespace, which is the releases' own; ""
// serves lists of all namespaces only.
func New(d Driver, namespace string) *Storage {
	return &Storage{driver: d, namespace: namespace, budget: &release.Budget{}}
}

// Guarded returns the same records, to which nothing is written unless allow, called
// with the context of each write, returns nil.
func (s *Storage) Guarded(allow func(context.Context) error) *Storage {
	out := *s
	out.allow = allow
	return &out
}

// In returns the records of another namespace, kept by the same driver.
func (s *Storage) In(namespace string) *Storage {
	out := *s
	out.driver, out.namespace = s.driver.In(namespace), namespace
	return &out
}

// Resource is that of [Driver].
func (s *Storage) Resource() string { return s.driver.Resource() }

// Namespace is the one whose releases are recorded, "" for all.
func (s *Storage) Namespace() string { return s.namespace }

func (s *Storage) allowed(ctx context.Context) error {
	if s.allow == nil {
		return nil
	}
	return s.allow(ctx)
}

// Create records a new revision. It fails with [ErrExists] where there is one
// of that number.
func (s *Storage) Create(ctx context.Context, r *release.Release) error {
	if err := s.allowed(ctx); err != nil {
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

// Update replaces the record of a revision as r was read from it, or written to
// it last. Where another client has changed it since, the change stays and Update
// fails with a [*ChangedError]; heartbeats and labels of others do not count. A
// release that was neither read nor written replaces the record as it is now.
func (s *Storage) Update(ctx context.Context, r *release.Release) error {
	if err := s.allowed(ctx); err != nil {
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
		if !errors.Is(err, ErrChanged) || tries >= maxUpdates {
			return err
		}
		// A heartbeat since, another client's label, or an answer that was lost.
		now, err := s.driver.Read(ctx, rec.Key, "")
		if err != nil {
			return err
		}
		is := now.stored()
		if rec.stored().Unchanged(is) {
			r.Stored = is
			return nil
		}
		if seen.Version != "" && !seen.Unchanged(is) {
			return &ChangedError{Key: rec.Key, Status: now.Status, Holder: now.Holder}
		}
		seen.Version = is.Version
	}
}

// maxUpdates bounds how often an update is tried while others change what
// is next to the record.
const maxUpdates = 4

// Get returns one revision of a release, the newest where revision is 0 or less, whatever
// its status. A [*NotFoundError] is returned for one that is not recorded, and an
// [*UnreadableError] for a record that cannot be read.
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

// unsupported says what a record of another format stands where k is not found, nil
// for none.
func (s *Storage) unsupported(ctx context.Context, k Key) error {
	records, err := s.driver.List(ctx, Query{Name: k.Name})
	if err != nil {
		return nil // then k is not found, which is known
	}
	for _, r := range records {
		if r.Revision == k.Revision && r.Format != "" {
			return r.Unsupported()
		}
	}
	return nil
}

// Deployed returns the newest revision whose status is deployed.
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
		last := slices.MaxFunc(records, newer)
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

// Delete removes the record of one revision, with the Version that a list gave
// it that very one only.
func (s *Storage) Delete(ctx context.Context, name string, revision int, version string) error {
	if err := s.allowed(ctx); err != nil {
		return err
	}
	return s.driver.Delete(ctx, Key{s.namespace, name, revision}, version)
}

// RenewHeartbeat makes holder the one who is at work on a pending revision whose heartbeat
// is still as seen, and returns the next one. It fails with [ErrChanged] where
// the record is another's by now, or not pending any more.
func (s *Storage) RenewHeartbeat(ctx context.Context, name string, revision int, seen Heartbeat,
	holder string) (Heartbeat, error) {
	return s.driver.RenewHeartbeat(ctx, Key{s.namespace, name, revision}, seen, holder)
}

// Heartbeat returns the heartbeat of a revision, without reading its record. A holder
// who is gone leaves the same Token for longer than heartbeats are apart.
func (s *Storage) Heartbeat(ctx context.Context, name string, revision int) (Heartbeat, error) {
	return s.driver.Heartbeat(ctx, Key{s.namespace, name, revision})
}

// History returns all revisions of a release, oldest first; at least one, or
// [ErrNotFound]. With a positive newest only that many of the newest are
// returned, and only those are read where their metadata does not tell all.
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

// Revisions returns the keys and statuses of a release's revisions, oldest
// first, without reading a record; at least one, or [ErrNotFound].
func (s *Storage) Revisions(ctx context.Context, name string) ([]Record, error) {
	records, err := s.driver.List(ctx, Query{Name: name})
	if err == nil && len(records) == 0 {
		err = &NotFoundError{Key{Namespace: s.namespace, Name: name}}
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) })
	return records, err
}

// Filter says what [Storage.List] returns. The zero value lists the newest
// revision of every release.
type Filter struct {
	// Statuses are the wanted ones; none means all. They are looked at after
	// the newest revision was chosen.
	Statuses []release.Status
	// Match, where not nil, sees the labels of a record, the store's own
	// included, and says whether it is wanted.
	Match func(labels map[string]string) bool
	// Name, where not nil, says whether releases of that name are wanted.
	Name func(name string) bool
	// AllRevisions lists every revision, not only the newest.
	AllRevisions bool
}

// List returns releases by name and namespace.
func (s *Storage) List(ctx context.Context, f Filter) ([]release.Summary, error) {
	records, err := s.driver.List(ctx, Query{})
	if err != nil {
		return nil, err
	}
	if !f.AllRevisions {
		records = newestOnly(records)
	}
	records = slices.DeleteFunc(records, func(r Record) bool { return !f.wants(r) })
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Revision, b.Revision))
	})
	return s.summaries(ctx, records)
}

func (f Filter) wants(r Record) bool {
	if len(f.Statuses) > 0 && !slices.Contains(f.Statuses, r.Status) || f.Name != nil && !f.Name(r.Name) {
		return false
	}
	return f.Match == nil || f.Match(r.allLabels())
}

// allLabels are the labels by which records can be selected.
func (r Record) allLabels() map[string]string {
	all := map[string]string{
		labelName: r.Name, labelOwner: owner, labelStatus: string(r.Status), labelRevision: fmt.Sprint(r.Revision),
	}
	maps.Copy(all, r.Times)
	maps.Copy(all, r.Labels)
	return all
}

// stored is the state that a record is in.
func (r Record) stored() release.Stored {
	return release.Stored{Version: r.Version, Digest: sha256.Sum256(r.Data), Status: r.Status, Holder: r.Holder}
}

// newer orders the revisions of a release. Numbers that cannot be come first: no
// revision follows them.
func newer(a, b Record) int {
	sane := func(r Record) int {
		if release.ValidRevision(r.Revision) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(sane(a), sane(b)), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Format, b.Format))
}

// damaged is what lists show of a record that cannot be read, or cannot be.
func (r Record) damaged(why error) release.Summary {
	description := "damaged: " + why.Error()
	var other *release.UnsupportedError
	if errors.As(why, &other) {
		description = "of another generation: it " + other.Error()
	}
	return release.Summary{
		Name: r.Name, Namespace: r.Namespace, Revision: r.Revision, Status: r.Status, Labels: r.Labels,
		Description: description, Damaged: true,
	}
}

// errRevision is what is wrong with a revision of a number that cannot be.
var errRevision = fmt.Errorf("revisions count from 1 to %d", release.MaxRevision)

func newestOnly(records []Record) []Record {
	newest := map[Key]Record{}
	for _, r := range records {
		k := Key{Namespace: r.Namespace, Name: r.Name}
		if have, ok := newest[k]; !ok || newer(have, r) < 0 {
			newest[k] = r
		}
	}
	out := records[:0]
	for _, r := range newest {
		out = append(out, r)
	}
	return out
}

// summaries reads the records whose metadata does not tell what a list shows. A
// record that was deleted meanwhile is left out. Of one that cannot be read the
// metadata is shown, with the reason as its description: what someone has
// spoiled in one namespace must not hide the releases of all others.
func (s *Storage) summaries(ctx context.Context, records []Record) ([]release.Summary, error) {
	out := make([]release.Summary, len(records))
	budget := &release.Budget{} // of one list
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range records {
		if !release.ValidRevision(r.Revision) {
			out[i] = r.damaged(errRevision)
			continue
		}
		if err := r.Unsupported(); err != nil {
			out[i] = r.damaged(err)
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
				sum, err = r.damaged(err), nil
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
	// Where a record is decides what it is the record of. One that says
	// otherwise was brought here from elsewhere, or is to pass for another
	// release, whose objects it would then delete.
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
		return Record{}, fmt.Errorf("record release %q of namespace %q: these are the records of namespace %q", r.Name, ns,
			s.namespace)
	}
	return Record{
		Key:    Key{Namespace: ns, Name: r.Name, Revision: r.Revision},
		Status: r.Info.Status, Labels: userLabels(r.Labels), Holder: r.Holder, Summary: &sum, Data: data,
	}, nil
}
