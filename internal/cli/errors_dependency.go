// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"path"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
)

// dependencyHints say what to do about the charts that a chart depends on.
func dependencyHints(err error) []string {
	var (
		sync        *dependency.SyncError
		republished *action.RepublishedError
		missing     *action.MissingDependenciesError
		bad         *chart.InvalidError
		credentials *action.CredentialsError
	)
	switch {
	case errors.As(err, &sync): // close to Helm's words, which scripts look for
		return []string{"Please update the dependencies with 'helm dependency update'; helm dependency list shows what is there"}
	case errors.As(err, &republished):
		return []string{"whoever publishes the chart can tell why; if you trust what is there now, 'helm dependency update' locks it"}
	case errors.As(err, &missing):
		return []string{"You may need to run 'helm dependency build' to fetch missing dependencies; helm dependency update fetches newer ones than those of Chart.lock; or drop them from Chart.yaml"}
	case errors.As(err, &credentials):
		return []string{"--username and --password are for one place; log in with helm registry login, or add the repositories with helm repo add"}
	case errors.As(err, &bad) && isLock(path.Base(bad.File)):
		return []string{"'helm dependency update' writes a new one; or take back the one that was there, from version control"}
	}
	return nil
}

func isLock(name string) bool {
	return name == chart.FileLock || name == chart.FileRequirementsLock
}
