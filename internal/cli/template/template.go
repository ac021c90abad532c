// SPDX-License-Identifier: Apache-2.0

// Package template provides the command that renders a chart and prints it.
package template

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/manifest"
)

// Options are the flags of `helm template`.
type Options struct {
	cmdutil.ValueFlags
	cmdutil.NameFlags
	cmdutil.ScriptFlags

	Chart        string
	ShowOnly     []string
	OutputDir    string
	ReleaseName  bool
	IncludeCRDs  bool
	SkipTests    bool
	NoHooks      bool
	IsUpgrade    bool
	Validate     bool
	DryRun       cmdutil.DryRun
	KubeVersion  string
	APIVersions  []string
	SkipSchema   bool
	SubNotes     bool
	EnableDNS    bool
	Explain      string
	SourceMap    string
	skippedFlags cmdutil.IgnoredInstallFlags
	chartFlags   cmdutil.ChartFlags
	patches      cmdutil.PatchFlags
	postRender   cmdutil.PostRenderFlags
}

// New creates the command.
func New(f *cmdutil.Factory) *cobra.Command {
	o := Options{DryRun: cmdutil.DryRunClient}
	cmd := &cobra.Command{
		Use:   "template [NAME] CHART",
		Short: "Render a chart locally",
		Long: `Render the templates of a chart as install does, and print the objects. Nothing is
installed and no cluster is needed: .Capabilities and lookup
have default values, unless --validate or
--dry-run=server reads them from the cluster; --validate also validates the objects
with the API server.

With --explain, it prints for each line of the output the line of the template
that rendered it. --explain=LINE and --explain=PATTERN explain a line of the
output, or those that a regular expression matches: the line of the template,
the calls that led there, the values that were read with the file and line or
the flag that set them, and the if, with and range around it. --source-map
writes all of it to a file, or with - to standard output, as JSON.

With --wait=ordered, the objects come in the order in which they would be applied,
those of a resource group between comments that name it (Helm's proposal 25).`,
		Example: `  helm template blog ./mychart -f production.yaml
  helm template blog example/web --version ^1.2
  helm template blog ./mychart --show-only templates/deployment.yaml
  helm template blog ./mychart --patch tolerations.yaml --explain=tolerations
  helm template blog ./mychart -f production.yaml --explain=image:
  helm template blog ./mychart --kube-version 1.35 --api-versions monitoring.coreos.com/v1`,
		Args:              cmdutil.NameAndChart,
		ValidArgsFunction: f.CompleteNameAndChart,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Resolve(args, f.Now()); err != nil {
				return err
			}
			o.Chart = o.ChartRef
			// Ignore --generate-name: the output must be reproducible.
			if o.Name == "" || o.Generate {
				o.Name = defaultName
			}
			return run(cmd.Context(), f, o)
		},
	}
	fs := cmd.Flags()
	o.ValueFlags.Bind(fs)
	o.BindStrict(fs)
	o.NameFlags.Bind(fs)
	o.ScriptFlags.Bind(fs)
	o.patches.Bind(fs)
	o.postRender.Bind(fs)
	o.skippedFlags.Bind(fs)
	o.chartFlags.Bind(cmd, f)
	o.chartFlags.BindUpdate(fs, &o.ScriptFlags)
	cmdutil.StringArrayVarP(fs, &o.ShowOnly, "show-only", "s",
		"print only the output of these templates, such as templates/deployment.yaml (may be repeated; * is a wildcard)")
	fs.StringVar(&o.OutputDir, "output-dir", "", "write files to this directory instead of standard output")
	fs.BoolVar(&o.ReleaseName, "release-name", false,
		"with --output-dir, write files to a subdirectory named after the release")
	fs.BoolVar(&o.IncludeCRDs, "include-crds", false, "print the CRDs in crds/ first")
	fs.BoolVar(&o.SkipTests, "skip-tests", false, "omit test hooks")
	fs.BoolVar(&o.NoHooks, "no-hooks", false, "omit hooks")
	fs.BoolVar(&o.IsUpgrade, "is-upgrade", false, "set .Release.IsUpgrade instead of .Release.IsInstall")
	fs.BoolVar(&o.Validate, "validate", false,
		"use the cluster's capabilities, and validate the objects with the API server")
	cmdutil.BindDryRun(fs, &o.DryRun)
	fs.StringVar(&o.KubeVersion, "kube-version", "", "Kubernetes version to render for")
	cmdutil.StringSliceVarP(fs, &o.APIVersions, "api-versions", "a",
		"additional API versions in .Capabilities.APIVersions (may be repeated)")
	fs.BoolVar(&o.SkipSchema, "skip-schema-validation", false, "do not validate values against the charts' schemas")
	fs.BoolVar(&o.SubNotes, "render-subchart-notes", false, "render the notes of subcharts too")
	fs.StringVar(&o.Explain, "explain", "", "print where a `line` of the output, the lines that match a pattern, or all come from")
	fs.Lookup("explain").NoOptDefVal = explainAll
	fs.StringVar(&o.SourceMap, "source-map", "", "write where each line of the output comes from to this file, as JSON; "+
		"- for standard output, instead of the objects")
	cmd.MarkFlagsMutuallyExclusive("explain", "output-dir")
	cmd.MarkFlagsMutuallyExclusive("source-map", "output-dir")
	fs.BoolVar(&o.EnableDNS, "enable-dns", false, "allow DNS lookups in templates")
	cmdutil.CompleteChoices(cmd)
	return cmd
}

// stdout is the value of --source-map for standard output.
const stdout = "-"

// defaultName is the release name if none is given.
const defaultName = "release-name"

func run(ctx context.Context, f *cmdutil.Factory, o Options) error {
	if o.Explain != "" && o.SourceMap == stdout {
		return errors.New("--explain and --source-map - both print to standard output: name a file for --source-map")
	}
	c, err := f.Chart(ctx, o.Chart, &o.chartFlags)
	if err != nil {
		return err
	}
	vals, err := o.ValueFlags.Build(ctx, f, c)
	if err != nil {
		return err
	}
	if err := o.patches.Load(ctx, f); err != nil {
		return err
	}
	config, err := f.Offline(o.ScriptFlags)
	if err != nil {
		return err
	}
	var cluster *kube.Client
	if o.Validate || o.DryRun == cmdutil.DryRunServer {
		if cluster, err = f.Cluster(); err != nil {
			return err
		}
		config.Cluster = action.NewCluster(cluster, apply.Options{})
	}
	if config.PostRenderer, err = o.postRender.Renderer(f); err != nil {
		return err
	}
	req := action.TemplateRequest{
		Chart: c, Values: vals, ValueOrigins: o.Origins(ctx, f), Name: o.Name, Namespace: f.Namespace(),
		KubeVersion: o.KubeVersion, APIVersions: o.APIVersions,
		IsUpgrade: o.IsUpgrade, SkipSchema: o.SkipSchema, SubchartNotes: o.SubNotes,
		Explain:    o.Explain != "" || o.SourceMap != "",
		ValueCheck: o.Check(ctx, f), PatchOptions: o.patches.Options(),
	}
	if o.EnableDNS {
		req.LookupHost = f.LookupHost
	}
	out, err := action.Template{Config: config}.Run(ctx, req)
	if err != nil {
		return err
	}
	if o.skippedFlags.Ordered() {
		if err := sequence(out); err != nil {
			return err
		}
	}
	docs := documents(out, o)
	if len(o.ShowOnly) > 0 {
		if docs, err = showOnly(docs, o.ShowOnly, out.Chart); err != nil {
			return err
		}
	}
	if o.Validate && !o.IsUpgrade {
		if err := validate(ctx, cluster, out, f.Namespace(), o.Name); err != nil {
			return err
		}
	}
	if req.Explain {
		return writeExplained(f, docs, out, o)
	}
	if o.OutputDir != "" {
		return writeFiles(f.Out, docs, o)
	}
	return writeDocuments(term.SafeWriter(f.Out), docs)
}

// writeExplained prints the documents or where their lines come from, and writes the source map.
func writeExplained(f *cmdutil.Factory, docs []document, out *action.Rendered, o Options) error {
	e := explain(docs, out)
	if o.SourceMap != "" {
		if err := e.writeSourceMap(o.SourceMap, f.Out); err != nil || o.SourceMap == stdout {
			return err
		}
	}
	if o.Explain != "" {
		return e.write(f.Out, o.Explain)
	}
	return writeDocuments(term.SafeWriter(f.Out), docs)
}

// validate asks the API server to validate the objects in a dry run.
func validate(ctx context.Context, cluster *kube.Client, out *action.Rendered, namespace, name string) error {
	var hooks []*manifest.Object
	for _, h := range out.Hooks {
		objects, err := manifest.Parse(h.Path, h.Manifest)
		if err != nil {
			return err
		}
		hooks = append(hooks, objects...)
	}
	_, err := apply.New(cluster, apply.Options{}).Plan(ctx, apply.Request{
		Owner: kube.Owner{Release: name, Namespace: namespace},
		New:   manifest.ApplyOrder(out.Objects), TakeOwnership: true, ServerDryRun: true,
		Running: hooks,
	})
	if err != nil {
		out.Locate(err)
		return fmt.Errorf("the cluster would refuse this: %w", err)
	}
	return nil
}
