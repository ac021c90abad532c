// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"maps"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/release"
)

// Move moves objects from one release to another. In the cluster only the labels and annotations
// change that say which release they belong to.
type Move struct{ *Config }

// A MoveRequest is the request of [Move]. Name, Objects and To are required.
type MoveRequest struct {
	Name    string
	Objects []ObjectName
	// To is the release that gets the objects, and ToNamespace its namespace, "" for the one of Name.
	To, ToNamespace string
	TransferOptions
}

// Plan returns what Run would change, and writes nothing. Errors are those of Run before anything is
// written.
func (m Move) Plan(ctx context.Context, req MoveRequest) (*Transfer, error) {
	return m.operation(req).plan(ctx)
}

// Run moves the objects. Both releases get a new revision. If it fails, the objects belong to the
// release as before. Errors are those of [Disown.Run], and [*ObjectsError].
func (m Move) Run(ctx context.Context, req MoveRequest) (*Transfer, error) {
	return m.operation(req).run(ctx)
}

type moveOperation struct {
	*transfer
	req MoveRequest
}

func (m Move) operation(req MoveRequest) *moveOperation {
	w := &moveOperation{m.newTransfer(release.TransferMove, req.Name, req.To, req.TransferOptions), req}
	w.prepare = w.planChange
	if w.to != nil {
		w.to.Config, w.invalid = w.inNamespace(req.ToNamespace)
	}
	return w
}

func (w *moveOperation) planChange(ctx context.Context) error {
	from, to := w.from, w.to
	if err := to.requireDeployed(ctx, w.verb); err != nil {
		return err
	}
	items, err := w.takeOut(ctx, w.req.Objects)
	if err != nil {
		return err
	}
	joined, err := w.join(ctx, items)
	if err != nil {
		return err
	}
	to.newRevision(to.before, w.verb, joined)
	subject := subjectOf(w.out.Objects)
	w.out.Warnings = append(w.out.Warnings,
		fmt.Sprintf("if the chart of release %s still contains %s, its next upgrade stops, because of objects that "+
			"are not its own", from.name, subject),
		fmt.Sprintf("if the chart of release %s lacks %s, its next upgrade deletes it",
			to.name, subject))
	if w.out.From, err = from.change(); err != nil {
		return err
	}
	w.out.To, err = to.change()
	return err
}

// join returns the manifest of the release that gets the items. Objects that it has already are
// replaced.
func (w *moveOperation) join(ctx context.Context, items []*recordItem) (string, error) {
	record, err := w.to.readRecord(ctx)
	if err != nil {
		return "", err
	}
	var replaced []*recordItem
	var added []*manifest.Object
	for _, i := range items {
		if same := record.find(i.Ref); same != nil {
			replaced = append(replaced, same)
		}
		o, err := w.inNewNamespace(i)
		if err != nil {
			return "", err
		}
		added = append(added, o)
	}
	all := append(record.without(replaced), added...)
	manifest.SortInstall(all)
	return manifest.Format(all), nil
}

// inNewNamespace returns the manifest of an item with its namespace, if it is not that of the release
// which gets it.
func (w *moveOperation) inNewNamespace(i *recordItem) (*manifest.Object, error) {
	namespaced := i.found == nil || i.found.Namespace != ""
	if i.object.Namespace != "" || !namespaced || i.Namespace == w.to.namespace() {
		return i.object, nil
	}
	return withNamespace(i.object, i.Namespace)
}

// withNamespace returns o in a namespace.
func withNamespace(o *manifest.Object, namespace string) (*manifest.Object, error) {
	object, err := o.Map()
	if err != nil {
		return nil, err
	}
	object = maps.Clone(object)
	meta, _ := object["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	meta["namespace"], object["metadata"] = namespace, meta
	text, err := manifest.Edit(o.Raw, object)
	if err != nil {
		return nil, err
	}
	return parseOne(o.Source, text)
}

// parseOne parses the text of one object.
func parseOne(source, text string) (*manifest.Object, error) {
	objects, err := manifest.Parse(source, text)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s: got %d objects, want one", source, len(objects))
	}
	return objects[0], nil
}
