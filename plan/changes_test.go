// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
)

func TestChanges(t *testing.T) {
	const pods = `{spec: {template: {spec: {containers: [{name: web, image: %s}%s]}}}}`
	for _, tc := range []struct {
		name, kind, old, live, want string
		o                           Options
		changes                     string
	}{
		{name: "a field", kind: "v1 ConfigMap", old: `{data: {a: "1"}}`, live: `{data: {a: "1", b: "2"}}`, want: `{data: {a: "3"}}`,
			changes: `data.a: "1" > "3"`},
		{name: "a field that is removed", kind: "v1 ConfigMap", old: `{data: {a: "1", c: "1"}}`, live: `{data: {a: "1", c: "4"}}`,
			want: `{data: {a: "1"}}`, changes: `data.c: "4" > null`},
		{name: "a field that another client sets to the same", kind: "v1 ConfigMap", old: `{data: {a: "1"}}`, live: `{data: {a: "3"}}`,
			want: `{data: {a: "3"}}`},
		{name: "an item by its key", kind: "apps/v1 Deployment", old: fmt.Sprintf(pods, "a", ""),
			live: fmt.Sprintf(pods, "a", ", {name: other, image: x}"), want: fmt.Sprintf(pods, "b", ""),
			changes: `spec.template.spec.containers[web].image: "a" > "b"`},
		{name: "an item that another client has put first", kind: "apps/v1 Deployment", old: fmt.Sprintf(pods, "a", ""),
			live: `{spec: {template: {spec: {containers: [{name: other}, {name: web, image: a}]}}}}`,
			want: fmt.Sprintf(pods, "b", ""), changes: `spec.template.spec.containers[web].image: "a" > "b"`},
		{name: "an item that is added", kind: "v1 Service", old: `{spec: {ports: [{port: 1}]}}`, live: `{spec: {ports: [{port: 1, protocol: TCP}]}}`,
			want: `{spec: {ports: [{port: 1}, {port: 2}]}}`, changes: `spec.ports[2/TCP]: null > {"port":2}`},
		{name: "a list without keys", kind: "example.com/v1 Thing", old: `{spec: {list: [1]}}`, live: `{spec: {list: [1]}}`,
			want: `{spec: {list: [1, 2]}}`, changes: `spec.list: [1] > [1,2]`},
		{name: "a Secret", kind: "v1 Secret", old: `{data: {a: YQ==}}`, live: `{data: {a: YQ==}}`, want: `{stringData: {a: b}}`,
			changes: `data.a: "YQ==" > "Yg==" secret`},
		{name: "status", kind: "apps/v1 Deployment", old: `{spec: {replicas: 1}}`, live: `{spec: {replicas: 1}, status: {replicas: 1}}`,
			want: `{spec: {replicas: 2}}`, changes: `spec.replicas: 1 > 2`},
		{name: "a replacement removes what others have set", kind: "v1 ConfigMap", old: `{data: {a: "1"}}`,
			live: `{data: {a: "1", b: "2"}}`, want: `{data: {a: "3"}}`, o: Options{ForceReplace: true},
			changes: `data.a: "1" > "3", data.b: "2" > null`},
		{name: "server-side", kind: "v1 ConfigMap", old: `{data: {a: "1"}}`, live: `{data: {a: "1", b: "2"}}`, want: `{data: {a: "3"}}`,
			o: Options{ServerSide: true, Conflicts: Take}, changes: `data.a: "1" > "3"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			for i, c := range Changes(*computeOne(t, newItem(t, tc.kind, tc.live, tc.want, tc.old), tc.o)) {
				have, _ := json.Marshal(c.Have)
				want, _ := json.Marshal(c.Want)
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprintf("%s: %s > %s", c.Path, have, want)
				if c.Secret {
					got += " secret"
				}
			}
			if got != tc.changes {
				t.Errorf("the changes are %s, want %s", got, tc.changes)
			}
		})
	}
}

// What only the server writes does not count.
func TestChangesOfMetadata(t *testing.T) {
	item := newItem(t, "v1 ConfigMap", `{data: {a: "1"}}`, `{data: {a: "2"}}`, `{data: {a: "1"}}`)
	item.Live["metadata"] = maps.Clone(item.Live["metadata"].(map[string]any))
	maps.Copy(item.Live["metadata"].(map[string]any), map[string]any{
		"uid": "u", "resourceVersion": "7", "managedFields": []any{}, "creationTimestamp": "2026-01-01T00:00:00Z", "generation": int64(3),
	})
	if c := Changes(*computeOne(t, item, Options{})); len(c) != 1 || c[0].Path != "data.a" {
		t.Errorf("the changes are %v", c)
	}
}
