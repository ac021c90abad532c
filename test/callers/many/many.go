// SPDX-License-Identifier: Apache-2.0

// Package many writes a helmfile of 26 releases with small charts, to compare the results of
// helmfile with different binaries:
//
//	many.Write(dir)
//	// cd dir && GREETING=bye helmfile -n NAMESPACE apply
//
// A ConfigMap of every release contains GREETING, so another value changes all of them.
// Releases of the second and third tier depend on some of the tier before.
package many

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Releases is the number of releases.
const Releases = 26

const chart = `apiVersion: v2
name: %s
version: 1.0.0
`

const values = `replicas: 1
image: nginx:1.27
port: 80
greeting: hello
`

// templates are the templates of every chart.
var templates = map[string]string{
	"deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {app: {{ .Release.Name }}, chart: {{ .Chart.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
    spec:
      serviceAccountName: {{ .Release.Name }}
      containers:
      - name: main
        image: {{ .Values.image }}
        ports:
        - containerPort: {{ .Values.port }}
        envFrom:
        - configMapRef: {name: {{ .Release.Name }}}
`,
	"service.yaml": `apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {app: {{ .Release.Name }}}
  ports:
  - port: {{ .Values.port }}
`,
	"config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting | quote }}
  port: {{ .Values.port | quote }}
`,
	"account.yaml": `apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
`,
}

// budget is a template of every other chart.
const budget = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Release.Name }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {app: {{ .Release.Name }}}
`

// Write writes helmfile.yaml.gotmpl and its charts to dir.
func Write(dir string) error {
	files := map[string]string{}
	for i, name := range []string{"api", "worker", "web", "cache"} {
		base := filepath.Join("charts", name)
		files[filepath.Join(base, "Chart.yaml")] = fmt.Sprintf(chart, name)
		files[filepath.Join(base, "values.yaml")] = values
		for file, text := range templates {
			files[filepath.Join(base, "templates", file)] = text
		}
		if i%2 == 0 {
			files[filepath.Join(base, "templates", "budget.yaml")] = budget
		}
	}
	files["helmfile.yaml.gotmpl"] = helmfile()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// helmfile returns three tiers: the first ten releases, ten that need two of those, and six
// that need one of the second tier.
func helmfile() string {
	charts := []string{"api", "worker", "web", "cache"}
	var b strings.Builder
	b.WriteString("releases:\n")
	for i := range Releases {
		fmt.Fprintf(&b, "- name: %s\n  chart: ./charts/%s\n", release(i), charts[i%len(charts)])
		switch {
		case i >= 20:
			fmt.Fprintf(&b, "  needs: [%s]\n", release(i-10))
		case i >= 10:
			fmt.Fprintf(&b, "  needs: [%s, %s]\n", release(i-10), release((i-9)%10))
		}
		fmt.Fprintf(&b, "  values:\n  - port: %d\n    greeting: {{ env \"GREETING\" | default \"hello\" }}\n", 8000+i)
	}
	return b.String()
}

func release(i int) string { return "app-" + string(rune('a'+i)) }
