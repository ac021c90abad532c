// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// An OwnershipChanger finds objects and changes which release they belong to. [*apply.Applier]
// implements it and documents the methods.
type OwnershipChanger interface {
	Find(ctx context.Context, objects []*manifest.Object, namespace string) ([]*apply.FoundObject, error)
	FindKind(ctx context.Context, word string) (*kube.Resource, error)
	FindNamed(ctx context.Context, kind, namespace, name string) (*apply.FoundObject, error)
	FindSelected(ctx context.Context, kind, namespace, selector string) ([]*apply.FoundObject, error)
	FindNames(ctx context.Context, kind, namespace string) ([]string, error)
	ChangeOwnership(ctx context.Context, changes []apply.OwnershipChange) error
}

// An ObjectName names an object as users do: "Deployment/web" or "shop/deploy/web".
type ObjectName struct {
	Namespace string // "" for the release's
	Kind      string // as in [kube.Client.FindKind]
	Name      string
}

func (n ObjectName) String() string {
	if n.Namespace != "" {
		return n.Namespace + "/" + n.Kind + "/" + n.Name
	}
	return n.Kind + "/" + n.Name
}

// ParseObjectName parses KIND/NAME or NAMESPACE/KIND/NAME. ok is false for any other text.
func ParseObjectName(text string) (n ObjectName, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		n.Namespace, parts = parts[0], parts[1:]
		ok = n.Namespace != ""
	} else {
		ok = len(parts) == 2
	}
	if !ok || parts[0] == "" || parts[1] == "" {
		return ObjectName{}, false
	}
	n.Kind, n.Name = parts[0], parts[1]
	return n, true
}

// TransferOptions are the options of [Adopt], [Disown], [Move] and [Rename].
type TransferOptions struct {
	// Confirm is called with the planned change before anything is written. An error ends the
	// operation. With nil the change is made.
	Confirm func(context.Context, *Transfer) error
	// MaxHistory is the number of revisions to keep, or 0 for all.
	MaxHistory int
}

// A Transfer is a change of which release objects belong to.
type Transfer struct {
	Verb release.TransferVerb
	// From and To are the changes of the records of the releases that objects leave and join; nil
	// if there is no such release.
	From, To *Change
	Objects  []TransferObject
	// Warnings are sentences about what later operations will do.
	Warnings []string
	// Finished is set if an earlier operation of the same kind was interrupted, and finishing it
	// left nothing to do.
	Finished bool
}

// Unchanged reports whether there is nothing to do.
func (t *Transfer) Unchanged() bool { return t.From == nil && t.To == nil }

// A TransferObject is an object of a [Transfer].
type TransferObject struct {
	plan.Ref
	// Exists reports whether the object is in the cluster. If it is not, only records change.
	Exists bool
	// Was and Will are the ownership metadata before and after.
	Was, Will release.Ownership
	// Omitted are the paths of the live object's fields that the record does not have, if its
	// manifest was made from the live object.
	Omitted []string
}

// transferSide is a release that takes part in a transfer.
type transferSide struct {
	*Config // for the namespace of the release
	name    string
	role    release.TransferRole
	lock    lock.Lock
	history *history
	// before is the deployed revision; nil for a release that does not exist yet.
	before *release.Release
	// release is the revision with the journal.
	release *release.Release
}

func (s *transferSide) namespace() string { return s.Config.namespace() }

func (s *transferSide) owner() release.Ownership { return release.OwnedBy(s.name, s.namespace()) }

// transfer is one operation that changes which release objects belong to.
//
// It writes, in this order: the pending records with the journal, of the release that objects leave
// and then of the one that they join; the ownership metadata of the objects; the final records, in
// the same order. The first final record is the commit point: before it, a failure or an
// interruption can be undone. See docs/adr/0034-moving-between-releases.md.
type transfer struct {
	*Config
	TransferOptions
	verb     release.TransferVerb
	from, to *transferSide // one of them may be nil
	// prepare plans the change: it sets objects, out, and the new revisions of both sides. It is called
	// with the histories read.
	prepare func(context.Context) error
	invalid error // of the request
	// objects are those whose ownership metadata changes.
	objects []release.TransferObject
	out     *Transfer
	// resumed is the journal of the interrupted operation that was finished before this one.
	resumed *release.Transfer
}

// newTransfer returns a transfer in the namespace of c. An empty name stands for no release.
func (c *Config) newTransfer(verb release.TransferVerb, from, to string, o TransferOptions) *transfer {
	t := &transfer{Config: c.forOperation(), TransferOptions: o, verb: verb}
	if from != "" {
		t.from = &transferSide{Config: t.Config, name: from, role: release.TransferFrom}
	}
	if to != "" {
		t.to = &transferSide{Config: t.Config, name: to, role: release.TransferTo}
	}
	return t
}

// sides returns the releases that take part, in the order of their writes.
func (t *transfer) sides() []*transferSide {
	return slices.DeleteFunc([]*transferSide{t.from, t.to}, func(s *transferSide) bool { return s == nil })
}

// checkRequest returns an error if the request or the configuration is invalid.
func (t *transfer) checkRequest() error {
	needed := 1
	if t.verb == release.TransferMove || t.verb == release.TransferRename {
		needed = 2
	}
	if len(t.sides()) < needed {
		return ErrNoName
	}
	return cmp.Or(t.invalid, t.check())
}

// check returns an error if the configuration or a name is invalid.
func (t *transfer) check() error {
	if err := t.require(string(t.verb)); err != nil {
		return err
	}
	for _, s := range t.sides() {
		if err := CheckName(s.name); err != nil {
			return err
		}
	}
	if t.from != nil && t.to != nil && t.from.name == t.to.name && t.from.namespace() == t.to.namespace() {
		return &SameReleaseError{Operation: t.verb, Name: t.to.name}
	}
	return nil
}

// inNamespace returns a copy of c for the releases of another namespace.
func (c *Config) inNamespace(namespace string) (*Config, error) {
	if namespace == "" || namespace == c.namespace() {
		return c, nil
	}
	if err := checkNamespaceName(namespace); err != nil {
		return nil, err
	}
	records, ok := c.Releases.(*storage.Storage)
	if !ok {
		return nil, c.checkNamespace(namespace, "move")
	}
	out := *c
	other := records.In(namespace)
	out.Releases = other
	switch l := c.Locker.(type) {
	case nil:
	case *lock.Locker:
		out.Locker = l.In(namespace, other)
	default:
		return nil, c.checkNamespace(namespace, "move")
	}
	return &out, nil
}

// lockAll locks the releases, in the same order in every operation: two of them never wait for each
// other.
func (t *transfer) lockAll(ctx context.Context) (context.Context, func(), error) {
	sides := t.sides()
	slices.SortFunc(sides, func(a, b *transferSide) int {
		return cmp.Or(cmp.Compare(a.namespace(), b.namespace()), cmp.Compare(a.name, b.name))
	})
	var held []lock.Lock
	unlock := func() {
		for _, l := range slices.Backward(held) {
			l.Unlock()
		}
	}
	for _, s := range sides {
		inner, l, err := s.acquireLock(ctx, s.name, string(t.verb))
		if err != nil {
			unlock()
			return nil, nil, err
		}
		ctx, s.lock = inner, l
		held = append(held, l)
	}
	return ctx, unlock, nil
}

// load reads the history of the release.
func (s *transferSide) load(ctx context.Context) (err error) {
	s.history, err = loadHistory(ctx, s.Releases, s.lock, s.name, s.Progress)
	return err
}

// requireDeployed sets the deployed revision. It returns an error if the newest revision is another
// one, unless that is a transfer which was undone and has changed nothing.
func (s *transferSide) requireDeployed(ctx context.Context, verb release.TransferVerb) error {
	h := s.history
	switch {
	case h.last == nil:
		_, err := s.Releases.Get(ctx, s.name, 0) // returns storage.ErrNotFound with the namespace
		if s.role == release.TransferTo && errors.Is(err, storage.ErrNotFound) {
			err = hint.With(err, fmt.Sprintf("helm install %[1]s CHART --take-ownership makes a new release, which takes over "+
				"the objects that its chart has; helm diff upgrade --install %[1]s CHART --take-ownership shows the changes first",
				s.name))
		}
		return err
	case h.last.Info.Status == release.Uninstalled:
		return &NoReleaseError{Name: s.name, Namespace: s.namespace(), Uninstalled: true}
	}
	for _, rel := range h.applied {
		undone := rel.Transfer != nil && rel.Transfer.State == release.TransferUndone
		if rel != h.deployed && !undone {
			return newNotDeployed(verb, h.last)
		}
	}
	if h.deployed == nil {
		return newNotDeployed(verb, h.last)
	}
	s.before = h.deployed
	return nil
}

// run locks the releases, plans the change, and makes it. Interrupted transfers of the releases are
// finished or undone first.
func (t *transfer) run(ctx context.Context) (*Transfer, error) {
	if err := t.checkRequest(); err != nil {
		return nil, err
	}
	return resuming(ctx, t.Config, t.attempt, func(j *release.Transfer) { t.resumed = j })
}

func (t *transfer) attempt(ctx context.Context) (*Transfer, error) {
	ctx, unlock, err := t.lockAll(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, s := range t.sides() {
		err := s.load(ctx)
		if err == nil {
			err = s.history.unfinished(s.namespace())
		}
		if err != nil {
			return nil, err
		}
	}
	t.objects, t.out = nil, &Transfer{Verb: t.verb}
	if err := t.prepare(ctx); err != nil {
		if t.wasResumed() && isNothingLeft(err) {
			return &Transfer{Verb: t.verb, Finished: true}, nil
		}
		return nil, err
	}
	t.out.Finished = t.wasResumed() && t.out.Unchanged()
	if t.out.Unchanged() {
		return t.out, nil
	}
	err = runSteps(ctx, t.checkPermissions, func(ctx context.Context) error {
		if t.Confirm == nil {
			return nil
		}
		return t.Confirm(ctx, t.out)
	}, t.recordPending, t.finish)
	return t.out, orLockLost(ctx, err)
}

// plan plans the change, and writes nothing.
func (t *transfer) plan(ctx context.Context) (*Transfer, error) {
	if err := t.checkRequest(); err != nil {
		return nil, err
	}
	for _, s := range t.sides() {
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	t.out = &Transfer{Verb: t.verb}
	return t.out, t.prepare(ctx)
}

// wasResumed reports whether an interrupted transfer between the same releases was finished.
func (t *transfer) wasResumed() bool {
	if t.resumed == nil || t.resumed.Verb != t.verb {
		return false
	}
	self, peer := t.from, t.to
	if t.resumed.Role == release.TransferTo {
		self, peer = t.to, t.from
	}
	p := t.resumed.Peer
	if self == nil || (p == nil) != (peer == nil) {
		return false
	}
	return p == nil || p.Name == peer.name && p.Namespace == peer.namespace()
}

// isNothingLeft reports whether the objects or the release are no longer where a finished transfer
// has taken them from.
func isNothingLeft(err error) bool {
	var missing *NotInReleaseError
	return errors.As(err, &missing) || errors.Is(err, storage.ErrNotFound)
}

// newRevision sets the next revision of the release, a copy of base with the journal. text is the
// manifest that it will have.
func (s *transferSide) newRevision(base *release.Release, verb release.TransferVerb, text string) {
	now := s.now()
	rel := base.Clone()
	rel.Name, rel.Namespace, rel.Revision = s.name, base.Namespace, s.history.nextRevision()
	rel.Holder, rel.Stored, rel.Moved = "", release.Stored{}, nil
	rel.Info = release.Info{
		FirstDeployed: base.Info.FirstDeployed, LastDeployed: now, Status: release.PendingUpgrade, Notes: base.Info.Notes,
	}
	rel.Transfer = &release.Transfer{Verb: verb, Role: s.role, Manifest: text}
	s.release = rel
}

// change returns the change of the release's record.
func (s *transferSide) change() (*Change, error) {
	after := s.release.Clone()
	after.Manifest = s.release.Transfer.Manifest
	return Compare(s.before, after)
}

// checkPermissions returns a [*apply.PermissionError] if the user lacks a permission.
func (t *transfer) checkPermissions(ctx context.Context) error {
	var needed []apply.Permission
	for _, s := range t.sides() {
		verbs := []string{"create", "update"}
		if t.verb == release.TransferRename && s == t.from {
			verbs = append(verbs, "delete")
		}
		needed = append(needed, recordPermissions(s.Releases, s.namespace(), verbs...)...)
	}
	for _, o := range t.objects {
		needed = append(needed, apply.Permission{Verb: "patch", APIVersion: o.APIVersion, Kind: o.Kind,
			Namespace: o.Namespace, Name: o.Name})
	}
	return t.Cluster.CheckPermissions(ctx, "patch", nil, t.namespace(), needed...)
}

// recordPending writes the pending records with the journal.
func (t *transfer) recordPending(ctx context.Context) error {
	id := rand.Text()
	for i, s := range t.sides() {
		j := s.release.Transfer
		j.ID, j.Objects = id, t.objects
		if peer := t.peer(s); peer != nil {
			j.Peer = &release.TransferPeer{Namespace: peer.namespace(), Name: peer.name, Revision: peer.release.Revision}
		}
		s.release.Info.Description = t.description(s, inProgressForm)
		d := deployment{config: s.Config, history: s.history, release: s.release, lock: s.lock}
		if err := d.createRecord(ctx); err != nil {
			if i == 0 && !d.recorded {
				return err
			}
			return t.undo(ctx, err)
		}
	}
	return nil
}

// peer returns the other release, or nil.
func (t *transfer) peer(s *transferSide) *transferSide {
	if s == t.from {
		return t.to
	}
	return t.from
}

// The forms of the verb in descriptions.
const (
	inProgressForm = iota
	doneForm
)

// maxNamed is the number of objects that a description names.
const maxNamed = 3

// description returns the description of a side's revision.
func (t *transfer) description(s *transferSide, form int) string {
	words := map[release.TransferVerb][2]string{
		release.TransferAdopt: {"Adopting", "Adopted"}, release.TransferDisown: {"Disowning", "Disowned"},
		release.TransferMove: {"Moving", "Moved"}, release.TransferRename: {"Renaming", "Renamed"},
	}
	text := words[t.verb][form]
	if t.verb != release.TransferRename {
		text += " " + t.objectNames()
	}
	peer := t.peer(s)
	switch {
	case peer == nil:
	case s == t.from:
		text += " to " + t.releaseText(peer)
	default:
		text += " from " + t.releaseText(peer)
	}
	if form == inProgressForm {
		text += ": in progress or interrupted, then the next helm command that changes the release finishes or undoes it"
	}
	return text
}

// releaseText names a release, with its namespace if the transfer is between two of them.
func (t *transfer) releaseText(s *transferSide) string {
	if t.from != nil && t.to != nil && t.from.namespace() != t.to.namespace() {
		return "release " + s.name + " in namespace " + s.namespace()
	}
	return "release " + s.name
}

func (t *transfer) objectNames() string {
	var names []string
	for _, o := range t.objects {
		names = append(names, o.Kind+"/"+o.Name)
	}
	if t.out != nil && len(t.out.Objects) > len(names) {
		names = nil
		for _, o := range t.out.Objects {
			names = append(names, o.String())
		}
	}
	switch n := len(names); {
	case n == 0:
		return "objects"
	case n > maxNamed+1:
		return fmt.Sprintf("%s and %d more objects", strings.Join(names[:maxNamed], ", "), n-maxNamed)
	}
	return strings.Join(names, ", ")
}
