// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The mounts and variables of helm-controller, and the command lines that result. ROOT and TMP
// are directories of the case. helm list is omitted from the calls.
var cases = map[string]struct {
	args   []string
	env    map[string]string
	files  map[string]string
	status string // of the release's last revision, "" for none
	fail   string // the verb of helm that fails

	want    []string // the calls of helm
	wantErr string
}{
	"a chart of a repository": {
		args: []string{"install", "--namespace", "web", "--create-namespace", "--version", "1.2.3", "--set", "a=1"},
		env:  map[string]string{"CHART": "site/nginx", "REPO": "https://charts.example.com", "TARGET_NAMESPACE": "web"},
		want: []string{"upgrade site nginx --install --namespace web --repo https://charts.example.com --create-namespace --version 1.2.3 --set a=1"},
	},
	"a chart of a registry": {
		args: []string{"install"}, env: map[string]string{"CHART": "oci://registry.example.com/charts/nginx", "PLAIN_HTTP": "true"},
		want: []string{"upgrade site oci://registry.example.com/charts/nginx --install --namespace kube-system --plain-http"},
	},
	"a chart of the API server": {
		args: []string{"install"},
		env: map[string]string{"CHART": "https://%{KUBERNETES_API}%/static/charts/traefik.tgz",
			"KUBERNETES_SERVICE_HOST": "10.43.0.1", "KUBERNETES_SERVICE_PORT": "443"},
		want: []string{"upgrade site https://10.43.0.1:443/static/charts/traefik.tgz --install --namespace kube-system"},
	},
	"a chart of the API server, with the cluster's authority": {
		args: []string{"install"},
		env: map[string]string{"CHART": "https://%{KUBERNETES_API}%/static/charts/traefik.tgz",
			"KUBERNETES_SERVICE_HOST": "10.43.0.1", "KUBERNETES_SERVICE_PORT": "443"},
		files: map[string]string{"var/run/secrets/kubernetes.io/serviceaccount/ca.crt": "cluster"},
		want: []string{"upgrade site https://10.43.0.1:443/static/charts/traefik.tgz --install --namespace kube-system" +
			" --ca-file TMP/repository-ca.pem"},
	},
	"a chart in the resource": {
		args: []string{"install"}, files: map[string]string{"chart/site.tgz.base64": base64.StdEncoding.EncodeToString([]byte("archive"))},
		want: []string{"upgrade site TMP/site.tgz --install --namespace kube-system"},
	},
	"a chart in the resource that is not base64": {
		args: []string{"install"}, files: map[string]string{"chart/site.tgz.base64": "!"}, wantErr: "chartContent",
	},
	"values of both resources, in their order": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c"},
		files: map[string]string{"config/values-10_HelmChartConfig.yaml": "a: 2", "config/values-01_HelmChart.yaml": "a: 1"},
		want: []string{"upgrade site ./c --install --namespace kube-system" +
			" --values ROOT/config/values-01_HelmChart.yaml --values ROOT/config/values-10_HelmChartConfig.yaml"},
	},
	"credentials and certificates": {
		args: []string{"install"},
		env:  map[string]string{"CHART": "site/c", "REPO": "https://r.example", "AUTH_PASS_CREDENTIALS": "true", "INSECURE_SKIP_TLS_VERIFY": "true"},
		files: map[string]string{"auth/username": "me", "auth/password": "secret", "auth/tls.crt": "c", "auth/tls.key": "k",
			"config/ca-file.pem": "one", "ca-files/two.pem": "two"},
		want: []string{"upgrade site c --install --namespace kube-system --username me --password secret" +
			" --cert-file ROOT/auth/tls.crt --key-file ROOT/auth/tls.key --ca-file TMP/repository-ca.pem" +
			" --pass-credentials --insecure-skip-tls-verify --repo https://r.example"},
	},
	"a timeout": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c", "TIMEOUT": "10m0s"},
		want: []string{"upgrade site ./c --install --namespace kube-system --timeout 10m0s"},
	},
	"a release that is deployed": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c"}, status: "deployed",
		want: []string{"upgrade site ./c --install --namespace kube-system"},
	},
	"a release that was interrupted": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c"}, status: "pending-upgrade",
		want: []string{"upgrade site ./c --install --namespace kube-system"},
	},
	"a release that has failed": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c"}, status: "failed",
		want: []string{"uninstall site --wait --namespace kube-system", "upgrade site ./c --install --namespace kube-system"},
	},
	"a release that has failed, and is to stay": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c", "FAILURE_POLICY": "abort"}, status: "failed",
		wantErr: "failurePolicy is abort",
	},
	"a policy that is none": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c", "FAILURE_POLICY": "hope"}, status: "failed",
		wantErr: "want abort or reinstall",
	},
	"delete": {
		args: []string{"delete"}, env: map[string]string{"TARGET_NAMESPACE": "web"},
		want: []string{"uninstall site --ignore-not-found --wait --namespace web"},
	},
	"helm fails": {
		args: []string{"install"}, env: map[string]string{"CHART": "./c"}, fail: "upgrade",
		want: []string{"upgrade site ./c --install --namespace kube-system"}, wantErr: "helm failed",
	},
	"helm cannot list":  {args: []string{"install"}, env: map[string]string{"CHART": "./c"}, fail: "list", wantErr: "helm failed"},
	"no chart":          {args: []string{"install"}, wantErr: "neither CHART nor"},
	"an unknown action": {args: []string{"test"}, wantErr: "unknown action"},
	"no action":         {wantErr: "usage"},
	"no job":            {args: []string{"install"}, env: map[string]string{"NAME": ""}, wantErr: "NAME is not set"},
}

func TestJobs(t *testing.T) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			root, tmp := t.TempDir(), t.TempDir()
			for file, text := range test.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			env := map[string]string{"NAME": "site", "CHART_NAMESPACE": "kube-system"}
			for key, value := range test.env {
				env[key] = value
			}
			var calls []string
			j := job{root: root, tmp: tmp, getenv: func(key string) string { return env[key] },
				helm: func(query bool, args ...string) ([]byte, error) {
					if args[0] == test.fail {
						err := errors.New("helm failed")
						if !query {
							calls = append(calls, strings.Join(args, " "))
						}
						return nil, err
					}
					if query {
						if test.status == "" {
							return []byte("[]\n"), nil
						}
						return []byte(`[{"name":"site","status":"` + test.status + `"}]`), nil
					}
					calls = append(calls, strings.NewReplacer(root, "ROOT", tmp, "TMP").Replace(strings.Join(args, " ")))
					return nil, nil
				}}
			err := j.run(test.args)
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("error: got %v, want one with %q", err, test.wantErr)
			}
			if !slices.Equal(calls, test.want) {
				t.Errorf("calls:\n got %q\nwant %q", calls, test.want)
			}
		})
	}
}

func TestThePasswordIsNotLogged(t *testing.T) {
	got := redacted([]string{"upgrade", "--username", "me", "--password", "secret", "--wait"})
	if want := "upgrade --username me --password *** --wait"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheArchiveIsDecoded(t *testing.T) {
	root, tmp := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "chart"), 0o755); err != nil {
		t.Fatal(err)
	}
	// base64 of a ConfigMap may have been wrapped.
	if err := os.WriteFile(filepath.Join(root, "chart", "site.tgz.base64"), []byte("aGVs\nbG8=\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, _, err := job{root: root, tmp: tmp, getenv: func(string) string { return "" }}.chart("site")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v, want hello", got, err)
	}
}
