// SPDX-License-Identifier: Apache-2.0

// Command helm4 renders charts with the SDK of Helm 4 like `helm template`: one request per
// line of standard input, one response per line of standard output, both JSON. With it, the
// comparisons of test/compat/mutated need no process for each case. It is a module of its own
// so that it uses the same versions of libraries as Helm's binary.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"syscall"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/getter"
	release "helm.sh/helm/v4/pkg/release/v1"
)

// request is a call of `helm template`.
type request struct {
	Chart       string  // directory
	Defaults    *string // replaces the chart's values.yaml
	Files       []string
	Set         []string
	SetString   []string
	SetJSON     []string
	SetLiteral  []string
	Name        string
	Namespace   string
	KubeVersion string
	APIVersions []string
	IsUpgrade   bool
	IncludeCRDs bool
	SkipSchema  bool
}

// answer is the response to a request.
type answer struct {
	Manifest string // output of `helm template` without hooks
	Hooks    []hook
	Error    string // "" if the command succeeds
}

type hook struct{ Path, Manifest string }

// memory limits the address space, because some cases make Helm use all memory.
const memory = 6 << 30

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: memory, Max: memory}); err != nil {
		fmt.Fprintln(os.Stderr, "helm4: limit memory:", err)
		os.Exit(1)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "helm4:", err)
		os.Exit(1)
	}
}

func serve(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(bufio.NewReader(r)), json.NewEncoder(w)
	for {
		var req request
		if err := in.Decode(&req); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		a, err := render(req)
		if err != nil {
			a = &answer{Error: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// render renders like `helm template` with the flags of req. A panic is an error, as for the
// command.
func render(req request) (a *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	cfg := action.NewConfiguration()
	i := action.NewInstall(cfg)
	i.DryRunStrategy = action.DryRunClient
	i.Replace = true // do not check whether the name is in use
	i.ReleaseName, i.Namespace = req.Name, req.Namespace
	i.IsUpgrade, i.IncludeCRDs, i.SkipSchemaValidation = req.IsUpgrade, req.IncludeCRDs, req.SkipSchema
	i.APIVersions = req.APIVersions
	if req.KubeVersion != "" {
		v, err := common.ParseKubeVersion(req.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("invalid kube version %q: %w", req.KubeVersion, err)
		}
		i.KubeVersion = v
	}
	o := values.Options{
		ValueFiles: req.Files, Values: req.Set, StringValues: req.SetString, JSONValues: req.SetJSON,
		LiteralValues: req.SetLiteral,
	}
	vals, err := o.MergeValues(getter.All(cli.New()))
	if err != nil {
		return nil, err
	}
	c, err := load(req)
	if err != nil {
		return nil, err
	}
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("%s charts are not installable", kind)
	}
	about, err := chart.NewAccessor(c)
	if err != nil {
		return nil, err
	}
	if err := action.CheckDependencies(c, about.MetaDependencies()); err != nil {
		return nil, err
	}
	done, err := i.RunWithContext(context.Background(), c, vals)
	if err != nil {
		return nil, err
	}
	rel := done.(*release.Release)
	a = &answer{Manifest: rel.Manifest}
	for _, h := range rel.Hooks {
		a.Hooks = append(a.Hooks, hook{h.Path, h.Manifest})
	}
	return a, nil
}

// files are the files of charts that were read, by directory.
var files = map[string][]*archive.BufferedFile{}

// load returns a new chart for each case, because Helm modifies the charts that it renders.
func load(req request) (*v2.Chart, error) {
	if files[req.Chart] == nil {
		c, err := loader.LoadDir(req.Chart)
		if err != nil {
			return nil, err
		}
		for _, f := range c.Raw {
			files[req.Chart] = append(files[req.Chart], &archive.BufferedFile{Name: f.Name, ModTime: f.ModTime, Data: f.Data})
		}
	}
	var kept []*archive.BufferedFile
	for _, f := range files[req.Chart] {
		if req.Defaults == nil || f.Name != "values.yaml" {
			kept = append(kept, f)
		}
	}
	if req.Defaults != nil {
		kept = append(kept, &archive.BufferedFile{Name: "values.yaml", Data: []byte(*req.Defaults)})
	}
	return loader.LoadFiles(kept)
}
