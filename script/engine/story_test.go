// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
)

func TestTheFirstDocumentsExampleRunsAsPrinted(t *testing.T) {
	h := started(t, alone(`-- events is used to register event handlers.
events.on("pre-render", 0.5, function (_)
-- Accessing an object
print("got chart " + _.chart.name)
-- Mutating an object
_.values.myvalue = "My Value"
end)`))
	ctx := baseContext()
	if err := h.emit("pre-render", map[int]m{0: ctx}, "values"); err != nil {
		t.Fatal(err)
	}
	if len(h.printed) != 1 || h.printed[0] != "got chart alpine" || ctx["values"].(m)["myvalue"] != "My Value" {
		t.Error(h.printed, ctx["values"])
	}
}
