// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/openapi"
	"github.com/moonhelm/moonhelm/openapi/builtin"
)

// beyondDefaults are the fields that an API server sets in other ways: by admission plugins, by allocation,
// and when it stores an object.
var beyondDefaults = regexp.MustCompile(`^\.(metadata|status)|^\.apiVersion|^\.kind|` +
	`^\.spec\.(clusterIPs?|ipFamilies|ipFamilyPolicy|ports\[\d+\]\.nodePort|healthCheckNodePort)|` + // Service
	`^\.spec\.(serviceAccount|serviceAccountName|tolerations|priority|preemptionPolicy|nodeName)|` + // Pod
	`^\.spec\.(volumes|containers\[\d+\]\.volumeMounts|initContainers\[\d+\]\.volumeMounts)|` + // the Pod's token
	`^\.spec\.(selector|template\.metadata|manualSelector)|` + // Job
	`^\.spec\.finalizers|^\.spec\.(storageClassName|signerName|username|groups|uid)`)

// TestDefaultsAgreeWithTheServer compares objects of many kinds with what an API server makes of them.
func TestDefaultsAgreeWithTheServer(t *testing.T) {
	server := apiserver.Connect(t)
	ns := server.Namespace(t, "policy")
	text, err := os.ReadFile("../../kube/apply/testdata/accepted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	release, err := builtin.Load(36)
	if err != nil {
		t.Fatal(err)
	}
	k := &kinds{release: release}
	compared := 0
	for _, m := range parse(t, strings.ReplaceAll(string(text), "NS", strings.ReplaceAll(ns, "-", ""))) {
		kind, own := release.Kind(m["apiVersion"].(string), m["kind"].(string))
		if !own || kind.Kind == "CustomResourceDefinition" || kind.Kind == "APIService" {
			continue
		}
		t.Run(name(m), func(t *testing.T) {
			answer, code, err := server.Call(t.Context(), http.MethodPost, collection(t, release, m, ns)+"?dryRun=All", "application/json", jsonOf(t, m))
			if err != nil || code != http.StatusCreated {
				t.Fatalf("the server answers %d %s, %v", code, answer, err)
			}
			var want map[string]any
			if err := utiljson.Unmarshal([]byte(answer), &want); err != nil {
				t.Fatal(err)
			}
			o := k.object(m, ns)
			if o == nil {
				t.Fatal("the object cannot be read")
			}
			compared++
			for _, d := range differences("", want, o.value) {
				t.Error(d)
			}
		})
	}
	if compared < 30 {
		t.Errorf("compared %d kinds, want at least 30", compared)
	}
}

func differences(path string, want, got any) []string {
	if beyondDefaults.MatchString(path) {
		return nil
	}
	w, ok1 := want.(map[string]any)
	g, ok2 := got.(map[string]any)
	if ok1 && ok2 {
		keys := maps.Clone(w)
		maps.Copy(keys, g)
		var out []string
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			out = append(out, differences(path+"."+key, w[key], g[key])...)
		}
		return out
	}
	wl, ok1 := want.([]any)
	gl, ok2 := got.([]any)
	if ok1 && ok2 && len(wl) == len(gl) {
		var out []string
		for i := range wl {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), wl[i], gl[i])...)
		}
		return out
	}
	if fmt.Sprint(want) == fmt.Sprint(got) {
		return nil
	}
	return []string{fmt.Sprintf("%s: got %v, the server says %v", path, got, want)}
}

// Each line of defaults.txt is about a field that exists, and has JSON.
func TestDefaultsAreOfFields(t *testing.T) {
	release, err := builtin.Load(builtin.Last)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*openapi.Schema{}
	for _, k := range release.Kinds() {
		maps.Copy(schemas, release.Document(k.APIVersion).Schemas)
	}
	for name, fields := range defaults() {
		for _, f := range fields {
			if schemas[name] == nil || schemas[name].Properties[f.field] == nil {
				t.Errorf("%s has no field %s", name, f.field)
			}
			if !json.Valid([]byte(f.value)) {
				t.Errorf("%s %s: %q is not JSON", name, f.field, f.value)
			}
		}
	}
	for name := range computedDefaults {
		if schemas[name] == nil {
			t.Errorf("schema %s does not exist", name)
		}
	}
}
