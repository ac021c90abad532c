// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// scriptWorkloads returns pairs of charts without and with scripts. The difference is the cost of
// scripts. Helm ignores ext/, so its work is the same.
func scriptWorkloads(dir string) ([]workload, error) {
	var list []workload
	for _, n := range []int{0, 100} {
		for _, scripts := range []bool{false, true} {
			name := fmt.Sprintf("scripted%d-%t", n, scripts)
			if err := scripted(filepath.Join(dir, name), n, scripts); err != nil {
				return nil, err
			}
			title := "template one small chart"
			if n > 0 {
				title = fmt.Sprintf("template %d small subcharts", n)
			}
			if scripts {
				title += ", a script of 50 lines in each"
			}
			list = append(list, workload{name: title, args: []string{"template", "rel", filepath.Join(dir, name)}})
		}
	}
	return list, nil
}

// scripted creates a small chart with n similar subcharts.
func scripted(dir string, n int, scripts bool) error {
	files := map[string]string{}
	one := func(path, name string) {
		files[filepath.Join(path, "Chart.yaml")] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
		files[filepath.Join(path, "values.yaml")] = "replicas: 2\nimage: {repository: nginx, tag: \"1.27\"}\nport: 8080\n"
		files[filepath.Join(path, "templates", "deployment.yaml")] = deployment
		if scripts {
			files[filepath.Join(path, "ext", "lua", "chart.lua")] = fiftyLines()
		}
	}
	one(dir, "top")
	for i := range n {
		name := fmt.Sprintf("sub%03d", i)
		one(filepath.Join(dir, "charts", name), name)
	}
	return write(files)
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-{{ .Chart.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Chart.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Chart.Name }}"}}
    spec:
      containers:
      - name: main
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
        ports: [{containerPort: {{ .Values.port }}}]
`

// fiftyLines returns a realistic script: it validates and computes values, and changes every object
// of its chart.
func fiftyLines() string {
	var b strings.Builder
	b.WriteString(`local function labels(ctx)
  return {
    ["example.com/chart"] = ctx.chart.name,
    ["example.com/version"] = ctx.chart.version,
  }
end

local function merge(into, from)
  for k, v in pairs(from) do
    if into[k] == nil then
      into[k] = v
    end
  end
  return into
end

events.on("pre-render", function(ctx)
  local v = ctx.values
  if v.replicas < 1 then
    helm.fail("replicas must be 1 or more")
  end
  if v.port < 1 or v.port > 65535 then
    helm.fail("port must be from 1 to 65535")
  end
  if not regex.match("^[0-9.]+$", v.image.tag) then
    helm.fail("image.tag must be a version")
  end
  v.url = "http://" .. ctx.release.name .. ":" .. v.port
end)

events.on("post-render", 0.9, function(ctx)
  for _, object in ipairs(ctx.objects) do
    local metadata = object.metadata
    metadata.labels = merge(metadata.labels or {}, labels(ctx))
    if object.kind == "Deployment" then
      local containers = object.spec.template.spec.containers
      for _, c in ipairs(containers) do
        c.env = c.env or helm.list{}
        table.insert(c.env, { name = "URL", value = ctx.values.url })
      end
    end
  end
end)
`)
	for n := strings.Count(b.String(), "\n"); n < 50; n++ {
		fmt.Fprintf(&b, "-- line %d\n", n+1)
	}
	return b.String()
}
