// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
)

// Adopt makes objects that exist in the cluster a release's. In the cluster only the labels and
// annotations change that say which release they belong to.
type Adopt struct{ *Config }

// An AdoptRequest is the request of [Adopt]. Name is required, and one of Objects, Kinds and
// Manifests.
type AdoptRequest struct {
	Name    string
	Objects []ObjectName
	// Kinds and Selector select objects in the release's namespace by their labels.
	Kinds    []string
	Selector string
	// Manifests are the manifests of objects, which the record gets as they are. Of other objects it
	// gets what [plan.Declared] returns for the live object.
	Manifests []*manifest.Object
	TransferOptions
}

// Plan returns what Run would change, and writes nothing. Errors are those of Run before anything is
// written.
func (a Adopt) Plan(ctx context.Context, req AdoptRequest) (*Transfer, error) {
	return a.operation(req).plan(ctx)
}

// Run adopts the objects, as a new revision of the release. If it fails, the objects are as before.
//
// Errors are those of [Disown.Run] except [*NotInReleaseError]; [*ObjectsError] for objects that do
// not exist or belong to someone else, and [*kube.KindError].
func (a Adopt) Run(ctx context.Context, req AdoptRequest) (*Transfer, error) {
	return a.operation(req).run(ctx)
}

type adoptOperation struct {
	*transfer
	req AdoptRequest
}

func (a Adopt) operation(req AdoptRequest) *adoptOperation {
	w := &adoptOperation{a.newTransfer(release.TransferAdopt, "", req.Name, req.TransferOptions), req}
	w.prepare = w.planChange
	return w
}

func (w *adoptOperation) planChange(ctx context.Context) error {
	to := w.to
	if err := to.requireDeployed(ctx, w.verb); err != nil {
		return err
	}
	record, err := to.readRecord(ctx)
	if err != nil {
		return err
	}
	objects, err := w.find(ctx)
	if err != nil {
		return err
	}
	var added []*manifest.Object
	for _, f := range objects {
		known := record.find(f.Ref)
		if known != nil && f.Ownership == to.owner() {
			continue // it is the release's already
		}
		if known != nil {
			w.journal(f, to.owner(), nil)
			continue
		}
		o, omitted, err := w.manifestOf(f)
		if err != nil {
			return err
		}
		added = append(added, o)
		w.journal(f, to.owner(), omitted)
		w.warnOfDeletion(f, o)
	}
	if len(w.out.Objects) == 0 {
		return nil
	}
	all := append(record.without(nil), added...)
	manifest.SortInstall(all)
	to.newRevision(to.before, w.verb, manifest.Format(all))
	w.out.To, err = to.change()
	return err
}

// find returns the live objects of the request, each once. The error lists all that cannot be
// adopted.
func (w *adoptOperation) find(ctx context.Context) ([]*apply.FoundObject, error) {
	namespace := w.to.namespace()
	problems := &ObjectsError{Operation: w.verb}
	all, err := w.findManifests(ctx, problems)
	if err != nil {
		return nil, err
	}
	for _, n := range w.req.Objects {
		f, err := w.Cluster.FindNamed(ctx, n.Kind, cmp.Or(n.Namespace, namespace), n.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	selected := 0
	for _, kind := range w.req.Kinds {
		found, err := w.Cluster.FindSelected(ctx, kind, namespace, w.req.Selector)
		if err != nil {
			return nil, err
		}
		selected += len(found)
		all = append(all, found...)
	}
	if len(w.req.Kinds) > 0 && selected == 0 {
		problems.add(strings.Join(w.req.Kinds, ", "),
			fmt.Sprintf("the selector %q selects none in namespace %q", w.req.Selector, namespace))
	}
	seen := map[plan.Ref]bool{}
	var out []*apply.FoundObject
	for _, f := range all {
		if seen[f.Identity()] {
			continue
		}
		seen[f.Identity()] = true
		if why := w.refusal(f); why != "" {
			problems.add(kube.ObjectName(f.Kind, f.Namespace, f.Name), why)
			problems.Similar = append(problems.Similar, w.similar(ctx, f)...)
		}
		out = append(out, f)
	}
	if len(problems.Problems) > 0 {
		return nil, problems
	}
	return out, nil
}

// findManifests returns the live objects of the manifests, and adds those that have none to problems.
func (w *adoptOperation) findManifests(ctx context.Context, problems *ObjectsError) ([]*apply.FoundObject, error) {
	items, err := manifest.Flatten(w.req.Manifests)
	if err != nil {
		return nil, err
	}
	var complete []*manifest.Object
	for _, o := range items {
		switch {
		case o.Empty:
		case o.Kind == "" || o.APIVersion == "" || o.Name == "":
			problems.add(fmt.Sprintf("an object in %s", o.Source), "it lacks apiVersion, kind or metadata.name")
		default:
			complete = append(complete, o)
		}
	}
	found, err := w.Cluster.Find(ctx, complete, w.to.namespace())
	if err != nil {
		return nil, err
	}
	for _, o := range complete {
		if !slices.ContainsFunc(found, func(f *apply.FoundObject) bool { return f.Object == o }) {
			problems.add(o.String(), "the cluster serves no "+o.Kind+" of "+o.APIVersion)
		}
	}
	return found, nil
}

// similar returns the names of existing objects that are similar to one that does not exist. It ignores
// errors: the user may not be permitted to list objects.
func (w *adoptOperation) similar(ctx context.Context, f *apply.FoundObject) []string {
	if f.Live != nil {
		return nil
	}
	kind := f.Kind
	if group := manifest.Group(f.APIVersion); group != "" {
		kind += "." + group
	}
	names, err := w.Cluster.FindNames(ctx, kind, f.Namespace)
	if err != nil {
		return nil
	}
	out := suggest.Nearest(names, f.Name)
	for i, name := range out {
		out[i] = plan.Ref{Kind: f.Kind, Name: name}.String()
	}
	return out
}

// refusal returns why an object cannot be adopted, or "".
func (w *adoptOperation) refusal(f *apply.FoundObject) string {
	if f.Live == nil {
		return "it does not exist"
	}
	is := f.Ownership
	live := liveObject{object: f.Live}
	switch {
	case is.Release != "" && (is.Release != w.to.name || is.Namespace != w.to.namespace()):
		return belongsTo + fmt.Sprintf("%q in namespace %q", is.Release, is.Namespace)
	case live.releaseData(f.Name) != "":
		return "it is " + live.releaseData(f.Name)
	case f.Terminating():
		return "it is being deleted"
	case f.Controller() != "":
		return "it is controlled by " + f.Controller() + ", adopt that instead"
	case live.annotation(release.HookAnnotation) != "":
		return "it is a hook, which is not an object of a release"
	}
	return ""
}

// manifestOf returns the manifest of an object for the record, and the paths of the live object's
// fields that it does not have.
func (w *adoptOperation) manifestOf(f *apply.FoundObject) (*manifest.Object, []string, error) {
	if f.Object != nil {
		o, err := parseOne(w.source(f), f.Object.Raw)
		return o, nil, err
	}
	object, omitted := plan.Declared(f.Live)
	if meta, _ := object["metadata"].(map[string]any); f.Namespace == w.to.namespace() {
		delete(meta, "namespace")
	}
	text, err := manifest.Encode(object)
	if err != nil {
		return nil, nil, err
	}
	o, err := parseOne(w.source(f), text)
	return o, omitted, err
}

// source returns the path under which the record has an adopted object.
func (w *adoptOperation) source(f *apply.FoundObject) string {
	root := w.to.name
	if meta, err := w.to.before.Metadata(); err == nil && meta != nil {
		root = meta.Name
	}
	return fmt.Sprintf("%s/adopted/%s-%s.yaml", root, strings.ToLower(f.Kind), f.Name)
}

// warnOfDeletion warns that the next upgrade deletes an object which the chart lacks.
func (w *adoptOperation) warnOfDeletion(f *apply.FoundObject, o *manifest.Object) {
	if isKept(o) {
		return
	}
	w.out.Warnings = append(w.out.Warnings, fmt.Sprintf("the next upgrade of release %s deletes %s/%s%s unless its chart "+
		"contains it", w.to.name, f.Kind, f.Name, losses(o)))
}
