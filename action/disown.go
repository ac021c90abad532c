// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"

	"github.com/moonhelm/moonhelm/release"
)

// Disown takes objects out of a release. They stay in the cluster, without the labels and annotations
// that say which release they belong to.
type Disown struct{ *Config }

// A DisownRequest is the request of [Disown]. Name and Objects are required.
type DisownRequest struct {
	Name    string
	Objects []ObjectName
	TransferOptions
}

// Plan returns what Run would change, and writes nothing. Errors are those of Run before anything is
// written.
func (d Disown) Plan(ctx context.Context, req DisownRequest) (*Transfer, error) {
	return d.operation(req).plan(ctx)
}

// Run takes the objects out of the release, as a new revision. If it fails, the objects belong to the
// release as before.
//
// Errors: [*NotInReleaseError], [*NotDeployedError], [*UnfinishedTransferError], [*TransferError] if
// it has failed after it had begun to write, and those of [Upgrade.Run] about records, locks and
// permissions.
func (d Disown) Run(ctx context.Context, req DisownRequest) (*Transfer, error) {
	return d.operation(req).run(ctx)
}

type disownOperation struct {
	*transfer
	req DisownRequest
}

func (d Disown) operation(req DisownRequest) *disownOperation {
	w := &disownOperation{d.newTransfer(release.TransferDisown, req.Name, "", req.TransferOptions), req}
	w.prepare = w.planChange
	return w
}

func (w *disownOperation) planChange(ctx context.Context) error {
	from := w.from
	if _, err := w.takeOut(ctx, w.req.Objects); err != nil {
		return err
	}
	w.out.Warnings = append(w.out.Warnings, fmt.Sprintf("if the chart of release %s still contains %s, its next upgrade "+
		"stops, because of objects that are not its own", from.name, subjectOf(w.out.Objects)))
	var err error
	w.out.From, err = from.change()
	return err
}
