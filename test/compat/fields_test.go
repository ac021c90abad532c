// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestFieldsOfOthersStay passes releases on between binaries that use server-side and
// client-side apply, while another client changes the objects: fields that the chart drops are
// removed, those of other clients stay, and there are no conflicts.
func TestFieldsOfOthersStay(t *testing.T) {
	c := connect(t)
	chart := webChart(t)
	for _, s := range []struct {
		maker  string
		flags  []string
		method string // the apply method of the record, which all binaries must keep
		next   []string
	}{
		{"helm4", nil, "ssa", []string{"ours", "helm4", "ours"}},
		{"helm4", []string{"--server-side=false"}, "csa", []string{"ours", "helm4", "ours"}},
		{"helm3", nil, "", []string{"ours", "helm3", "ours", "helm4"}},
		{"ours", nil, "csa", []string{"helm4", "ours", "helm3"}},
		{"ours", []string{"--server-side=true"}, "ssa", []string{"helm4", "ours", "helm4"}},
	} {
		t.Run(strings.Join(append(append([]string{s.maker}, s.flags...), s.next...), " "), func(t *testing.T) {
			ns := c.namespace(t)
			all := tools(t, ns)
			all[s.maker].must(t, append([]string{"install", "web", chart}, s.flags...)...)
			ns.patch(t, "Deployment", "w", `{"metadata":{"annotations":{"theirs":"note"}},"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"nowhere/sidecar"},{"name":"w","env":[{"name":"THEIRS","value":"1"}]}]}}}}`)
			ns.patch(t, "ConfigMap", "a", `{"metadata":{"labels":{"theirs":"l"}},"data":{"theirs":"d"}}`)

			old := true
			for i, name := range s.next {
				old = !old
				colour := []string{"blue", "green", "black", "white"}[i]
				set := []string{"upgrade", "web", chart, "--set", "colour=" + colour}
				if !old {
					set = append(set, "--set", "old=false")
				}
				all[name].must(t, set...)
				theirs(t, ns, name, colour, old)
				if got := method(t, all["helm4"]); s.method != "" && got != s.method && name != "helm3" {
					t.Errorf("after %s the record says %q, want %q", name, got, s.method)
				}
			}
			if t.Failed() {
				return
			}
			all["ours"].must(t, "rollback", "web", "1")
			theirs(t, ns, "our rollback", "red", true)
			all["helm4"].must(t, "rollback", "web", "2")
			theirs(t, ns, "helm4's rollback", "blue", false)
		})
	}
}

// theirs requires the objects of a colour with the fields of other clients, with or without
// those that the chart drops.
func theirs(t *testing.T, s space, after, colour string, old bool) {
	t.Helper()
	w, a := s.object(t, "Deployment", "w"), s.object(t, "ConfigMap", "a")
	containers, _ := at(w, "spec", "template", "spec", "containers").([]any)
	env, images := map[string]string{}, map[string]string{}
	for _, c := range containers {
		name, _ := at(c, "name").(string)
		images[name], _ = at(c, "image").(string)
		list, _ := at(c, "env").([]any)
		for _, e := range list {
			name, _ := at(e, "name").(string)
			env[name], _ = at(e, "value").(string)
		}
	}
	wantEnv := map[string]string{"COLOUR": colour, "THEIRS": "1"}
	wantData := map[string]any{"colour": colour, "theirs": "d"}
	if old {
		wantEnv["OLD"], wantData["old"] = "yes", "yes"
	}
	for _, l := range []struct {
		what      string
		got, want any
	}{
		{"the variables", env, wantEnv},
		{"the images", images, map[string]string{"w": "nowhere/image:" + colour, "sidecar": "nowhere/sidecar"}},
		{"their annotation", at(w, "metadata", "annotations", "theirs"), "note"},
		{"the data of ConfigMap a", at(a, "data"), wantData},
		{"their label of ConfigMap a", at(a, "metadata", "labels", "theirs"), "l"},
	} {
		got, err := json.Marshal(l.got) // sorts keys
		want, err2 := json.Marshal(l.want)
		if err != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("after %s, %s: %s, want %s", after, l.what, got, want)
		}
	}
}

// method returns the apply method of the last revision's record.
func method(t *testing.T, h tool) string {
	t.Helper()
	var record struct {
		Method string `json:"apply_method"`
	}
	decode(t, h.must(t, "status", "web", "-o", "json"), &record)
	return record.Method
}
