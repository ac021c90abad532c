// SPDX-License-Identifier: Apache-2.0

package action

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/plan"
	"github.com/moonhelm/moonhelm/planfile"
	"github.com/moonhelm/moonhelm/release"
)

// keeping is what a deployment needs to make a plan that is kept, or to hold to one.
type keeping struct {
	// keep is set if the plan is to be kept: the record is complete even though nothing is written.
	keep bool
	// held is the plan that the deployment must do exactly, or nil.
	held *planfile.Document
	// rebase is set if held is planned again: the deployment may do something else.
	rebase bool
	// options are those of the request.
	options planfile.Options
	// source is the chart of the request, or nil.
	source *chart.Chart
	// rendered are the objects before the scripts of the event before the operation.
	rendered string
}

// deployOptions returns the options of a request that matter when its plan is applied.
func deployOptions(req DeployRequest) planfile.Options {
	o := waitOptions(req.WaitOptions, req.ApplyOptions)
	o.Description, o.Labels, o.NoHooks = req.Description, req.Labels, req.NoHooks
	o.CreateNamespace, o.Replace, o.Reuse = req.CreateNamespace, req.Replace, string(req.Reuse)
	o.Install = req.OrInstall
	o.ResetPatches, o.CRDs, o.SkipSchema = req.ResetPatches, string(req.CRDs), req.SkipSchema
	o.SubchartNotes = req.SubchartNotes
	o.HistoryMax, o.HistoryValues = req.ReleaseHistoryMax, req.IncludeHistoryValues
	o.CleanupOnFail, o.Atomic, o.MaxHistory = req.CleanupOnFail, req.Atomic, req.MaxHistory
	return o
}

func waitOptions(w WaitOptions, a ApplyOptions) planfile.Options {
	return planfile.Options{
		Wait: w.Wait, WaitForJobs: w.Jobs, LegacyWait: w.Legacy, Timeout: w.Timeout, ReadinessTimeout: w.ReadinessTimeout,
		GiveUpAfter: w.GiveUpAfter, Timeouts: w.Timeouts, ServerSide: a.ServerSide,
		Conflicts: string(a.Conflicts), ForceReplace: a.ForceReplace,
		TakeOwnership: a.TakeOwnership,
	}
}

func rollbackOptions(req RollbackRequest) planfile.Options {
	o := waitOptions(req.WaitOptions, req.ApplyOptions)
	o.Description, o.NoHooks = req.Description, req.NoHooks
	o.CleanupOnFail, o.MaxHistory = req.CleanupOnFail, req.MaxHistory
	return o
}

func uninstallOptions(req UninstallRequest) planfile.Options {
	return planfile.Options{
		Description: req.Description, KeepHistory: req.KeepHistory, Cascade: string(req.Cascade), Wait: req.Wait,
		Timeout: req.Timeout, Timeouts: req.Timeouts, GiveUpAfter: req.GiveUpAfter, NoHooks: req.NoHooks,
		TakeOwnership: req.TakeOwnership,
	}
}

// deployRequest is the inverse of deployOptions.
func deployRequest(d *planfile.Document) DeployRequest {
	o := d.Options
	wait, apply := requestOptions(o)
	return DeployRequest{
		Name: d.Release.Name, Namespace: d.Release.Namespace, WaitOptions: wait, ApplyOptions: apply,
		Description: o.Description, Labels: o.Labels, NoHooks: o.NoHooks, CreateNamespace: o.CreateNamespace,
		Replace: o.Replace, Reuse: Reuse(o.Reuse), CRDs: CRDPolicy(o.CRDs), SkipSchema: o.SkipSchema,
		PatchOptions:  PatchOptions{ResetPatches: o.ResetPatches},
		Preview:       Preview{OrInstall: o.Install},
		SubchartNotes: o.SubchartNotes, CleanupOnFail: o.CleanupOnFail, Atomic: o.Atomic, MaxHistory: o.MaxHistory,
		UndoCancelled:   true,
		TemplateHistory: TemplateHistory{ReleaseHistoryMax: o.HistoryMax, IncludeHistoryValues: o.HistoryValues},
	}
}

func requestOptions(o planfile.Options) (WaitOptions, ApplyOptions) {
	return WaitOptions{Wait: o.Wait, Jobs: o.WaitForJobs, Legacy: o.LegacyWait, Timeout: o.Timeout,
			ReadinessTimeout: o.ReadinessTimeout, GiveUpAfter: o.GiveUpAfter, Timeouts: o.Timeouts},
		ApplyOptions{ServerSide: o.ServerSide, Conflicts: plan.Resolution(o.Conflicts), ForceReplace: o.ForceReplace,
			TakeOwnership: o.TakeOwnership}
}

// document returns the plan of the deployment without its payload.
func (d *deployment) document() (*planfile.Document, error) {
	rel := d.release
	doc := newDocument(d.config, d.doing, rel, d.history)
	doc.Options = d.options
	digest := planfile.NewDigester(doc.Release)
	if err := d.addDigests(doc, digest); err != nil {
		return nil, err
	}
	if d.plan == nil {
		return nil, &NotKeptError{Operation: d.doing}
	}
	for _, s := range d.plan.Steps {
		doc.Objects = append(doc.Objects, planfile.NewObject(s, digest.Secret))
	}
	crds, err := d.crds.preview()
	if err != nil {
		return nil, err
	}
	if crds != nil {
		for _, s := range crds.Steps {
			if o := planfile.NewObject(s, digest.Secret); o.Writes() {
				doc.CRDs = append(doc.CRDs, o)
			}
		}
	}
	doc.Hooks, err = keptHooks(rel, d.hooksToRun(d.hookEvents()...), d.hookEvents())
	return doc, err
}

// newDocument returns a plan without objects.
func newDocument(c *Config, operation string, rel *release.Release, h *history) *planfile.Document {
	doc := &planfile.Document{
		APIVersion: planfile.APIVersion, Kind: planfile.Kind, Created: c.now().UTC().Truncate(time.Second),
		Operation: operation, Objects: []planfile.Object{},
		Release: planfile.Release{Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Revision,
			Target: rel.Info.RollbackRevision},
	}
	if meta, err := rel.Metadata(); err == nil && meta != nil {
		doc.Release.Chart, doc.Release.AppVersion = meta.Name+"-"+meta.Version, meta.AppVersion
	}
	if h.last != nil {
		doc.Base = planfile.Base{Revision: h.newest().Revision, Status: string(h.last.Info.Status)}
	}
	if h.deployed != nil {
		doc.Base.Deployed = h.deployed.Revision
	}
	doc.Base.Records = planfile.NewDigester(doc.Release).Secret(recordsText(h))
	return doc
}

// recordsText returns what the records of a history say about objects in the cluster.
func recordsText(h *history) []byte {
	var out []byte
	for _, rel := range h.applied {
		sum := sha256.New()
		sum.Write([]byte(rel.Manifest))
		for _, hook := range rel.Hooks {
			sum.Write([]byte(hook.Path + "\x00" + hook.Manifest))
		}
		out = fmt.Appendf(out, "%d %s %s %v %x\n", rel.Revision, rel.Info.Status, rel.ApplyMethod, rel.PendingDeletions,
			sum.Sum(nil))
	}
	return out
}

// addDigests sets the digests of what the plan was made from.
func (d *deployment) addDigests(doc *planfile.Document, digest planfile.Digester) error {
	rel := d.release
	if d.source != nil {
		doc.Digests.Chart = treeDigest(d.source, func(c *chart.Chart) []*chart.File { return c.Raw })
	}
	scripts, err := rel.Scripts()
	if err != nil {
		return err
	}
	if scripts != nil {
		doc.Digests.Scripts = treeDigest(scripts, func(c *chart.Chart) []*chart.File { return c.Files })
	}
	if len(rel.Config) > 0 {
		text, err := json.Marshal(rel.Config)
		if err != nil {
			return fmt.Errorf("read the values: %w", err)
		}
		doc.Digests.Values = digest.Secret(text)
	}
	doc.Digests.Manifest = digest.Secret([]byte(rel.Manifest))
	var hooks []byte
	for _, h := range rel.Hooks {
		hooks = fmt.Appendf(hooks, "%s\x00%s\x00%v\x00", h.Path, h.Manifest, h.Events)
	}
	doc.Digests.Hooks = digest.Secret(hooks)
	return nil
}

// treeDigest returns the digest of files of a chart and its subcharts, whatever their order.
func treeDigest(c *chart.Chart, files func(*chart.Chart) []*chart.File) string {
	var lines []string
	c.Walk(func(c *chart.Chart) {
		for _, f := range files(c) {
			lines = append(lines, fmt.Sprintf("%q %q %x", c.FullPath(), f.Name, sha256.Sum256(f.Data)))
		}
	})
	slices.Sort(lines)
	return planfile.Public([]byte(strings.Join(lines, "\n")))
}

// keptHooks returns the hooks that run at some of the events.
func keptHooks(rel *release.Release, hooks []*release.Hook, events []release.HookEvent) ([]planfile.Hook, error) {
	var out []planfile.Hook
	for _, h := range hooks {
		objects, err := objectsOf(rel, []*release.Hook{h})
		if err != nil {
			return nil, err
		}
		kept := planfile.Hook{Name: h.Name, Kind: h.Kind, Source: h.Path, Weight: h.Weight, Events: []string{}}
		for _, e := range events {
			if h.On(e) {
				kept.Events = append(kept.Events, string(e))
			}
		}
		for _, p := range h.DeletePolicies {
			kept.Delete = append(kept.Delete, string(p))
		}
		for _, o := range objects {
			object, err := o.Map()
			if err != nil {
				return nil, err
			}
			_, kept.Object = plan.Redact(nil, object)
			out = append(out, kept)
		}
	}
	return out, nil
}

// keptDocument returns the plan with its payload, for an install or an upgrade, or nil if the
// request does not ask for it. A plan with conflicts that no one resolves is not kept.
func (d *deployment) keptDocument() (*planfile.Document, error) {
	if !d.keep {
		return nil, nil
	}
	doc, err := d.document()
	if err != nil {
		return nil, err
	}
	for _, s := range d.plan.Steps {
		for _, c := range s.Conflicts {
			if c.Resolution == plan.Fail && !c.Excluded {
				return nil, &NotKeptError{Operation: d.doing, Object: s.String(), Conflict: c.Sentence()}
			}
		}
	}
	if d.doing == planfile.Rollback {
		return doc, nil
	}
	doc.Payload, err = d.keptPayload()
	return doc, err
}

// keptPayload returns what the deployment would record, and what it needs to do so later.
func (d *deployment) keptPayload() (*planfile.Payload, error) {
	rel := d.release.Clone()
	rel.Info = release.Info{Notes: rel.Info.Notes}
	rel.Holder, rel.PendingDeletions = "", nil
	record, err := release.Encode(rel)
	if err != nil {
		return nil, err
	}
	p := &planfile.Payload{Record: string(record), Labels: rel.Labels,
		CRDs:         manifest.Format(byPolicy(d.crds.definitions, CRDCreate)),
		UpgradedCRDs: manifest.Format(byPolicy(d.crds.definitions, CRDUpgrade))}
	scripts, err := rel.Scripts()
	if err != nil {
		return nil, err
	}
	if d.held != nil && d.held.Payload != nil { // planned again
		p.Values, p.Rendered, p.Moves = d.held.Payload.Values, d.held.Payload.Rendered, d.held.Payload.Moves
		return p, nil
	}
	if scripts != nil {
		p.Values = d.payload.Values
	}
	if len(d.rendered.moves) > 0 {
		p.Moves = &planfile.Moves{Entries: d.rendered.moves, Charts: chartPaths(d.rendered.Chart),
			Root: d.rendered.Chart.Name()}
	}
	if p.Moves != nil || d.keeping.rendered != manifest.Format(d.payload.Objects) {
		p.Rendered = d.keeping.rendered
	}
	return p, nil
}

// A NotKeptError is returned for a plan that cannot be applied later.
type NotKeptError struct {
	Operation string
	// Object and Conflict are a conflict that no one resolves, or "" if the cluster was not read.
	Object, Conflict string
}

func (e *NotKeptError) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("the plan to %s cannot be kept: the cluster was not read", e.Operation)
	}
	return fmt.Sprintf("the plan to %s cannot be kept: %s: %s", e.Operation, e.Object, e.Conflict)
}

// Hint says what to do.
func (e *NotKeptError) Hint() string {
	if e.Object == "" {
		return "plan without --dry-run and with the three-way merge"
	}
	return "--conflicts=take or --conflicts=yield decides what becomes of fields that others manage"
}

// keepRendered keeps the objects as they are before the event before the operation.
func (d *deployment) keepRendered() {
	if d.keep {
		d.keeping.rendered = manifest.Format(d.payload.Objects)
	}
}
