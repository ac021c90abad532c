// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
)

// The example of the documentation: chart A depends on chart B.
func TestApplyOrder(t *testing.T) {
	given := []*Object{
		{Kind: "StatefulSet", Name: "a"}, {Kind: "Service", Name: "b"}, {Kind: "ReplicaSet", Name: "b"},
		{Kind: "Namespace", Name: "b"}, {Kind: "Service", Name: "a"}, {Kind: "Namespace", Name: "a"},
	}
	var got []string
	for _, o := range ApplyOrder(given) {
		got = append(got, o.String())
	}
	const want = "Namespace/a Namespace/b Service/a Service/b ReplicaSet/b StatefulSet/a"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if given[0].Kind != "StatefulSet" {
		t.Error("the given objects were moved")
	}
}
