// SPDX-License-Identifier: Apache-2.0

// Command klipper is the entry point of the image moonhelm-klipper, which k3s' helm-controller
// runs as a job in the place of klipper-helm: it reads the job's environment, arguments and
// mounted files, and calls helm.
//
//	klipper install [FLAGS OF HELM]   install or upgrade the chart
//	klipper delete                    uninstall the release, if it is there
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	j := job{root: "/", tmp: os.TempDir(), getenv: os.Getenv, helm: call}
	if err := j.run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "klipper:", err)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		os.Exit(1)
	}
}

// call runs helm. Its output goes to the job's log, or is returned for a query. As the first
// process of a container, klipper must pass on the signal that ends it: helm then records that
// it was interrupted.
func call(query bool, args ...string) ([]byte, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	cmd := exec.CommandContext(ctx, "helm", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	if query {
		return cmd.Output()
	}
	fmt.Println("helm", redacted(args))
	cmd.Stdout = os.Stdout
	return nil, cmd.Run()
}

// redacted is a command line without its password.
func redacted(args []string) string {
	args = slices.Clone(args)
	if i := slices.Index(args, "--password"); i >= 0 && i+1 < len(args) {
		args[i+1] = "***"
	}
	return strings.Join(args, " ")
}

// job is one run: where the volumes are mounted, and what is called.
type job struct {
	root, tmp string
	getenv    func(string) string
	helm      func(query bool, args ...string) ([]byte, error)
}

func (j job) run(args []string) error {
	name := j.getenv("NAME")
	if name == "" {
		return errors.New("NAME is not set: this is the entry point of a job of helm-controller")
	}
	if len(args) == 0 {
		return errors.New("usage: klipper install [FLAGS] | delete")
	}
	where := []string{"--namespace", j.namespace()}
	if timeout := j.getenv("TIMEOUT"); timeout != "" {
		where = append(where, "--timeout", timeout)
	}
	switch args[0] {
	case "delete":
		_, err := j.helm(false, append([]string{"uninstall", name, "--ignore-not-found", "--wait"}, where...)...)
		return err
	case "install":
		return j.install(name, withoutNamespace(args[1:]), where)
	}
	return fmt.Errorf("unknown action %q: want install or delete", args[0])
}

// namespace is where the release is to be.
func (j job) namespace() string {
	if target := j.getenv("TARGET_NAMESPACE"); target != "" {
		return target
	}
	return j.getenv("CHART_NAMESPACE")
}

// withoutNamespace leaves out --namespace, which the environment says too.
func withoutNamespace(args []string) []string {
	if i := slices.Index(args, "--namespace"); i >= 0 && i+1 < len(args) {
		return slices.Delete(slices.Clone(args), i, i+2)
	}
	return args
}

// install installs or upgrades. A release whose last operation has failed is dealt with as
// FAILURE_POLICY says; one that was interrupted is taken over by helm itself.
func (j job) install(name string, flags, where []string) error {
	chart, source, err := j.chart(name)
	if err != nil {
		return err
	}
	status, err := j.status(name)
	if err != nil {
		return err
	}
	if status == "failed" {
		switch policy := j.getenv("FAILURE_POLICY"); policy {
		case "abort":
			return fmt.Errorf("release %s has failed and failurePolicy is abort: repair or uninstall it", name)
		case "", "reinstall":
			if _, err := j.helm(false, append([]string{"uninstall", name, "--wait"}, where...)...); err != nil {
				return err
			}
		default:
			return fmt.Errorf("invalid FAILURE_POLICY %q: want abort or reinstall", policy)
		}
	}
	args := append([]string{"upgrade", name, chart, "--install"}, where...)
	args = append(append(args, source...), flags...)
	values, err := filepath.Glob(filepath.Join(j.root, "config", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range values { // values-01_HelmChart.yaml before values-10_HelmChartConfig.yaml
		args = append(args, "--values", file)
	}
	_, err = j.helm(false, args...)
	return err
}

// chart is what to install, and the flags that say where it comes from.
func (j job) chart(name string) (string, []string, error) {
	content := filepath.Join(j.root, "chart", name+".tgz.base64")
	if text, err := os.ReadFile(content); err == nil {
		archive, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			return "", nil, fmt.Errorf("chartContent: %w", err)
		}
		file := filepath.Join(j.tmp, name+".tgz")
		return file, nil, os.WriteFile(file, archive, 0o600)
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", nil, err
	}
	chart := strings.ReplaceAll(j.getenv("CHART"), apiPlaceholder,
		j.getenv("KUBERNETES_SERVICE_HOST")+":"+j.getenv("KUBERNETES_SERVICE_PORT"))
	if chart == "" {
		return "", nil, errors.New("neither CHART nor a chart's content is set")
	}
	flags, err := j.access()
	if repo := j.getenv("REPO"); repo != "" {
		// The controller names the repository after the release.
		chart = strings.TrimPrefix(chart, name+"/")
		flags = append(flags, "--repo", repo)
	}
	return chart, flags, err
}

// access is how to reach the repository or registry: credentials, certificates and authorities.
func (j job) access() ([]string, error) {
	var flags []string
	user, err := j.secret("username")
	if err != nil {
		return nil, err
	}
	password, err := j.secret("password")
	if err != nil {
		return nil, err
	}
	if user != "" {
		flags = append(flags, "--username", user, "--password", password)
	}
	for _, f := range []struct{ file, flag string }{
		{"auth/tls.crt", "--cert-file"}, {"auth/tls.key", "--key-file"},
	} {
		if file := filepath.Join(j.root, f.file); exists(file) {
			flags = append(flags, f.flag, file)
		}
	}
	ca, err := j.authorities()
	if err != nil {
		return nil, err
	}
	if ca != "" {
		flags = append(flags, "--ca-file", ca)
	}
	for _, f := range []struct{ variable, flag string }{
		{"AUTH_PASS_CREDENTIALS", "--pass-credentials"}, {"INSECURE_SKIP_TLS_VERIFY", "--insecure-skip-tls-verify"},
		{"PLAIN_HTTP", "--plain-http"},
	} {
		if j.getenv(f.variable) == "true" {
			flags = append(flags, f.flag)
		}
	}
	return flags, nil
}

// clusterCA is the file of a pod's service account with the cluster's certificate authority.
const clusterCA = "var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

// apiPlaceholder stands in CHART for the address of the API server.
const apiPlaceholder = "%{KUBERNETES_API}%"

// authorities gathers repoCA, the files of repoCAConfigMap and, if the chart comes from the API
// server, the cluster's authority in one file.
func (j job) authorities() (string, error) {
	files, err := filepath.Glob(filepath.Join(j.root, "ca-files", "*"))
	if err != nil {
		return "", err
	}
	if file := filepath.Join(j.root, "config", "ca-file.pem"); exists(file) {
		files = append(files, file)
	}
	// A chart of the API server's own static files has the cluster's certificate.
	if strings.Contains(j.getenv("CHART"), apiPlaceholder) {
		if file := filepath.Join(j.root, clusterCA); exists(file) {
			files = append(files, file)
		}
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all = append(append(all, text...), '\n')
	}
	if len(all) == 0 {
		return "", nil
	}
	file := filepath.Join(j.tmp, "repository-ca.pem")
	return file, os.WriteFile(file, all, 0o600)
}

// secret reads a file of authSecret; "" where there is none.
func (j job) secret(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(j.root, "auth", name))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSuffix(string(text), "\n"), err
}

// status is that of the release's last revision; "" where there is no release.
func (j job) status(name string) (string, error) {
	out, err := j.helm(true, "list", "--all", "--namespace", j.namespace(), "--filter", "^"+name+"$", "--output", "json")
	if err != nil {
		return "", err
	}
	var releases []struct{ Status string }
	if err := json.Unmarshal(out, &releases); err != nil {
		return "", fmt.Errorf("helm list: %w", err)
	}
	if len(releases) == 0 {
		return "", nil
	}
	return releases[0].Status, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
