// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/release"
)

// Hint suggests a command to the user.
func (e *NoReleaseError) Hint() string {
	if e.Uninstalled {
		return fmt.Sprintf("helm rollback %[1]s brings it back as it was; helm upgrade --install %[1]s installs it again",
			e.Name)
	}
	return "helm list --all-namespaces lists the releases\nto install it as a new release, add --install"
}

// Hint suggests a command to the user.
func (e *NoEarlierError) Hint() string {
	return fmt.Sprintf("helm history %s lists its revisions", e.Name)
}

// Hint suggests a command to the user.
func (e *OvertakenError) Hint() string {
	return fmt.Sprintf("helm history %s shows the result", e.Name)
}

// Hint suggests a command to the user.
func (e *RevisionsError) Hint() string {
	return fmt.Sprintf("no release gets so many revisions: check helm history %[1]s, and delete the "+
		"invalid records (kubectl delete secret sh.helm.release.v1.%[1]s.v%[2]d)", e.Name, e.Revision)
}

// Hint suggests a command to the user.
func (e *NameInUseError) Hint() string {
	const inUse = "helm cannot reuse a name that is still in use: " // Helm 4's words
	switch {
	case e.Renaming && !e.Deployed:
		return fmt.Sprintf("helm uninstall %s removes what is left of that release, its history too; or choose another name",
			e.Name)
	case e.Renaming:
		return fmt.Sprintf("choose another name; helm status %[1]s shows the release that has it, and helm mv moves objects "+
			"to that release", e.Name)
	case e.Deployed && !e.Status.Pending(): // an upgrade goes on from the deployed revision
	case e.Status == release.Failed:
		return inUse + fmt.Sprintf("helm upgrade --install %[1]s CHART tries again, helm uninstall %[1]s removes what is "+
			"left of the release; or --replace takes its name over", e.Name)
	case e.Status == release.Uninstalled:
		return inUse + fmt.Sprintf("helm uninstall %s removes what is left of the release, or --replace takes its name over",
			e.Name)
	case e.Status.Pending():
		return inUse + fmt.Sprintf("another helm is working on it, or was interrupted: then helm uninstall "+
			"%s removes its objects", e.Name)
	}
	return inUse + fmt.Sprintf("helm upgrade %[1]s CHART changes the release, helm status %[1]s shows it; "+
		"or choose another name", e.Name)
}

// Hint suggests a command to the user.
func (e *AlreadyUninstalledError) Hint() string {
	return fmt.Sprintf("helm uninstall %s, without --keep-history, removes its history too", e.Name)
}

// Hint suggests a command to the user.
func (e *ApplyOptionsError) Hint() string {
	if e.ForceReplace {
		return "--server-side=false with --force-replace replaces the objects; with server-side apply " +
			"the annotation helm.sh/replace: \"true\" replaces one that cannot be updated"
	}
	return "--conflicts and --force-conflicts are for server-side apply: leave them out, or use --server-side=true"
}

// Hint suggests a command to the user.
func (e *HookConflictError) Hint() string {
	return "--take-ownership lets hooks replace it; otherwise delete it, or give the hook another name"
}

// Hint suggests a command to the user.
func (e *OutsideError) Hint() string {
	return "helm get hooks " + e.Release + " shows them; --yes accepts them, HELM_ACCEPT_STORED_HOOKS=true " +
		"does so for every command; " +
		"uninstall and rollback with --no-hooks run no hooks"
}

// Hint suggests a command to the user, and what Ref may have meant.
func (e *ChartNotFoundError) Hint() string {
	const directory = "a chart's directory contains a Chart.yaml; helm create makes a new one"
	first, _, slash := strings.Cut(e.Ref, "/")
	switch {
	case strings.HasSuffix(e.Ref, ".tgz"):
		return "helm package makes archives of charts, helm pull fetches them"
	case !slash && e.Ref != "":
		return directory + "\n" + fmt.Sprintf("charts of repositories are named REPOSITORY/%s: helm search "+
			"repo %[1]s looks for it", e.Ref)
	case strings.Trim(first, ".") != "":
		return directory + "\n" +
			fmt.Sprintf("if it is the name of a chart elsewhere: helm pull %s --untar downloads it", e.Ref)
	}
	return directory
}

// Hint describes a chart's directory if there is none at a file:// path. It returns "" for
// other errors, which have their own hint.
func (e *DependencyError) Hint() string {
	if _, ok := errors.AsType[*ChartNotFoundError](e.Err); ok {
		return (&ChartNotFoundError{}).Hint()
	}
	return ""
}

// Hint suggests a command to the user.
func (e *RepublishedError) Hint() string {
	return "ask the publisher of the chart why; if you trust what is there now, 'helm dependency update' locks it"
}

// Hint suggests a command to the user.
func (e *MissingDependenciesError) Hint() string {
	return "You may need to run 'helm dependency build' to fetch missing dependencies; " +
		"helm dependency update fetches newer ones than those of Chart.lock; or drop them from Chart.yaml"
}

// Hint suggests a command to the user.
func (e *CredentialsError) Hint() string {
	return "--username and --password are for one host; log in with helm registry login, or add the " +
		"repositories with helm repo add"
}

// Hint suggests a command to the user.
func (e *KubeVersionError) Hint() string {
	return "helm template --kube-version renders for another version"
}

// Hint suggests a command to the user. It returns "" if there is none.
func (e *ListingError) Hint() string {
	var want *dependency.VersionError
	switch {
	case errors.As(e.Err, &want) && want.Problem != "":
		return ""
	case errors.As(e.Err, &want) && want.Want == "" && len(want.Have) > 0:
		return "--devel takes pre-releases too"
	case e.Repository != "":
		return fmt.Sprintf("helm repo update %[1]s fetches the newest index; helm search repo %[1]s/ --versions lists what "+
			"is in the one that is here", e.Repository)
	}
	return ""
}

// Hint suggests a command to the user.
func (e *RemoteError) Hint() string {
	if strings.Contains(e.Remote, "://") {
		return "plugins upload to other kinds of servers"
	}
	return fmt.Sprintf("did you mean oci://%s?", e.Remote)
}
