// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// takenFrom is a release that objects are taken from.
type takenFrom struct{ name, namespace string }

// warnOfTaken warns of objects that the plan takes over from other releases whose records still have
// them. Taking them over does not change those records: they may be in a namespace where the user may
// write nothing, and the lock of this release is held, so that taking another one could be the wrong
// order ([transfer.lockAll]). [Move] changes both.
func (d *deployment) warnOfTaken(ctx context.Context) error {
	if !d.applyOptions.TakeOwnership || d.plan == nil || d.config.Releases == nil {
		return nil
	}
	var others []takenFrom
	taken := map[takenFrom][]plan.Ref{}
	for _, s := range d.plan.Steps {
		from := d.ownerOf(s)
		if s.New == nil || from == (takenFrom{}) {
			continue
		}
		if taken[from] == nil {
			others = append(others, from)
		}
		taken[from] = append(taken[from], s.Ref)
	}
	for _, from := range others {
		still, err := d.stillRecorded(ctx, from, taken[from])
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(still) > 0 {
			d.config.warn(d.takenWarning(from, still, err))
		}
	}
	return nil
}

// ownerOf returns the other release that the live object of a step belongs to, or the zero value.
func (d *deployment) ownerOf(s plan.Step) takenFrom {
	live := liveObject{object: s.Live}
	from := takenFrom{live.annotation(release.NameAnnotation),
		cmp.Or(live.annotation(release.NamespaceAnnotation), s.Namespace)}
	own := takenFrom{d.release.Name, d.release.Namespace}
	if s.Live == nil || from == own || CheckName(from.name) != nil || checkNamespaceName(from.namespace) != nil {
		return takenFrom{}
	}
	return from
}

// stillRecorded returns those of refs that the newest revision of a release has. It returns all of them,
// with the error, if the record cannot be read.
func (d *deployment) stillRecorded(ctx context.Context, from takenFrom, refs []plan.Ref) ([]plan.Ref, error) {
	c, err := d.config.inNamespace(from.namespace)
	if err != nil {
		return refs, err
	}
	rel, err := c.Releases.Get(ctx, from.name, 0)
	if errors.Is(err, storage.ErrNotFound) || err == nil && rel.Info.Status == release.Uninstalled {
		return nil, nil
	}
	if err != nil {
		return refs, err
	}
	objects, err := recordedObjects(rel)
	if err != nil {
		return refs, err
	}
	return slices.DeleteFunc(slices.Clone(refs), func(r plan.Ref) bool {
		return !slices.ContainsFunc(objects, func(o *manifest.Object) bool {
			at := refOf(o, from.namespace)
			return sameObject(at, r) || sameObject(r, at)
		})
	}), nil
}

// maxDisowned is the number of objects that a suggested command names.
const maxDisowned = 10

// takenWarning returns the warning about objects that are taken from a release. err is why its record
// could not be read, or nil.
func (d *deployment) takenWarning(from takenFrom, refs []plan.Ref, err error) string {
	subject, it, is := refs[0].String(), "it", "is"
	if len(refs) > 1 {
		subject, it, is = fmt.Sprintf("%d objects", len(refs)), "them", "are"
	}
	still := "still has " + it
	if err != nil {
		still = fmt.Sprintf("may still have %s (it cannot be read: %s)", it, summaryOf(err))
	}
	return fmt.Sprintf("%s %s taken over from release %s in namespace %s, whose record %s: an upgrade of that release by "+
		"Helm would delete %s. Afterwards, %s takes %[6]s out of the record", subject, is, from.name, from.namespace, still,
		it, d.disownCommand(from, refs))
}

// disownCommand returns the command that takes objects out of the record of a release.
func (d *deployment) disownCommand(from takenFrom, refs []plan.Ref) string {
	command := "helm disown " + from.name
	for i, r := range refs {
		if i == maxDisowned {
			command += " ..."
			break
		}
		command += " "
		if r.Namespace != "" && r.Namespace != from.namespace {
			command += r.Namespace + "/"
		}
		command += r.String()
	}
	if from.namespace != d.config.namespace() {
		command += " --namespace " + from.namespace
	}
	return command
}
