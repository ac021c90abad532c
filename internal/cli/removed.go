// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// noTiller begins what is said of Helm 2's commands and flags for its server.
const noTiller = "there is no Tiller since Helm 3"

// removedCommand says what replaces a command that earlier versions of Helm had and
// Helm 4 does not have, "" for any other word.
func removedCommand(name string) string {
	switch name {
	case "init":
		return noTiller + ", so nothing has to be set up: helm repo add NAME URL adds a repository"
	case "reset":
		return noTiller + ", so nothing has to be removed from the cluster: helm uninstall NAME removes a release"
	case "serve":
		return "removed in Helm 3: any web server serves a directory of archives with the index that " +
			"helm repo index DIR writes"
	case "home":
		return "removed in Helm 3: helm env HELM_CONFIG_HOME, HELM_CACHE_HOME and HELM_DATA_HOME print the directories"
	case "chart":
		return "removed in Helm 3.7: helm package and helm push store a chart in a registry, helm pull " +
			"oci://HOST/PATH fetches it"
	}
	return ""
}

// removedFlag says what replaces a flag of a command ("uninstall") that earlier versions
// of Helm had and Helm 4 does not have, "" for any other.
func removedFlag(command, flag string) string {
	switch command + " --" + flag {
	case "uninstall --purge":
		return "an uninstall removes the history too, unless --keep-history is given: leave it out"
	case "install --name", "template --name":
		return "the name comes first: helm " + command + " NAME CHART"
	case "template --execute":
		return "--show-only FILE prints what one template renders to"
	case "template --notes":
		return "helm install --dry-run=client prints the notes too"
	case "install --dep-up", "package --dep-up", "upgrade --dep-up":
		return "use --dependency-update"
	case "install --no-crd-hook", "upgrade --no-crd-hook":
		return "use --skip-crds"
	case "test --cleanup":
		return `the annotation helm.sh/hook-delete-policy: hook-succeeded,hook-failed on a test removes it`
	case "list --deleted":
		return "use --uninstalled"
	case "list --deleting":
		return "use --uninstalling"
	case "package --save":
		return "there is no local repository any more: leave it out"
	}
	switch {
	case flag == "home":
		return "HELM_CONFIG_HOME, HELM_CACHE_HOME and HELM_DATA_HOME choose the directories"
	case flag == "tiller-namespace":
		return noTiller + ": a release is recorded in its own namespace, which --namespace chooses"
	case flag == "host", flag == "tiller-connection-timeout", flag == "tls", strings.HasPrefix(flag, "tls-"):
		return noTiller + ": leave it out; the kubeconfig says how the cluster is reached"
	}
	return ""
}
