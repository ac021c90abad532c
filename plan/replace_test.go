// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestForceReplace(t *testing.T) {
	object := func(text string) map[string]any {
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, test := range []struct {
		name, live, new string
		options         Options
		action          Action
		typ             PatchType
		sent            string // "" if there is no patch
	}{
		{
			name: "other fields are removed",
			live: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","resourceVersion":"7","labels":{"x":"y"}},"data":{"k":"v","more":"1"}}`,
			new:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}`, options: Options{ForceReplace: true},
			action: Update, typ: Put, sent: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","resourceVersion":"7"},"data":{"k":"w"}}`,
		}, {
			name: "finalizers and the Deployment's revision are kept",
			live: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","finalizers":["f"],"annotations":{"deployment.kubernetes.io/revision":"3","x":"y"}},"spec":{},"status":{"replicas":1}}`,
			new:  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2}}`, options: Options{ForceReplace: true},
			action: Update, typ: Put,
			sent: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","finalizers":["f"],"annotations":{"deployment.kubernetes.io/revision":"3"}},"spec":{"replicas":2}}`,
		}, {
			name: "finalizers of the chart",
			live: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["f"]}}`,
			new:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["g"]}}`, options: Options{ForceReplace: true},
			action: Update, typ: Put, sent: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["g"]}}`,
		}, {
			name: "Secret: stringData",
			live: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"dg=="}}`,
			new:  `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"l":"v"}}`, options: Options{ForceReplace: true},
			action: Update, typ: Put, sent: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"l":"dg=="}}`,
		}, {
			name: "PersistentVolumeClaim is merged",
			live: `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","labels":{"x":"y"}},"spec":{"volumeName":"v"}}`,
			new:  `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","labels":{"z":"1"}},"spec":{}}`, options: Options{ForceReplace: true},
			action: Update, typ: StrategicMerge, sent: `{"metadata":{"labels":{"z":"1"}}}`,
		}, {
			name: "new object",
			new:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, options: Options{ForceReplace: true}, action: Create,
		}, {
			name: "server-side apply",
			live: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`,
			new:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, options: Options{ForceReplace: true, ServerSide: true},
			action: Update, typ: ServerApply, sent: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			item := Item{New: object(test.new)}
			item.Ref = Ref{APIVersion: item.New["apiVersion"].(string), Kind: item.New["kind"].(string), Name: "a"}
			if test.live != "" {
				item.Live = object(test.live)
			}
			p, err := Compute([]Item{item}, test.options)
			if err != nil || len(p.Steps) != 1 {
				t.Fatalf("got %+v, %v", p, err)
			}
			s := p.Steps[0]
			if s.Action != test.action || s.Type != test.typ {
				t.Errorf("got %s %s, want %s %s", s.Action, s.Type, test.action, test.typ)
			}
			if test.sent == "" {
				return
			}
			if got, want := object(string(s.Patch)), object(test.sent); !reflect.DeepEqual(got, want) {
				t.Errorf("sent %v, want %v", got, want)
			}
			if s.Type == Put && !reflect.DeepEqual(s.After["status"], item.Live["status"]) {
				t.Errorf("after it the status is %v", s.After["status"])
			}
		})
	}
}
