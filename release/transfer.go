// SPDX-License-Identifier: Apache-2.0

package release

// TransferVerb is the operation of a [Transfer].
type TransferVerb string

// The verbs.
const (
	TransferAdopt  TransferVerb = "adopt"
	TransferDisown TransferVerb = "disown"
	TransferMove   TransferVerb = "mv"
	TransferRename TransferVerb = "rename"
)

// TransferRole is the role of a release in a [Transfer].
type TransferRole string

// The roles: objects go from one release to another.
const (
	TransferFrom TransferRole = "from"
	TransferTo   TransferRole = "to"
)

// TransferState says how a [Transfer] has ended.
type TransferState string

// The states.
const (
	TransferActive TransferState = ""
	TransferDone   TransferState = "done"
	TransferUndone TransferState = "undone"
)

// Transfer is the journal of an operation that changes which release objects belong to. It is in
// the pending record of each release that takes part, whose manifest stays that of the revision
// before until the operation ends: a client that does not know the journal does nothing to the
// objects that move. A record keeps the journal, without Objects and Manifest, when it has ended.
type Transfer struct {
	// ID is the same in the records of both releases, and unique otherwise.
	ID    string        `json:"id"`
	Verb  TransferVerb  `json:"verb"`
	Role  TransferRole  `json:"role"`
	State TransferState `json:"state,omitempty"`
	// Peer is the revision of the other release, or nil if only one release takes part.
	Peer *TransferPeer `json:"peer,omitempty"`
	// Objects are the objects whose ownership metadata changes.
	Objects []TransferObject `json:"objects,omitempty"`
	// Manifest is the manifest that the revision has once the transfer is done.
	Manifest string `json:"manifest,omitempty"`
}

// TransferPeer is the revision of the other release in a [Transfer].
type TransferPeer struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Revision  int    `json:"revision"`
}

// TransferObject is an object of a [Transfer].
type TransferObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"` // "" for a cluster-scoped kind
	Name       string `json:"name"`
	UID        string `json:"uid"`
	// Was is the ownership metadata before the transfer.
	Was Ownership `json:"was"`
}

// End ends the transfer with a state.
func (t *Transfer) End(s TransferState) {
	t.State, t.Objects, t.Manifest = s, nil, ""
}

// InTransfer returns the journal of r if its transfer has not ended, else nil. The transfer of a
// renamed release ends when its records under the old name, of which the newest has the status
// uninstalled, are deleted.
func (r *Release) InTransfer() *Transfer {
	t := r.Transfer
	switch {
	case t == nil || t.State == TransferUndone:
		return nil
	case t.State == TransferActive && r.Info.Status.Pending():
		return t
	case t.State == TransferDone && t.Verb == TransferRename && t.Role == TransferFrom && r.Info.Status == Uninstalled:
		return t
	}
	return nil
}
