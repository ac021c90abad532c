// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/term"
)

// exampleCommands returns all commands that a user may call, by their paths.
func exampleCommands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	root := New(cmdutil.New(term.Streams{}))
	root.InitDefaultHelpCmd()
	walk(root, func(cmd *cobra.Command) { all[cmd.CommandPath()] = cmd })
	return all
}

// exampleLines returns the command lines of an example, without comments.
func exampleLines(example string) []string {
	var lines []string
	for line := range strings.Lines(example) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Each command has an example, which calls it, and of which every line is indented.
func TestCommandsHaveExamples(t *testing.T) {
	for path, cmd := range exampleCommands() {
		t.Run(path, func(t *testing.T) {
			lines := exampleLines(cmd.Example)
			if len(lines) == 0 {
				t.Fatal("the command has no example")
			}
			if !strings.Contains(cmd.Example, path) {
				t.Errorf("no line of the example calls %s:\n%s", path, cmd.Example)
			}
			for line := range strings.Lines(cmd.Example) {
				if strings.TrimSpace(line) != "" && (!strings.HasPrefix(line, "  ") || len(line) > 110) {
					t.Errorf("line %q is not indented by two, or too long", line)
				}
			}
			if strings.Contains(cmd.Long, "\n  "+path+" ") {
				t.Errorf("the long text has an example of its own, which no test runs:\n%s", cmd.Long)
			}
		})
	}
}

const examplesLogin = `echo "$TOKEN" | helm registry login registry.example.com -u ann --password-stdin`

// What an example needs beside the common files and releases.
var examplePreparations = map[string][]string{
	"helm":                  {"helm uninstall web"},
	"helm push":             {examplesLogin},
	"helm dependency build": {"helm dependency update ./umbrella"},
	"helm dependency list":  {"helm dependency update ./umbrella"},
	"helm plugin list":      {"helm plugin install ./my-plugin"},
	"helm plugin uninstall": {"helm plugin install ./my-plugin"},
	"helm plugin update":    {"helm plugin install https://example.com/ann/helm-hello --version ^1"},
	"helm registry":         {"helm package ./mychart"},
	"helm registry logout":  {examplesLogin},
	"helm uninstall":        {"helm install shop ./mychart", "helm install news ./mychart"},
	"helm apply": {
		"helm plan upgrade web ./mychart --save plan.json",
		"helm plan upgrade web-staging ./mychart --save sealed.json --seal-for $RECIPIENT",
		`echo "$PASSPHRASE" | helm plan install blog ./mychart --save signed.json --plain --sign --key ann --keyring secret.asc --passphrase-file -`,
	},
	"helm adopt":  {looseObjects, "helm disown loose deployment/web service/web configmap/web --yes"},
	"helm disown": {looseObjects, "helm mv loose persistentvolumeclaim/data configmap/settings secret/token web --yes"},
	"helm mv": {"helm install shop ./loose", "helm install db ./mychart",
		"helm install access ./mychart --namespace platform --create-namespace"},
	"helm plan show": {"helm plan upgrade web ./mychart --save plan.json"},
	"helm verify":    {`echo "$PASSPHRASE" | helm package ./mychart --sign --key ann --keyring secret.asc --passphrase-file -`},
}

// looseObjects installs what is given to another release.
const looseObjects = "helm install loose ./loose"

// What the lines of an example print, among other lines.
var exampleOutputs = map[string][]string{
	"helm":                       {`"example" already exists`, `example/web`, `NAME: web`, `Creating mychart`, `Rollback was a success`},
	"helm completion":            {`^$`},
	"helm completion bash":       {`^$`},
	"helm create":                {`Creating mychart`, `Creating charts/mychart`, `Creating scripted`},
	"helm dependency build":      {`web`},
	"helm dependency list":       {`web\s+\^1\.2\s+https://charts\.example\.com\s+ok`},
	"helm diff":                  {`replicas: [0-9]`},
	"helm adopt":                 {`adopted 2 objects into release web`, `adopted ConfigMap/web into release web`},
	"helm apply":                 {`Release "web" has been upgraded`, `no longer holds|does not hold`, `Release "web-staging" has been upgraded`, `NAME: blog`},
	"helm disown":                {`PersistentVolumeClaim/data`, `Secret/token`},
	"helm drift":                 {`no drift`, `helm_release_drifted`},
	"helm mv":                    {`PersistentVolumeClaim/data`, `ClusterRole/reader`},
	"helm plan":                  {`Saved the plan to plan\.json`, `Release "web" has been upgraded`},
	"helm plan install":          {`Saved the plan to plan\.json`},
	"helm plan rollback":         {`Saved the plan to plan\.json`},
	"helm plan show":             {`Plan to upgrade web`},
	"helm plan uninstall":        {`Saved the plan to plan\.json`},
	"helm plan upgrade":          {`Release "web" has been upgraded`},
	"helm rename":                {`shop`},
	"helm rollout":               {`web`},
	"helm crds":                  {`NAME\s+VERSIONS`, `NAME`, `\[\]`},
	"helm diff local":            {`replicas: `},
	"helm diff release":          {`web`},
	"helm diff revision":         {`replicas: 2`},
	"helm diff rollback":         {`replicas: 1`},
	"helm diff upgrade":          {`replicas: 3`, `to be changed`, `has been added`},
	"helm env":                   {`HELM_CACHE_HOME=".*helm"`},
	"helm get":                   {`replicaCount: 2`, `kind: Deployment`},
	"helm get all":               {`^web\b`},
	"helm get hooks":             {`test-connection`},
	"helm get manifest":          {`kind: Deployment`},
	"helm get metadata":          {`"revision":2`},
	"helm get notes":             {`NOTES:`},
	"helm get values":            {`COMPUTED VALUES:`},
	"helm graph":                 {`web\s+\^1\.2`, `n0\["group 1<br>`},
	"helm graph chart":           {`web\s+\^1\.2\s`},
	"helm graph release":         {`^1\. first$`, `flowchart LR`},
	"helm help":                  {`helm install \[NAME\] CHART`, `helm get values NAME`, `detailed-exitcode`},
	"helm history":               {`superseded`, `"revision":2`},
	"helm install":               {`NAME: blog`, `NAME: shop`, `NAME: news`, `NAMESPACE: prod`, `NAME: mychart-\d+`, `NAME: demo`},
	"helm lint":                  {`0 chart\(s\) failed`},
	"helm list":                  {`web .*deployed`, `web-staging`, `"name":"web"`},
	"helm lsp":                   {`^$`},
	"helm package":               {`mychart-0.1.0.tgz`, `dist/mychart-1.2.3.tgz`},
	"helm plugin install":        {`my-plugin`, `greet`, `other`, `hello`},
	"helm plugin list":           {`my-plugin`},
	"helm plugin uninstall":      {`my-plugin`},
	"helm plugin verify":         {`Ann <ann@example.com>`},
	"helm pull":                  {`Ann <ann@example.com>`},
	"helm push":                  {`Pushed: registry\.example\.com/charts/mychart:0\.1\.0`},
	"helm registry login":        {`Login Succeeded`},
	"helm registry logout":       {`Removing login credentials`},
	"helm repo add":              {`"example" already exists|"example" has been added`, `"private" has been added`},
	"helm repo list":             {`https://charts\.example\.com`},
	"helm repo remove":           {`"example" has been removed`},
	"helm repo update":           {`example`},
	"helm rollback":              {`Rollback was a success`},
	"helm readme":                {`\| replicaCount \| int`},
	"helm schema":                {`replicaCount`},
	"helm script":                {`Wrote mychart/\.luals/moonhelm\.lua`},
	"helm script repl":           {`^replicaCount: 1$`},
	"helm script types":          {`Wrote mychart/\.luals/moonhelm\.lua`},
	"helm values":                {`tag: 2 # --set image.tag=2`},
	"helm search":                {`example/web`, `artifacthub`},
	"helm search hub":            {`artifacthub`},
	"helm search repo":           {`example/web\s+1\.2\.0`, `1\.3\.0-rc\.1`, `oci://registry\.example\.com/charts/web`},
	"helm show":                  {`replicaCount`, `version: 1\.2\.0`, `# Web`},
	"helm status":                {`STATUS: deployed`, `"name":"web"`},
	"helm template":              {`kind: Deployment`},
	"helm test":                  {`Phase: +Succeeded`, `POD LOGS: web-mychart-test-connection`},
	"helm uninstall":             {`release "web" uninstalled`, `release "shop" uninstalled`, `release "news" uninstalled`},
	"helm upgrade":               {`Release "web" has been upgraded`, `Release "blog" does not exist. Installing it now`},
	"helm verify":                {`Ann <ann@example.com>`},
	"helm version":               {`BuildInfo`, `is newer than the newest release|is the newest release|is available`},
	"helm docs":                  {`^$`},
	"helm completion zsh":        nil,
	"helm dependency update":     {`web`},
	"helm registry":              {`Login Succeeded`, `Pushed:`, `NAME: shop`},
	"helm repo":                  {`example/web`, `NAME: shop`},
	"helm repo index":            {`mychart-0.1.0.tgz`},
	"helm plugin package":        {`my-plugin-`},
	"helm plugin":                {`my-plugin`},
	"helm plugin update":         {`hello`},
	"helm show values":           {`nginx`},
	"helm diff version":          {`\d+\.\d+\.\d+\+`},
	"helm completion fish":       nil,
	"helm show readme":           nil,
	"helm dependency":            {`web`},
	"helm show chart":            {`name: mychart`},
	"helm show all":              {`name: mychart`},
	"helm show crds":             nil,
	"helm completion powershell": nil,
}

// TestExamples runs the examples of all commands, each with files, repositories, a registry and a
// cluster of its own. A shell that is not there is not asked.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than ten seconds")
	}
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere Go ignores SSL_CERT_FILE, by which the sites of the examples are trusted")
	}
	common := newExampleSite(t)
	for path, cmd := range exampleCommands() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			home := common.user(t)
			if asksCluster.MatchString(cmd.Example) {
				home.withReleases(t)
			}
			for _, line := range examplePreparations[path] {
				home.run(t, line, 0)
			}
			var out strings.Builder
			for _, line := range exampleLines(cmd.Example) {
				out.WriteString(home.run(t, withAnswer(line), exampleExit(line)))
			}
			for _, want := range exampleOutputs[path] {
				if !regexp.MustCompile("(?m)" + want).MatchString(out.String()) {
					t.Errorf("nothing printed matches %q:\n%s", want, out.String())
				}
			}
		})
	}
}

// TestTopicExamples runs the lines of `helm help values`.
func TestTopicExamples(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("see TestExamples")
	}
	user := newExampleSite(t).user(t)
	user.withReleases(t)
	lines := 0
	for line := range strings.Lines(user.run(t, "helm help values", 0)) {
		line = strings.TrimSuffix(line, "\n")
		if flags, ok := strings.CutPrefix(line, "  --"); ok {
			line = "  helm template web ./mychart --" + flags
		}
		if line, ok := strings.CutPrefix(line, "  helm "); ok {
			lines++
			if out := user.run(t, "helm "+line, 0); !strings.Contains(out, ":") {
				t.Errorf("helm %s prints %q, want YAML", line, out)
			}
		}
	}
	if lines < 10 {
		t.Errorf("%d lines were run, want 10", lines)
	}
}

var asksCluster = regexp.MustCompile(`helm (install|upgrade|rollback|uninstall|list|status|history|get|test|diff|graph release|crds|adopt|apply|disown|drift|mv|plan|rename|rollout)\b`)

// asksUser matches the commands that ask at a terminal before they change something.
var asksUser = regexp.MustCompile(`^helm (adopt|disown|mv|rename) `)

// withAnswer returns line with the flag for what a user would answer at a terminal.
func withAnswer(line string) string {
	switch {
	case asksUser.MatchString(line) && !strings.Contains(line, "--yes") && !strings.Contains(line, "--dry-run"):
		return line + " --yes"
	case strings.Contains(line, "--rebase"):
		return line + " --auto-approve"
	}
	return line
}

// exampleExit returns the exit code of a line.
func exampleExit(line string) int {
	if strings.Contains(line, "--detailed-exitcode") {
		return 2
	}
	return 0
}

// exampleUser is a directory with files, and what a user of the examples has set.
type exampleUser struct {
	dir string
	env []string
}

// withReleases gives the user a cluster with the releases of the examples.
func (u *exampleUser) withReleases(t *testing.T) {
	t.Helper()
	filetest.WriteFile(t, filepath.Join(u.dir, "kubeconfig"), exampleCluster(t))
	for _, line := range []string{
		"helm install web ./mychart",
		"helm upgrade web ./mychart --set replicaCount=2",
		"helm install web-staging ./mychart",
		"helm install web ./mychart --namespace shop --create-namespace",
	} {
		u.run(t, line, 0)
	}
}

// run runs a line in the shell that it is written for, and returns what it prints.
func (u *exampleUser) run(t *testing.T, line string, exit int) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	switch {
	case strings.Contains(line, "completion zsh"):
		cmd = exec.Command("zsh", "-c", "autoload -U compinit; compinit -u; "+line)
	case strings.Contains(line, "| source"):
		cmd = exec.Command("fish", "-c", line)
	case strings.Contains(line, "powershell"):
		cmd = exec.Command("pwsh", "-NoProfile", "-Command", line)
	}
	if cmd.Err != nil {
		t.Skip(cmd.Err)
	}
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = u.dir, u.env, &out, &out
	_ = cmd.Run() // the exit code says it
	if got := cmd.ProcessState.ExitCode(); got != exit {
		t.Fatalf("$ %s\nexits with %d, want %d:\n%s", line, got, exit, out.String())
	}
	return out.String()
}

// environment returns the environment of a user whose files are in dir.
func (s *exampleSite) environment(dir string) []string {
	return exampleEnv(dir, append(s.hosts, "PASSPHRASE=secret",
		"RECIPIENT=age1la7pqze7x6sx624x7rh6z3hfvuj2wq393rna6catyfgerxzlay0s4kaw2n", "TOKEN=hunter2", "GIT_CONFIG_NOSYSTEM=1")...)
}
