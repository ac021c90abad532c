// SPDX-License-Identifier: Apache-2.0

package help

// topic is a subject of `helm help` that is not a command.
type topic struct {
	name, short string
	// text is the help. It is "" for topics that are made of the commands.
	text string
}

// topics returns the topics, sorted by name.
func topics() []topic {
	return []topic{
		{"environment", "Environment variables", environment},
		{"exit-codes", "Exit codes", exitCodes},
		{"flags", "Flags of all commands", ""},
		{"topics", "This list", ""},
		{"values", "Where values come from, and how to set them", values},
	}
}

const values = `The values of a release come from these places. Later ones win:

  1. values.yaml    of the chart; what a parent chart sets for a subchart wins over the
                    subchart's own
  2. --values, -f   YAML files, URLs, or - for standard input, in their order
  3. --set-json     key=json, or a whole object
  4. --set          key=value: numbers, true, false and null are what they look like
  5. --set-string   key=value: the value is a string
  6. --set-file     key=path: the value is the contents of a file
  7. --set-literal  key=value: the value is a string, commas and braces included

Maps are merged; lists and all else are replaced. null removes a key, also a default of
the chart or a subchart. Lists that the chart's schema gives keys merge by them, and
--set may name an item, 'env[name=LEVEL].value=debug'; an item with $patch: delete or
$patch: replace deletes or replaces the chart's.

In --set and its kin a dot enters a map, [0] an element of a list, {a,b} is a list, and a
backslash takes the meaning from the next character. Quote what your shell would expand:

  --set image.tag=1.27,replicaCount=3
  --set 'ingress.hosts[0].host=example.com'
  --set 'args={--verbose,--port=80}'
  --set 'nodeSelector.kubernetes\.io/os=linux'
  --set resources=null
  --set-json 'tolerations=[{"operator":"Exists"}]'

A subchart's values are below its name, or its alias; those below "global" are for all
charts of the tree. If a chart has a values.schema.json, values must meet it.

An upgrade without values keeps those of the last revision. With values, only those are
used, unless --reuse-values (the last values, chart defaults included) or
--reset-then-reuse-values (the new chart's defaults, then the last values) is given.

To see the defaults of a chart, the values of a release, where each value comes from, and
what becomes of them:

  helm show values ./mychart
  helm get values web --all
  helm values ./mychart --set replicaCount=3 --origin
  helm template web ./mychart --set replicaCount=3
`

const exitCodes = `A command ends with one of these codes:

  0      It is done. For lint: no error was found.
  1      It failed. The error is on standard error, with what to do about it. Also if it was
         interrupted, or if a question was answered with no.
  2      helm diff with --detailed-exitcode: there are changes.
  other  The code of a plugin is passed on.

A command that is interrupted records what it has done before it exits. A second interrupt
ends it immediately; the next command finds the pending record and repairs it.
`

const environment = `Variables set defaults for all commands. A flag wins over its variable. "helm env" prints
the values that are in force.

Files

  HELM_CONFIG_HOME                   directory of the configuration
  HELM_CACHE_HOME                    directory of what can be fetched again
  HELM_DATA_HOME                     directory of data, such as plugins
  HELM_REPOSITORY_CONFIG             file with the repositories that were added
  HELM_REPOSITORY_CACHE              directory of the indexes of repositories
  HELM_CONTENT_CACHE                 directory of downloaded charts
  HELM_REGISTRY_CONFIG               file with the credentials of registries
  HELM_PLUGINS                       directories of plugins, separated as in PATH
  DOCKER_CONFIG                      Docker's directory, for credentials of registries
  GNUPGHOME                          directory of the default keyring

Cluster

  KUBECONFIG                         kubeconfig files, separated as in PATH
  HELM_KUBECONTEXT                   context of the kubeconfig
  HELM_NAMESPACE                     namespace
  HELM_KUBEAPISERVER                 address and port of the API server
  HELM_KUBETOKEN                     bearer token
  HELM_KUBEASUSER                    user to impersonate
  HELM_KUBEASGROUPS                  groups to impersonate, separated by commas
  HELM_KUBECAFILE                    certificate authorities of the API server
  HELM_KUBETLS_SERVER_NAME           name in the API server's certificate
  HELM_KUBEINSECURE_SKIP_TLS_VERIFY  true: do not check the API server's certificate
  KUBERNETES_SERVICE_HOST            in a pod: host of the API server, if no kubeconfig
                                     names a cluster
  KUBERNETES_SERVICE_PORT            in a pod: port of the API server
  HELM_BURST_LIMIT                   accepted, without effect
  HELM_QPS                           accepted, without effect

Releases

  HELM_DRIVER                        where releases are recorded: secret, configmap, sql
                                     or memory
  HELM_DRIVER_SQL_CONNECTION_STRING  PostgreSQL database of the driver sql
  HELM_MAX_HISTORY                   number of revisions to keep, 0 for all
  HELM_PLAN_IDENTITY                 file with the secret key that opens sealed plans
  HELM_ACCEPT_STORED_HOOKS           true: recorded hooks may create objects outside of the
                                     release's namespace
  HELM_SCRIPT_MEMORY                 memory limit of charts' scripts, such as 512Mi
  HELM_EXPERIMENTAL_CHART_V3         set: read charts of the experimental apiVersion v3

Output and compatibility

  HELM_DEBUG                         true: show the whole chain of an error
  HELM_PROGRESS                      progress: auto, plain or none
  HELM_WIDE                          true: tables on a terminal as in a pipe
  LC_ALL                             locale; without UTF-8 helm draws with ASCII
  LC_CTYPE                           locale, if LC_ALL is not set
  LANG                               locale, if neither is set
  HELM_COLOR                         colours: auto, always or never
  NO_COLOR                           set: no colours
  HELM_WIDE                          true: whole cells and absolute times on a terminal too
  HELM_PAGER                         the program that shows long diffs on a terminal
  PAGER                              the same, if HELM_PAGER is not set
  LC_ALL                             the locale: without UTF-8, output is drawn with ASCII
  LC_CTYPE                           the same, if LC_ALL is not set
  LANG                               the same, if neither is set
  MOONHELM_RELEASES                  address of a mirror of the releases
  HELM_COMPAT                        3 or 4: the version of Helm to report
  HELM_BUILTIN                       built-in commands that plugins do not replace
  HELM_NO_PLUGINS                    true: load no plugins
  SOURCE_DATE_EPOCH                  time in archives and man pages, in seconds since 1970

For plugins

  HELM_BIN                           the program that calls the plugin
  HELM_PLUGIN_NAME                   name of the plugin
  HELM_PLUGIN_DIR                    directory of the plugin
  HELM_HOME                          the data directory, by Helm 2's name
  HELM_PATH_CACHE                    the cache directory, by Helm 2's name
  HELM_PATH_CONFIG                   the configuration directory, by Helm 2's name
  HELM_PATH_DATA                     the data directory, by Helm 2's name
`
