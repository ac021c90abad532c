// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// noTiller begins the messages about Helm 2's commands and flags for its server.
const noTiller = "there is no Tiller since Helm 3"

// removedCommand returns what replaces a command that earlier versions of Helm had and Helm 4 does
// not have, or "" for other names.
func removedCommand(name string) string {
	switch name {
	case "init":
		return noTiller + ", and nothing to set up: helm repo add NAME URL adds a repository"
	case "reset":
		return noTiller + ", and nothing to remove from the cluster: helm uninstall NAME uninstalls a release"
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

// removedFlag returns what replaces a flag of a command that earlier versions of Helm had and Helm
// 4 does not have, or "" for other flags.
func removedFlag(command, flag string) string {
	switch command + " --" + flag {
	case "uninstall --purge":
		return "an uninstall removes the history too, unless --keep-history is given: omit the flag"
	case "install --name", "template --name":
		return "the name comes first: helm " + command + " NAME CHART"
	case "template --execute":
		return "--show-only FILE prints one rendered template"
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
		return "there is no local repository any more: omit the flag"
	}
	switch {
	case flag == "home":
		return "HELM_CONFIG_HOME, HELM_CACHE_HOME and HELM_DATA_HOME set the directories"
	case flag == "tiller-namespace":
		return noTiller + ": a release is recorded in its own namespace, which --namespace selects"
	case flag == "host", flag == "tiller-connection-timeout", flag == "tls", strings.HasPrefix(flag, "tls-"):
		return noTiller + ": omit the flag; the kubeconfig configures access to the cluster"
	}
	return ""
}
