// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// Text runs one small template that belongs to no chart, such as a release's
// name template, with Sprig's functions and without data. what names it in
// errors.
func Text(what, text string) (string, error) {
	funcs := template.FuncMap(sprig.GenericFuncMap())
	delete(funcs, "env")
	delete(funcs, "expandenv")
	t, err := template.New(what).Funcs(funcs).Parse(text)
	if err != nil {
		return "", fmt.Errorf("%s %q: %w", what, text, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", fmt.Errorf("%s %q: %w", what, text, err)
	}
	return b.String(), nil
}
