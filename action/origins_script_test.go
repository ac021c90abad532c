// SPDX-License-Identifier: Apache-2.0

package action

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/event"
)

func TestScriptPlace(t *testing.T) {
	text := `events.on("pre-install", function(ctx)
  ctx.values.tag = 1
end)
events.on("pre-render", function(ctx)
  local v = ctx.values
  -- v.image.tag = "in a comment"
  if v.image.tag == nil then return end
  v.image.tag = "2"
  v["quoted"] = {
    deep = 1,
  }
  v.tag =
    3
end)
`
	c := &chart.Chart{Metadata: &chart.Metadata{Name: "web"},
		Raw: []*chart.File{{Name: chart.FileScript, Data: []byte(text)}}}
	step := event.Step{Owner: `chart "web"`, Chart: "web", Where: chart.FileScript + ":4"}
	p := newScriptPlace(step, c)
	if p.name != "web" || p.file != "web/"+chart.FileScript {
		t.Errorf("got %s and %s", p.name, p.file)
	}
	for path, want := range map[string]int{
		"tag": 12, "image.tag": 8, "quoted.deep": 10, "quoted.other": 9, "absent": 4, "qu": 4,
	} {
		if got := p.assignment(strings.Split(path, ".")); got != want {
			t.Errorf("%s: got line %d, want %d", path, got, want)
		}
	}
	p = newScriptPlace(event.Step{Owner: "my program"}, c)
	if got := p.assignment([]string{"tag"}); p.name != "my program" || p.file != "" || got != 0 {
		t.Errorf("got %+v, line %d for a handler of a program", p, got)
	}
}
