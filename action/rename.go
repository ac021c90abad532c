// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/release"
)

// Rename gives a release another name: its records, and the labels and annotations of its objects
// that say which release they belong to. The objects keep their names.
type Rename struct{ *Config }

// A RenameRequest is the request of [Rename]. Both names are required.
type RenameRequest struct {
	Name, NewName string
	TransferOptions
}

// Plan returns what Run would change, and writes nothing. Errors are those of Run before anything is
// written.
func (r Rename) Plan(ctx context.Context, req RenameRequest) (*Transfer, error) {
	return r.operation(req).plan(ctx)
}

// Run renames the release, as a new revision, and takes its history along. If it fails, the release
// has its old name. Errors are those of [Disown.Run] except [*NotInReleaseError], and
// [*NameInUseError].
func (r Rename) Run(ctx context.Context, req RenameRequest) (*Transfer, error) {
	return r.operation(req).run(ctx)
}

type renameOperation struct{ *transfer }

func (r Rename) operation(req RenameRequest) *renameOperation {
	w := &renameOperation{r.newTransfer(release.TransferRename, req.Name, req.NewName, req.TransferOptions)}
	w.prepare = w.planChange
	return w
}

func (w *renameOperation) planChange(ctx context.Context) error {
	from, to := w.from, w.to
	if err := from.requireDeployed(ctx, w.verb); err != nil {
		return err
	}
	if last := to.history.last; last != nil {
		return &NameInUseError{Name: to.name, Status: last.Info.Status, Deployed: to.history.deployed != nil, Renaming: true}
	}
	record, err := from.readRecord(ctx)
	if err != nil {
		return err
	}
	if err := w.leave(record.items); err != nil {
		return err
	}
	for _, o := range w.out.Objects {
		if o.Exists && o.Was == o.Will {
			w.out.Warnings = append(w.out.Warnings, fmt.Sprintf("%s does not belong to release %s, and its labels and "+
				"annotations stay", o, from.name))
		}
	}
	text := from.before.Manifest
	from.newRevision(from.before, w.verb, "")
	to.newRevision(from.before, w.verb, text)
	to.release.Revision = from.release.Revision
	to.release.Manifest = ""
	w.out.Warnings = append(w.out.Warnings, w.nextUpgrade(ctx)...)
	if w.out.From, err = Compare(from.before, from.release); err != nil {
		return err
	}
	w.out.To, err = Compare(nil, to.release)
	return err
}
