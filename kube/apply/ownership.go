// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/kube"
)

// Conflict is an object that exists and does not belong to the release.
type Conflict struct {
	Object string
	// Reason describes the object's ownership labels.
	Reason string
}

// ConflictError is returned if objects of a release exist and do not belong to it.
type ConflictError struct {
	Owner     kube.Owner
	Conflicts []Conflict
}

func (e *ConflictError) Error() string {
	var b strings.Builder
	b.WriteString("rendered manifests contain a resource that already exists")
	if n := len(e.Conflicts); n > 1 {
		b.Reset()
		fmt.Fprintf(&b, "rendered manifests contain %d resources that already exist", n)
	}
	fmt.Fprintf(&b, " and cannot be imported into the current release: invalid ownership metadata for release %q",
		e.Owner.Release)
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s: %s", c.Object, c.Reason)
	}
	return b.String()
}

// Hint returns advice for the user of the command line.
func (e *ConflictError) Hint() string {
	return "--take-ownership takes them over; otherwise delete them, or choose other names"
}
