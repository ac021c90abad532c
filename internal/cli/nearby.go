// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
)

// nearbyTimeout limits the requests for a hint about a release that does not exist.
const nearbyTimeout = 3 * time.Second

// withNearby returns err with hints if it says that a release does not exist: the other namespaces
// that have a release of that name, or the releases with similar names. It makes two requests, and
// ignores their errors: the user may not be permitted to list other namespaces.
func withNearby(ctx context.Context, f *cmdutil.Factory, err error) error {
	missing, ok := missingRelease(err)
	if !ok || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, nearbyTimeout)
	defer cancel()
	found := nearby(ctx, f.Records, missing)
	if len(found) == 0 {
		return err
	}
	if _, ok := errors.AsType[*action.NoReleaseError](err); ok {
		found = append(found, "to install it as a new release, add --install")
	}
	return hint.With(err, strings.Join(found, "\n"))
}

// missingRelease returns the release that err says does not exist.
func missingRelease(err error) (storage.Key, bool) {
	var (
		unknown  *storage.NotFoundError
		upgraded *action.NoReleaseError
	)
	switch {
	case errors.As(err, &unknown) && unknown.Revision == 0:
		return unknown.Key, true
	case errors.As(err, &upgraded) && !upgraded.Uninstalled:
		return storage.Key{Namespace: upgraded.Namespace, Name: upgraded.Name}, true
	}
	return storage.Key{}, false
}

// nearby returns hints about the release missing. records opens the records of a namespace, or of
// all for "".
func nearby(ctx context.Context, records func(namespace string) (*storage.Storage, error),
	missing storage.Key) []string {
	var hints []string
	if all, err := records(""); err == nil {
		if found, err := all.Revisions(ctx, missing.Name); err == nil {
			hints = append(hints, elsewhere(missing.Name, namespacesOf(found))...)
		}
	}
	if own, err := records(missing.Namespace); err == nil {
		if near := suggest.Nearest(releaseNames(ctx, own), missing.Name); len(near) > 0 {
			hints = append(hints, "did you mean "+cmdutil.Enumerate(near, "or")+"?")
		}
	}
	return hints
}

// namespacesOf returns the namespaces in which the newest of the revisions is not uninstalled.
func namespacesOf(revisions []storage.Record) []string {
	newest := map[string]release.Status{}
	for _, r := range revisions { // oldest first
		newest[r.Namespace] = r.Status
	}
	var names []string
	for namespace, status := range newest {
		if status != release.Uninstalled {
			names = append(names, namespace)
		}
	}
	slices.Sort(names)
	return names
}

// elsewhere returns the hint that a release is installed in other namespaces.
func elsewhere(name string, namespaces []string) []string {
	const most = 5
	switch n := len(namespaces); {
	case n == 0:
		return nil
	case n == 1:
		return []string{fmt.Sprintf("%s is installed in namespace %s: add --namespace %[2]s", name, namespaces[0])}
	case n > most:
		namespaces = append(slices.Clone(namespaces[:most]), fmt.Sprintf("%d more", n-most))
	}
	return []string{fmt.Sprintf("%s is installed in the namespaces %s: select one with --namespace", name,
		cmdutil.Enumerate(namespaces, "and"))}
}

// releaseNames returns the names of the releases in the namespace of records, without duplicates, or
// none if they cannot be listed. It reads no record.
func releaseNames(ctx context.Context, records *storage.Storage) []string {
	var names []string
	_, err := records.List(ctx, storage.Filter{Name: func(name string) bool {
		names = append(names, name)
		return false
	}})
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}
