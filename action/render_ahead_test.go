// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/event"
)

// Templates are parsed while the scripts start. A rendering that has ended, as this one whose scripts
// do not load, leaves nothing behind that goes on with it.
func TestParsingEndsWithRendering(t *testing.T) {
	files := []string{"ext/lua/chart.lua", "", "templates/a.yaml", configMaps("a=1")}
	for i := range 2000 {
		files = append(files, fmt.Sprintf("templates/%d.yaml", i), fmt.Sprintf("# {{ add %d 1 }}\n", i)+
			strings.Repeat("{{ if .Values.a }}{{ .Values.b | quote }}{{ end }}\n", 50))
	}
	began := false
	config := &Config{Scripts: func() ScriptRunner {
		return loadFunc(func(context.Context, *event.ChartResolved) error {
			began = isParsing()
			return errBroken
		})
	}}
	c := newChart(t, files...)
	if !c.HasScripts() || len(c.Templates) < 2000 {
		t.Fatalf("the chart has scripts: %t, and %d templates", c.HasScripts(), len(c.Templates))
	}
	if _, err := (Template{Config: config}).Run(t.Context(), TemplateRequest{Chart: c, Name: "web"}); !errors.Is(err, errBroken) {
		t.Fatalf("error %v, want that of the scripts", err)
	}
	if !began {
		t.Error("no templates are parsed while the scripts start")
	}
	if isParsing() {
		t.Error("templates are parsed after the end of the rendering")
	}
}

// isParsing reports whether a goroutine parses templates ahead.
func isParsing() bool {
	stacks := make([]byte, 1<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "ParseAhead")
}
