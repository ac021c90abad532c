// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/script/wire"
)

// A line that can go on says so; one that is wrong before its end does not.
func TestLinesThatEndTooEarly(t *testing.T) {
	h := started(t, alone(""))
	for line, want := range map[string]bool{
		`if true then`:           true,
		`f(1,`:                   true,
		`x = {a = 1`:             true,
		`for i = 1, 2 do f([[ a`: true,
		`f(1 = 2`:                false,
		`if x y then`:            false,
		`x = {a = = 1`:           false,
		`end`:                    false,
	} {
		_, err := h.request(wire.Call, m{"source": line, "chart": int64(0)})
		if err == nil {
			t.Errorf("%s: no error", line)
		} else if got := strings.HasSuffix(err.Error(), "(the line ends too early)"); got != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestErrorsOfALineNameWhatIsNil(t *testing.T) {
	h := started(t, alone(""))
	h.levels = map[int64]any{}
	_, err := h.request(wire.Call, m{"source": `local t = {} print(t.a.b)`, "chart": int64(0), "context": h.ref(baseContext())})
	says(t, err, `t.a is nil, so it has no "b"`)
}
