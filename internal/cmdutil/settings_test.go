// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/progress"
)

func from(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestPathsPerOS(t *testing.T) {
	user := filepath.Join("/", "home", "anna")
	for _, test := range []struct {
		name, goos string
		vars       map[string]string
		cache      string
		config     string
		data       string
	}{
		{"linux", "linux", map[string]string{"HOME": user}, user + "/.cache/helm", user + "/.config/helm", user + "/.local/share/helm"},
		{"darwin", "darwin", map[string]string{"HOME": user}, user + "/Library/Caches/helm", user + "/Library/Preferences/helm", user + "/Library/helm"},
		{"windows", "windows", map[string]string{"HOME": user, "TEMP": "/t", "APPDATA": "/a"}, "/t/helm", "/a/helm", "/a/helm"},
		{"freebsd is like linux", "freebsd", map[string]string{"HOME": user}, user + "/.cache/helm", user + "/.config/helm", user + "/.local/share/helm"},
		{"XDG, on every system", "darwin", map[string]string{"HOME": user, "XDG_CACHE_HOME": "/xc", "XDG_CONFIG_HOME": "/xo", "XDG_DATA_HOME": "/xd"}, "/xc/helm", "/xo/helm", "/xd/helm"},
		{"helm's own, over XDG", "linux", map[string]string{"HELM_CACHE_HOME": "/c", "XDG_CACHE_HOME": "/xc", "HELM_CONFIG_HOME": "/o", "HELM_DATA_HOME": "/d"}, "/c", "/o", "/d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPaths(from(test.vars), test.goos)
			for _, pair := range [][2]string{
				{p.CacheHome, test.cache}, {p.ConfigHome, test.config}, {p.DataHome, test.data},
				{p.ContentCache, test.cache + "/content"}, {p.Plugins, test.data + "/plugins"},
				{p.RegistryConfig, test.config + "/registry/config.json"}, {p.RepositoryConfig, test.config + "/repositories.yaml"},
				{p.RepositoryCache, test.cache + "/repository"},
			} {
				if filepath.ToSlash(pair[0]) != pair[1] {
					t.Errorf("%s: got %s, want %s", test.name, pair[0], pair[1])
				}
			}
		})
	}
}

func TestPathVariables(t *testing.T) {
	p := newPaths(from(map[string]string{
		"HELM_CONTENT_CACHE": "/1", "HELM_PLUGINS": "/2", "HELM_REGISTRY_CONFIG": "/3", "HELM_REPOSITORY_CONFIG": "/4", "HELM_REPOSITORY_CACHE": "/5",
	}), "linux")
	if got := []string{p.ContentCache, p.Plugins, p.RegistryConfig, p.RepositoryConfig, p.RepositoryCache}; !slices.Equal(got, []string{"/1", "/2", "/3", "/4", "/5"}) {
		t.Error(got)
	}
}

func TestSettingsFromEnvironment(t *testing.T) {
	s := NewSettings(from(map[string]string{
		"HELM_NAMESPACE": "ns", "HELM_KUBECONTEXT": "ctx", "HELM_KUBETOKEN": "tok", "HELM_KUBEASUSER": "u", "HELM_KUBEASGROUPS": "a,b",
		"HELM_KUBEAPISERVER": "https://x", "HELM_KUBECAFILE": "ca", "HELM_KUBETLS_SERVER_NAME": "n", "HELM_KUBEINSECURE_SKIP_TLS_VERIFY": "true",
		"HELM_BURST_LIMIT": "7", "HELM_QPS": "1.5", "HELM_DEBUG": "1", "HELM_MAX_HISTORY": "3", "HELM_DRIVER": "configmap", "HELM_COMPAT": "3", "HELM_PROGRESS": "plain",
		"HELM_BUILTIN": "diff, schema",
	}))
	var got []string
	for _, v := range s.Vars("in-force") {
		if !strings.Contains(v.Name, "_HOME") && !strings.Contains(v.Name, "CACHE") && !strings.Contains(v.Name, "_CONFIG") && v.Name != "HELM_PLUGINS" {
			got = append(got, v.Name+"="+v.Value)
		}
	}
	want := []string{"HELM_BIN=", "HELM_BUILTIN=diff,schema", "HELM_BURST_LIMIT=7", "HELM_COMPAT=3", "HELM_DEBUG=true", "HELM_KUBEAPISERVER=https://x", "HELM_KUBEASGROUPS=a,b", "HELM_KUBEASUSER=u",
		"HELM_KUBECAFILE=ca", "HELM_KUBECONTEXT=ctx", "HELM_KUBEINSECURE_SKIP_TLS_VERIFY=true", "HELM_KUBETLS_SERVER_NAME=n", "HELM_KUBETOKEN=tok",
		"HELM_MAX_HISTORY=3", "HELM_NAMESPACE=in-force", "HELM_PROGRESS=plain", "HELM_QPS=1.50"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwanted\n%q", got, want)
	}
	if s.Driver != "configmap" || s.Namespace != "ns" {
		t.Errorf("%+v", s)
	}
}

func TestSettingsInvalidEnvironment(t *testing.T) {
	odd := NewSettings(from(map[string]string{
		"HELM_BURST_LIMIT": "many", "HELM_QPS": "fast", "HELM_DEBUG": "perhaps", "HELM_MAX_HISTORY": "", "HELM_KUBEINSECURE_SKIP_TLS_VERIFY": "no idea",
	}))
	if plain := NewSettings(from(nil)); odd.BurstLimit != plain.BurstLimit || odd.QPS != 0 || odd.Debug || odd.MaxHistory != DefaultMaxHistory || odd.SkipTLS || odd.AsGroups != nil {
		t.Errorf("%+v", odd)
	}
}

func TestFlagsOverrideEnvironment(t *testing.T) {
	s := NewSettings(from(map[string]string{"HELM_NAMESPACE": "env", "HELM_KUBEASGROUPS": "a", "HELM_COLOR": "never", "HELM_DEBUG": "true"}))
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.Bind(fs)
	if s.Namespace != "env" || s.Color != "never" || !s.Debug {
		t.Errorf("Bind changed the settings of the environment: %+v", s)
	}
	if err := fs.Parse([]string{"-n", "flag", "--kube-as-group", "b", "--kube-as-group", "c", "--colour", "always", "--debug=false", "-v", "6", "--kubeconfig", "k"}); err != nil {
		t.Fatal(err)
	}
	if s.Namespace != "flag" || !slices.Equal(s.AsGroups, []string{"b", "c"}) || s.Color != "always" || s.Debug || s.Verbosity != 6 || s.KubeConfig != "k" {
		t.Errorf("%+v", s)
	}
}

func TestCalledAs(t *testing.T) {
	for _, test := range []struct{ name, compat, called, want string }{
		{"helm", "", "helm", ""},
		{"by its path", "", "/usr/bin/helm3", "3"},
		{"on Windows", "", "helm3.exe", "3"},
		{"on Windows, in capitals", "", "Helm3.EXE", "3"},
		{"helm4", "", "helm4", "4"},
		{"another name", "", "helm3-wrapper", ""},
		{"a directory of the name", "", "helm3/helm", ""},
		{"the variable is stronger", "4", "helm3", "4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewSettings(from(map[string]string{"HELM_COMPAT": test.compat}))
			s.CalledAs(test.called)
			if s.Compat != test.want {
				t.Errorf("got %q, want %q", s.Compat, test.want)
			}
		})
	}
}

func TestNoColorOverridesHelmColor(t *testing.T) {
	for want, vars := range map[string]map[string]string{
		"always": {"HELM_COLOR": "always"},
		"auto":   {"HELM_COLOR": "always", "NO_COLOR": "1"},
	} {
		t.Run(want, func(t *testing.T) {
			if got := NewSettings(from(vars)).Color; got != want {
				t.Errorf("%v: got %s", vars, got)
			}
		})
	}
}

func TestStartRejectsInvalidSettings(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"--color":     func(s *Settings) { s.Color = "green" },
		"--progress":  func(s *Settings) { s.Progress = "much" },
		"HELM_COMPAT": func(s *Settings) { s.Compat = "2" },
		"-v":          func(s *Settings) { s.Verbosity = -1 },
		"":            func(s *Settings) { s.Color = "always" },
	} {
		f := New(term.Streams{})
		change(&f.Settings)
		err := f.Start()
		if want == "" && (err != nil || f.Color != "always") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The zero value of Streams discards output.
func TestNewWithoutStreams(t *testing.T) {
	f := New(term.Streams{})
	for _, w := range []interface{ Write([]byte) (int, error) }{f.Out, f.Err} {
		if n, err := w.Write([]byte("x")); n != 1 || err != nil {
			t.Error(n, err)
		}
	}
	f.Report().Send(progress.Event{Kind: progress.Warning, Text: "x"})
	if f.Getenv("HOME") != "" {
		t.Error("unexpected environment")
	}
}

func TestReportWritesToStderr(t *testing.T) {
	var out, errs bytes.Buffer
	f := New(term.Streams{Out: &out, Err: &errs})
	f.Report().Send(progress.Event{Kind: progress.Warning, Text: "x"})
	if out.Len() > 0 || errs.String() != "Warning: x\n" {
		t.Errorf("%q, %q", out.String(), errs.String())
	}
}
