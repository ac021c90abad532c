// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
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

// writeDyff prints the fields that change as the program dyff does.
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
			fmt.Fprintf(&sealed, "%s %s\n\n", d.heading(e.Ref), e.done())
			continue
		}
		was, is := o.seen(e.Object)
		if err := addDocument(&before, was); err != nil {
			return err
		}
		if err := addDocument(&after, is); err != nil {
			return err
		}
	}
	width.FixedTerminalWidth = term.Width(s.Out)
	bunt.SetColorSettings(bunt.OFF, bunt.OFF)
	if s.Colored(s.Out) {
		bunt.SetColorSettings(bunt.ON, bunt.AUTO)
	}
	var b bytes.Buffer
	if len(before.Documents)+len(after.Documents) == 2 && len(list) == 1 { // dyff then leaves its name out
		fmt.Fprintf(&b, "%s %s\n", d.heading(list[0].Ref), list[0].done())
	}
	report, err := compareFiles(ctx, before, after, o.Renames > 0)
	if err != nil {
		return err
	}
	b.Write(report)
	_, err = io.Copy(s.Out, io.MultiReader(&b, &sealed))
	return err
}

// compareFiles is what dyff says of two files. The library cannot be interrupted, and takes
// seconds for lists of thousands of items: once ctx is done compareFiles returns and leaves
// it running, since the program is about to end.
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

// addDocument adds an object to the documents that are compared.
func addDocument(f *ytbx.InputFile, object map[string]any) error {
	if object == nil {
		return nil
	}
	shown, _ := visible(object).(map[string]any)
	docs, err := ytbx.LoadDocuments([]byte(plan.FormatObject(shown)))
	if err != nil {
		return fmt.Errorf("compare objects: %w", err)
	}
	f.Documents = append(f.Documents, docs...)
	return nil
}

// visible is a value whose texts cannot steer a terminal.
func visible(v any) any {
	switch v := v.(type) {
	case string:
		return term.Safe(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[term.Safe(key)] = visible(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = visible(value)
		}
		return out
	}
	return v
}
