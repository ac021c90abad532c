// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/release"
)

// Hint returns advice for the user of the command line.
func (e *NotFoundError) Hint() string {
	if e.Revision > 0 {
		return fmt.Sprintf("helm history %s lists its revisions", e.Name)
	}
	return "helm list --all-namespaces shows what is installed; -n chooses the namespace"
}

// Hint returns advice for the user of the command line.
func (e *UnreadableError) Hint() string {
	if _, ok := errors.AsType[*release.UnsupportedError](e.Err); ok {
		return fmt.Sprintf("a client of another generation has written it, and it was left as it is: use that "+
			"client for release %[1]s, "+
			"or restore a record of this generation from a backup; helm history %[1]s shows which revisions are meant", e.Name)
	}
	return fmt.Sprintf("helm history %[1]s shows which revisions are damaged; one that cannot be restored from a "+
		"backup can be deleted: "+
		"kubectl delete secret sh.helm.release.v1.%[1]s.v%[2]d -n %[3]s", e.Name, e.Revision, e.Namespace)
}

// Hint returns advice for the user of the command line.
func (e *TooLargeError) Hint() string {
	return "leave files out that the chart does not need (.helmignore), or use HELM_DRIVER=sql"
}

// Hint returns advice for the user of the command line.
func (e *DatabaseError) Hint() string {
	return "HELM_DRIVER_SQL_CONNECTION_STRING is the connection string"
}

// Hint returns advice for the user of the command line.
func (e *ChangedError) Hint() string {
	return fmt.Sprintf("helm history %s shows what the other client did; then try again", e.Name)
}
