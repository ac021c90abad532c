// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/moonhelm/moonhelm/script"
	"github.com/moonhelm/moonhelm/script/wire"
)

func TestPermissionsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"# nothing\n":                         "",
		"lua:\n":                              "",
		"lua: []":                             "",
		"lua: [network, io, os]":              "network io os",
		"lua:\n- io\n- network\n":             "io network",
		"lua: [netwrok]":                      `!ext/permissions.yaml:1: "netwrok" is not a permission; known are network, io, os`,
		"lua: [Network]":                      `!"Network" is not a permission`,
		"lua: [1]":                            "!must hold names of permissions",
		"lua: [[io]]":                         "!must hold names of permissions",
		"lua: io":                             "!lua must be a list",
		"lua: {io: true}":                     "!lua must be a list",
		"[io]":                                "!must be a map with the key lua",
		"io":                                  "!must be a map with the key lua",
		"lua: [io]\njs: [os]\n":               `!ext/permissions.yaml:2: "js" is not a key of this file; the only one is lua`,
		"lua: [io]\nlua: [os]\n":              "!ext/permissions.yaml:2: lua is here twice",
		"lua: [io, io]":                       "!io is here twice",
		"a: &x [io]\nlua: *x\n":               `!"a" is not a key`,
		"lua: &x [*x]\n":                      "!",
		"lua: [io]\n---\nlua: [os]\n":         "!more than one document",
		"lua: [io\n":                          "!ext/permissions.yaml: line 1",
		"lua: [" + strings.Repeat("[", 60000): "!",
		strings.Repeat("#", 70000):            "!larger than 64 KiB",
	} {
		got, err := script.Permissions(newChart("web", map[string]string{"ext/permissions.yaml": text}))
		if want, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `chart "web": ext/permissions.yaml`) {
				t.Errorf("%.40q: got %v, wanted an error with %q", text, err, want)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%.40q: got %v, %v", text, got, err)
		}
	}
	if got, err := script.Permissions(newChart("web", nil)); got != nil || err != nil {
		t.Error(got, err)
	}
}

func FuzzPermissions(f *testing.F) {
	f.Add("lua: [network]")
	f.Add("lua: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := script.Permissions(newChart("web", map[string]string{"ext/permissions.yaml": text}))
		if err != nil {
			return
		}
		if err := script.CheckPermissionNames(got); err != nil {
			t.Error(err)
		}
	})
}

var wishes = []script.Ask{
	{Chart: "ishmael", Permissions: []string{"network", "io"}},
	{Chart: "que\"eq\x1b[1m", Path: "ishmael/charts/queequeg", Permissions: []string{"os"}},
}

func TestThePromptIsTheDocuments(t *testing.T) {
	var shown []string
	answers := []string{"maybe", "", " YES \n"}
	p := script.Policy{Interactive: true, Ask: func(prompt string) (string, error) {
		shown = append(shown, prompt)
		return answers[len(shown)-1], nil
	}}
	if err := p.Approve(t.Context(), wishes); err != nil {
		t.Fatal(err)
	}
	want := `Chart "ishmael" is requesting the following additional permissions:
- network: Access the network
- io: Access the local filesystem
Chart "que\"eq\x1b[1m" is requesting the following additional permissions:
- os: Access the operating system
Allow? (y, yes, n, no) > `
	if shown[0] != want {
		t.Errorf("got\n%s\nwant\n%s", shown[0], want)
	}
	if len(shown) != 3 || shown[1] != "Allow? (y, yes, n, no) > " {
		t.Errorf("%q", shown[1:])
	}
}

// A name can neither steer the terminal, nor look like the end of the question,
// nor push other questions out of sight.
func TestNamesDoNotSpoofThePrompt(t *testing.T) {
	for name, want := range map[string]string{
		"a\nAllow? (y, yes, n, no) > ": `"a\nAllow? (y, yes, n, no) > "`,
		"a\r\x1b[2K\x9b2Kb\x07":        `"a\r\x1b[2K\x9b2Kb\a"`,
		"a\u202e\u2066\u200bb":         `"a\u202e\u2066\u200bb"`,
		"a\u2028b\xffc\u009bd":         `"a\u2028b\xffc\u009bd"`,
		strings.Repeat("x\n", 1<<20):   "",
	} {
		ask := script.Ask{Chart: name, Permissions: []string{"os"}}
		first, _, _ := strings.Cut(ask.String(), "\n")
		if want != "" && first != "Chart "+want+" is requesting the following additional permissions:" || len(first) > 500 {
			t.Errorf("%.600q", first)
		}
		if text := (&script.PermissionError{Asks: []script.Ask{ask}}).Error(); len(text) > 500 || strings.Contains(text, "\n") {
			t.Errorf("%.600q", text)
		}
	}
}

func TestPolicies(t *testing.T) {
	said := func(answer string) func(string) (string, error) {
		return func(string) (string, error) { return answer, nil }
	}
	for name, tc := range map[string]struct {
		policy script.Policy
		want   string // of the error; "" for none
	}{
		"yes":                  {script.Policy{Yes: true}, ""},
		"y":                    {script.Policy{Interactive: true, Ask: said("y")}, ""},
		"no":                   {script.Policy{Interactive: true, Ask: said("no")}, "they were refused"},
		"n":                    {script.Policy{Interactive: true, Ask: said("N")}, "they were refused"},
		"never an answer":      {script.Policy{Interactive: true, Ask: said("?")}, "no answer that is y, yes, n or no"},
		"end of input":         {script.Policy{Interactive: true, Ask: func(string) (string, error) { return "", io.EOF }}, "left without an answer"},
		"no terminal":          {script.Policy{}, "there is no terminal to ask at"},
		"exactly these":        {script.Policy{Accept: []string{"os", "network", "io"}}, ""},
		"too few":              {script.Policy{Accept: []string{"network"}}, `permissions for the scripts of chart "ishmael" (io), chart "que\"eq\x1b[1m" (os): they are not among those that are accepted`},
		"none":                 {script.Policy{Accept: []string{}, Interactive: true, Ask: said("y")}, "they are not among those that are accepted"},
		"what is none":         {script.Policy{Accept: []string{"net"}}, `"net" is not a permission; known are network, io, os`},
		"the narrower flag":    {script.Policy{Yes: true, Accept: []string{"io"}}, "they are not among those that are accepted"},
		"accepted, not asked":  {script.Policy{Accept: []string{"os", "network", "io"}, Interactive: true, Ask: said("n")}, ""},
		"interactive and mute": {script.Policy{Interactive: true}, "no terminal"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.policy.Approve(t.Context(), wishes)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if err := (script.Policy{}).Approve(t.Context(), nil); err != nil {
		t.Error("asked for nothing:", err)
	}
}

func TestAnInterruptEndsTheQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	defer close(hang)
	p := script.Policy{Interactive: true, Ask: func(string) (string, error) { cancel(); <-hang; return "y", nil }}
	if err := p.Approve(ctx, wishes); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Each chart gets what it asked for itself; all are asked for at once, the top
// chart first, whether or not they have a chart.lua.
func TestGrantsAreNotShared(t *testing.T) {
	perms := func(p string) map[string]string {
		return map[string]string{"ext/permissions.yaml": "lua: [" + p + "]", "ext/lua/chart.lua": ""}
	}
	leaf := newChart("leaf", map[string]string{"ext/permissions.yaml": "lua: [os]"})
	top := newChart("top", perms("network"), newChart("a", perms("io"), leaf), newChart("b", map[string]string{"ext/lua/chart.lua": ""}))
	var asked []string
	var grants []string
	var environ any
	h := &script.Host{
		Environ: []string{"HOME=/home/x"},
		Approve: func(_ context.Context, asks []script.Ask) error {
			for _, a := range asks {
				asked = append(asked, a.Path+"="+strings.Join(a.Permissions, ","))
			}
			return nil
		},
		Start: starter(func(c *wire.Conn) error {
			m, err := c.Receive()
			if err != nil {
				return err
			}
			environ = m.Body["environ"]
			for _, e := range m.Body["charts"].([]any) {
				e := e.(map[string]any)
				for _, g := range e["grants"].([]any) {
					grants = append(grants, e["name"].(string)+"="+g.(string))
				}
			}
			return c.Send(wire.Message{Kind: wire.Done, Body: map[string]any{}})
		}),
	}
	mustLoad(t, h, top)
	if want := []string{"top=network", "top/charts/a=io", "top/charts/a/charts/leaf=os"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v", asked)
	}
	if want := []string{"leaf=os", "a=io", "top=network"}; !slices.Equal(grants, want) {
		t.Errorf("granted %v", grants)
	}
	if e := environ.([]any); len(e) != 1 || e[0] != "HOME=/home/x" {
		t.Errorf("environ %v", e)
	}
}

func TestARefusalStartsNothing(t *testing.T) {
	c := newChart("web", map[string]string{"ext/permissions.yaml": "lua: [os]", "ext/lua/chart.lua": ""})
	started := func(context.Context, wire.Limits) (script.Process, error) {
		t.Error("started")
		return nil, errBroken
	}
	for _, approve := range []func(context.Context, []script.Ask) error{nil, script.Policy{}.Approve} {
		_, err := load(t, &script.Host{Start: started, Approve: approve}, c)
		var refused *script.PermissionError
		if !errors.As(err, &refused) || len(refused.Asks) != 1 {
			t.Error(err)
		}
	}
	bad := newChart("web", map[string]string{"ext/permissions.yaml": "lua: [x]", "ext/lua/chart.lua": ""})
	if _, err := load(t, &script.Host{Start: started}, bad); err == nil || !strings.Contains(err.Error(), `"x" is not a permission`) {
		t.Error(err)
	}
}
