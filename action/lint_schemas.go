// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/lint"
	"github.com/moonhelm/moonhelm/engine"
	"github.com/moonhelm/moonhelm/manifest"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// loadSchemas sets the schemas that objects must match: those of the requested version, and of
// the definitions in crds/ of all charts. If there are none of the version, it adds a
// recommendation.
func (w *linter) loadSchemas() error {
	if w.req.KubeVersion == "" || w.req.NoSchemaValidation {
		return nil
	}
	schemas, err := lint.NewSchemas(w.kube)
	if unknown, ok := errors.AsType[*builtin.UnknownVersionError](err); ok {
		w.add(lint.Info, "", 0, fmt.Sprintf("%s: objects are not validated", unknown))
		return nil
	}
	if err != nil {
		return err
	}
	w.schemas = schemas
	c := w.req.Chart
	if c == nil {
		c = w.req.Repaired
	}
	if c != nil {
		w.defineFiles(c)
	}
	return nil
}

// defineFiles adds the definitions in crds/ of c and of its subcharts to the schemas.
func (w *linter) defineFiles(c *chart.Chart) {
	for _, f := range c.CRDs() {
		w.defineText(f.Source, string(f.Data))
	}
}

// define adds the definitions that templates have rendered to the schemas.
func (w *linter) define(files []engine.File) {
	if w.schemas == nil {
		return
	}
	for _, f := range files {
		w.defineText(f.Name, f.Content)
	}
}

func (w *linter) defineText(name, text string) {
	objects, err := manifest.Parse(name, text)
	if err == nil {
		objects, err = manifest.Flatten(objects)
	}
	if err != nil {
		return // lint.Chart and lint.Objects report the error
	}
	for _, o := range objects {
		if o.Kind != "CustomResourceDefinition" {
			continue
		}
		if m, err := o.Map(); err == nil {
			w.schemas.Define(m)
		}
	}
}
