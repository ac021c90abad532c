// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/gonvenience/bunt"
	width "github.com/gonvenience/term"
	"github.com/gonvenience/ytbx"
	"github.com/homeport/dyff/pkg/dyff"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/plan"
)

// writeDyff prints the changed fields in the format of dyff.
func (d Diff) writeDyff(ctx context.Context, s term.Streams, o Options) error {
	list := d.entries(o)
	if len(list) == 0 {
		return nil
	}
	var before, after ytbx.InputFile
	var sealed bytes.Buffer
	for _, e := range list {
		switch {
		case e.sealed != "":
			fmt.Fprintf(&sealed, "%s has changed: changes suppressed on sensitive content of type %s\n\n",
				d.heading(e.Ref), term.SafeLine(e.sealed))
			continue
		case e.change == suppressed:
			fmt.Fprintf(&sealed, "%s %s\n\n", d.heading(e.Ref), e.outcome())
			continue
		}
		was, is := o.printable(e.Object)
		was = d.names.replaceObject(was, is)
		if err := addDocument(&before, was); err != nil {
			return err
		}
		if err := addDocument(&after, is); err != nil {
			return err
		}
	}
	width.FixedTerminalWidth = cmp.Or(o.Columns, term.Width(s.Out))
	bunt.SetColorSettings(bunt.OFF, bunt.OFF)
	if s.Colored(s.Out) {
		bunt.SetColorSettings(bunt.ON, bunt.AUTO)
	}
	var b bytes.Buffer
	if len(before.Documents)+len(after.Documents) == 2 && len(list) == 1 { // dyff omits the name then
		fmt.Fprintf(&b, "%s %s\n", d.heading(list[0].Ref), list[0].outcome())
	}
	report, err := compareFiles(ctx, before, after, o.Renames > 0)
	if err != nil {
		return err
	}
	b.Write(report)
	_, err = io.Copy(s.Out, io.MultiReader(&b, &sealed))
	return err
}

// compareFiles returns dyff's report of the differences. dyff cannot be interrupted and takes
// seconds for lists with thousands of items: when ctx is done, compareFiles returns and leaves it
// running, since the program is about to end.
func compareFiles(ctx context.Context, before, after ytbx.InputFile, renames bool) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := dyffReport(before, after, renames)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func dyffReport(before, after ytbx.InputFile, renames bool) ([]byte, error) {
	report, err := dyff.CompareInputFiles(before, after,
		dyff.IgnoreOrderChanges(true), dyff.KubernetesEntityDetection(true), dyff.DetectRenames(renames))
	if err != nil {
		return nil, fmt.Errorf("compare objects: %w", err)
	}
	var b bytes.Buffer
	human := dyff.HumanReport{Report: report, OmitHeader: true}
	if err := human.WriteReport(&b); err != nil {
		return nil, fmt.Errorf("write the differences of objects: %w", err)
	}
	return b.Bytes(), nil
}

// addDocument appends an object to the documents of f.
func addDocument(f *ytbx.InputFile, object map[string]any) error {
	if object == nil {
		return nil
	}
	shown, _ := escapeStrings(object).(map[string]any)
	docs, err := ytbx.LoadDocuments([]byte(plan.FormatObject(shown)))
	if err != nil {
		return fmt.Errorf("compare objects: %w", err)
	}
	f.Documents = append(f.Documents, docs...)
	return nil
}

// escapeStrings returns v with control characters in strings escaped.
func escapeStrings(v any) any {
	switch v := v.(type) {
	case string:
		return term.Safe(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[term.Safe(key)] = escapeStrings(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = escapeStrings(value)
		}
		return out
	}
	return v
}
