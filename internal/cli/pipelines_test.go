// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/filetest"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// A pipelineStep is a script of a pipeline.
type pipelineStep struct {
	job     string
	shell   []string
	script  string
	env     map[string]string
	changes bool // exit code 2 is not a failure
}

// TestPipelines runs the scripts of each pipeline of docs/pipelines.md on the control plane, job after job:
// what a runner does beside that (checkout, caches, secrets) is made up. The preview is run once more after
// the deployment, when nothing changes.
func TestPipelines(t *testing.T) {
	p := parseExamples(page(t, "pipelines.md"))
	for name, steps := range map[string]func(t *testing.T, text, dir string) []pipelineStep{
		"# .github/workflows/chart.yml": githubSteps,
		"# .gitlab-ci.yml":              gitlabSteps,
		"// Jenkinsfile":                jenkinsSteps,
	} {
		i := slices.IndexFunc(p.examples, func(e example) bool { return e.lines[0] == name })
		if i < 0 {
			t.Errorf("docs/pipelines.md has no block that begins with %q", name)
			continue
		}
		text := strings.Join(p.examples[i].lines, "\n") + "\n"
		t.Run(strings.Trim(name, "#/ "), func(t *testing.T) { runPipeline(t, text, steps) })
	}
	t.Run("the rest of the page", func(t *testing.T) {
		r := pipelineRunner(t)
		for _, e := range p.examples {
			if len(e.lines) > 0 && (e.kind == "run" || e.lang == "console") {
				r.run(t, e)
			}
		}
	})
}

func runPipeline(t *testing.T, text string, parse func(t *testing.T, text, dir string) []pipelineStep) {
	r := pipelineRunner(t)
	steps := parse(t, text, r.dir)
	var jobs []string
	run := func(want string, step pipelineStep) {
		t.Helper()
		jobs = append(jobs, step.job)
		cmd := exec.Command(step.shell[0], append(step.shell[1:], step.script)...)
		cmd.Dir, cmd.Env = r.dir, r.env
		for name, value := range step.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); err != nil && (!step.changes || code != 2) {
			t.Fatalf("%s: %v of\n%s\n%s", step.job, err, step.script, out)
		} else if got := fmt.Sprint(code); step.changes && want != "" && got != want {
			t.Errorf("%s: got exit code %s, want %s", step.job, got, want)
		}
	}
	for _, step := range steps {
		run("2", step)
	}
	for _, step := range steps {
		if step.job == "preview" {
			run("0", step)
		}
	}
	for _, job := range []string{"check", "preview", "deploy", "publish"} {
		if !slices.Contains(jobs, job) {
			t.Errorf("the pipeline has no job %q, only %v", job, jobs)
		}
	}
	for command, want := range map[string]string{
		"helm status web": "STATUS: deployed",
		"helm show chart oci://registry.example.com/charts/web --version 1.4.2 --verify --keyring releases.asc": "version: 1.4.2",
	} {
		if got, err := r.shell(command); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got %v\n%s\nwant %q", command, err, got, want)
		}
	}
}

// pipelineRunner returns a runner with a checked out chart that has a dependency and a lock.
func pipelineRunner(t *testing.T) *runner {
	t.Helper()
	r := newRunner(t, "pipelines.md", "cluster")
	kubeconfig, err := os.ReadFile(os.Getenv(apiserver.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(r.dir, "key.asc"))
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(r.dir, "bin")
	filetest.WriteFile(t, filepath.Join(bin, "gh"), "#!/bin/sh\necho \"$*\" >>gh.log\nwhile [ $# -gt 1 ]; do shift; done\ncat \"$1\" >>gh.log\n")
	if err := os.Chmod(filepath.Join(bin, "gh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env,
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"RUNNER_TEMP="+filepath.Join(r.dir, "temp"), "GITHUB_STEP_SUMMARY="+filepath.Join(r.dir, "summary.md"),
		"GITHUB_SHA=0a1b2c3", "GITHUB_REF_NAME=v1.4.2", "CI_PROJECT_DIR="+r.dir, "CI_COMMIT_SHA=0a1b2c3",
		"CI_COMMIT_TAG=v1.4.2", "WORKSPACE="+r.dir, "GIT_COMMIT=0a1b2c3", "TAG_NAME=v1.4.2",
		"SIGNING_KEY="+filepath.Join(r.dir, "key.asc"), "REGISTRY_PASSWORD=secret",
	)
	setup := `set -e
mkdir temp
helm create web
helm create db
helm package db -d www/charts
helm repo index www/charts
printf 'dependencies:\n- {name: db, version: ^0.1, repository: "https://charts.example.com"}\n' >>web/Chart.yaml
helm dependency update web
rm -r web/charts
printf 'replicaCount: 2\n' >production.yaml`
	if out, err := r.shell(setup); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	filetest.WriteFile(t, filepath.Join(r.dir, "secrets", "kubeconfig"), string(kubeconfig))
	filetest.WriteFile(t, filepath.Join(r.dir, "secrets", "key"), string(key))
	return r
}

var githubExpression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)

// githubSteps returns the scripts of a workflow, in the order of the jobs.
func githubSteps(t *testing.T, text, dir string) (steps []pipelineStep) {
	t.Helper()
	var workflow struct {
		Env  map[string]string `json:"env"`
		Jobs map[string]struct {
			Needs string `json:"needs"`
			Steps []struct {
				Run string            `json:"run"`
				Env map[string]string `json:"env"`
			} `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"github.workspace": dir, "github.token": "token", "github.event.number": "7", "secrets.REGISTRY_PASSWORD": "secret"}
	for name, file := range map[string]string{"secrets.KUBECONFIG": "kubeconfig", "secrets.SIGNING_KEY": "key"} {
		data, err := os.ReadFile(filepath.Join(dir, "secrets", file))
		if err != nil {
			t.Fatal(err)
		}
		known[name] = string(data)
	}
	expand := func(text string) string {
		return githubExpression.ReplaceAllStringFunc(text, func(expression string) string {
			name := githubExpression.FindStringSubmatch(expression)[1]
			value, ok := known[name]
			if !ok {
				t.Errorf("the test has no value for %s", expression)
			}
			return value
		})
	}
	for _, name := range []string{"check", "preview", "deploy", "publish"} {
		for _, s := range workflow.Jobs[name].Steps {
			if s.Run == "" {
				continue
			}
			if githubExpression.MatchString(s.Run) {
				t.Errorf("%s: an expression in a script: pass it by env, or what it holds is run\n%s", name, s.Run)
			}
			env := map[string]string{}
			for _, from := range []map[string]string{workflow.Env, s.Env} {
				for key, value := range from {
					env[key] = expand(value)
				}
			}
			steps = append(steps, pipelineStep{job: name, shell: []string{"bash", "-e", "-c"}, script: s.Run, env: env})
		}
	}
	if len(workflow.Jobs) != 4 {
		t.Errorf("got %d jobs, want those that this test runs", len(workflow.Jobs))
	}
	t.Cleanup(func() {
		log, err := os.ReadFile(filepath.Join(dir, "gh.log"))
		for _, want := range []string{"pr comment 7 --edit-last --create-if-none", "```diff\n", "Nothing would change."} {
			if err != nil || !strings.Contains(string(log), want) {
				t.Errorf("the comments: got %v\n%s\nwant %q", err, log, want)
			}
		}
	})
	return steps
}

// gitlabSteps returns the scripts of a .gitlab-ci.yml, in the order of its stages.
func gitlabSteps(t *testing.T, text, dir string) (steps []pipelineStep) {
	t.Helper()
	var head struct {
		Stages    []string          `json:"stages"`
		Variables map[string]string `json:"variables"`
	}
	var jobs map[string]any
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(text), &jobs); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for name, value := range head.Variables {
		env[name] = strings.ReplaceAll(value, "$CI_PROJECT_DIR", dir)
	}
	for _, name := range head.Stages {
		job, ok := jobs[name].(map[string]any)
		if !ok || job["stage"] != name {
			t.Errorf("there is no job %s of its stage", name)
			continue
		}
		lines, ok := job["script"].([]any)
		if !ok || len(lines) == 0 {
			t.Errorf("the job %s has no script", name)
		}
		var script strings.Builder
		for _, line := range lines {
			fmt.Fprintln(&script, line)
		}
		allowed := fmt.Sprint(job["allow_failure"]) == "map[exit_codes:[2]]"
		steps = append(steps, pipelineStep{job: name, shell: []string{"bash", "-eo", "pipefail", "-c"}, script: script.String(), env: env, changes: allowed})
	}
	return steps
}

// jenkinsSteps returns the scripts of a Jenkinsfile: what sh is given between three quotes.
func jenkinsSteps(t *testing.T, text, dir string) (steps []pipelineStep) {
	t.Helper()
	job := ""
	env := map[string]string{"HELM_CACHE_HOME": filepath.Join(dir, ".cache", "helm")}
	parts := regexp.MustCompile(`(?s)stage\('(\w+)'\)|(returnStatus: true)|'''(.*?)'''`).FindAllStringSubmatch(text, -1)
	status := false
	for _, m := range parts {
		switch {
		case m[1] != "":
			job = strings.ToLower(m[1])
		case m[2] != "":
			status = true
		default:
			// In ''' a backslash at the end of a line joins lines, for Groovy and for the shell.
			steps = append(steps, pipelineStep{job: job, shell: []string{"sh", "-e", "-c"}, script: m[3], env: env, changes: status})
			status = false
		}
	}
	return steps
}
