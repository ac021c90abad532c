// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/moonhelm/moonhelm/internal/ui"

	"github.com/moonhelm/moonhelm/chart"
)

// Settings are the environment variables and global flags, which all commands share.
type Settings struct {
	Paths

	Namespace   string
	KubeConfig  string
	KubeContext string
	Token       string
	AsUser      string
	AsGroups    []string
	APIServer   string
	CAFile      string
	SkipTLS     bool
	TLSName     string
	BurstLimit  int
	QPS         float32

	Debug      bool
	Verbosity  int
	Color      string
	Progress   string // one of ui.Modes
	MaxHistory int
	Driver     string
	Binary     string
	// Compat is the major version of Helm that helm reports as its own, 3 or 4; "" is the newest.
	Compat string
	// Builtin names the commands that no plugin may replace.
	Builtin []string
	// ChartV3 accepts charts of the experimental apiVersion v3.
	ChartV3 bool
}

// Paths are the paths of helm's files.
type Paths struct {
	CacheHome        string
	ConfigHome       string
	DataHome         string
	ContentCache     string
	Plugins          string
	RegistryConfig   string
	RepositoryConfig string
	RepositoryCache  string
}

// DefaultMaxHistory is the number of revisions of a release that are kept.
const DefaultMaxHistory = 10

const defaultBurst = 100

// NewSettings reads the settings from the environment.
func NewSettings(getenv func(string) string) Settings {
	return Settings{
		Paths:       newPaths(getenv, runtime.GOOS),
		Namespace:   getenv("HELM_NAMESPACE"),
		KubeContext: getenv("HELM_KUBECONTEXT"),
		Token:       getenv("HELM_KUBETOKEN"),
		AsUser:      getenv("HELM_KUBEASUSER"),
		AsGroups:    splitList(getenv("HELM_KUBEASGROUPS")),
		APIServer:   getenv("HELM_KUBEAPISERVER"),
		CAFile:      getenv("HELM_KUBECAFILE"),
		TLSName:     getenv("HELM_KUBETLS_SERVER_NAME"),
		SkipTLS:     boolOr(getenv("HELM_KUBEINSECURE_SKIP_TLS_VERIFY"), false),
		BurstLimit:  intOr(getenv("HELM_BURST_LIMIT"), defaultBurst),
		QPS:         float32Or(getenv("HELM_QPS"), 0),
		Debug:       boolOr(getenv("HELM_DEBUG"), false),
		Color:       colorSetting(getenv),
		Progress:    cmp.Or(getenv("HELM_PROGRESS"), string(ui.Auto)),
		MaxHistory:  intOr(getenv("HELM_MAX_HISTORY"), DefaultMaxHistory),
		Driver:      getenv("HELM_DRIVER"),
		Compat:      getenv("HELM_COMPAT"),
		Builtin:     splitList(strings.ReplaceAll(getenv("HELM_BUILTIN"), " ", "")),
		ChartV3:     getenv(chart.VariableV3) != "", // any value enables it, as in Helm
	}
}

func newPaths(getenv func(string) string, goos string) Paths {
	home := func(helm, xdg string, fallback func() string) string {
		if v := getenv(helm); v != "" {
			return v
		}
		if v := getenv(xdg); v != "" {
			return filepath.Join(v, "helm")
		}
		return filepath.Join(fallback(), "helm")
	}
	user := getenv("HOME")
	in := func(parts ...string) string { return filepath.Join(append([]string{user}, parts...)...) }
	p := Paths{
		CacheHome: home("HELM_CACHE_HOME", "XDG_CACHE_HOME", func() string {
			switch goos {
			case "windows":
				return getenv("TEMP")
			case "darwin":
				return in("Library", "Caches")
			}
			return in(".cache")
		}),
		ConfigHome: home("HELM_CONFIG_HOME", "XDG_CONFIG_HOME", func() string {
			switch goos {
			case "windows":
				return getenv("APPDATA")
			case "darwin":
				return in("Library", "Preferences")
			}
			return in(".config")
		}),
		DataHome: home("HELM_DATA_HOME", "XDG_DATA_HOME", func() string {
			switch goos {
			case "windows":
				return getenv("APPDATA")
			case "darwin":
				return in("Library")
			}
			return in(".local", "share")
		}),
	}
	or := func(name, fallback string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return fallback
	}
	p.ContentCache = or("HELM_CONTENT_CACHE", filepath.Join(p.CacheHome, "content"))
	p.Plugins = or("HELM_PLUGINS", filepath.Join(p.DataHome, "plugins"))
	p.RegistryConfig = or("HELM_REGISTRY_CONFIG", filepath.Join(p.ConfigHome, "registry", "config.json"))
	p.RepositoryConfig = or("HELM_REPOSITORY_CONFIG", filepath.Join(p.ConfigHome, "repositories.yaml"))
	p.RepositoryCache = or("HELM_REPOSITORY_CACHE", filepath.Join(p.CacheHome, "repository"))
	return p
}

// Bind registers the global flags.
func (s *Settings) Bind(fs *pflag.FlagSet) {
	fs.StringVarP(&s.Namespace, "namespace", "n", s.Namespace, "namespace scope for this request")
	fs.StringVar(&s.KubeConfig, "kubeconfig", "", "path to the kubeconfig file")
	fs.StringVar(&s.KubeContext, "kube-context", s.KubeContext, "name of the kubeconfig context to use")
	fs.StringVar(&s.Token, "kube-token", s.Token, "bearer token used for authentication")
	fs.StringVar(&s.AsUser, "kube-as-user", s.AsUser, "username to impersonate for the operation")
	StringArrayVarP(fs, &s.AsGroups, "kube-as-group", "", "group to impersonate for the operation; may be repeated")
	fs.StringVar(&s.APIServer, "kube-apiserver", s.APIServer, "address and port of the Kubernetes API server")
	fs.StringVar(&s.CAFile, "kube-ca-file", s.CAFile, "certificate authority file for the Kubernetes API server")
	fs.BoolVar(&s.SkipTLS, "kube-insecure-skip-tls-verify", s.SkipTLS,
		"do not check the API server's certificate (makes connections insecure)")
	fs.StringVar(&s.TLSName, "kube-tls-server-name", s.TLSName,
		"server name for the API server's certificate, if it is not the host name")
	fs.IntVar(&s.BurstLimit, "burst-limit", s.BurstLimit,
		"accepted for compatibility: the API server's own flow control is used")
	fs.Float32Var(&s.QPS, "qps", s.QPS, "accepted for compatibility: the API server's own flow control is used")
	fs.StringVar(&s.RegistryConfig, "registry-config", s.RegistryConfig, "path to the registry config file")
	fs.StringVar(&s.RepositoryConfig, "repository-config", s.RepositoryConfig,
		"path to the file with repository names and URLs")
	fs.StringVar(&s.RepositoryCache, "repository-cache", s.RepositoryCache,
		"path to the directory of cached repository indexes")
	fs.StringVar(&s.ContentCache, "content-cache", s.ContentCache,
		"path to the directory of cached content, such as charts")
	fs.BoolVar(&s.Debug, "debug", s.Debug, "explain more, and show the whole chain of an error")
	fs.IntVarP(&s.Verbosity, "v", "v", 0, "log level of the Kubernetes client, 0 to 10 (6 shows requests)")
	bindOldLogFlags(fs)
	fs.StringVar(&s.Color, "color", s.Color, "use colour in output: never, auto or always")
	fs.StringVar(&s.Color, "colour", s.Color, "use colour in output: never, auto or always")
	_ = fs.MarkHidden("colour") // the flag exists: it is registered above
	fs.StringVar(&s.Progress, "progress", s.Progress,
		"show progress on standard error: auto (on a terminal), plain (as lines) or none")
}

// bindOldLogFlags registers the other logging flags of client-go, which Helm accepts but hides.
// They have no effect: the log goes to standard error.
func bindOldLogFlags(fs *pflag.FlagSet) {
	old := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range []string{"add-dir-header", "alsologtostderr", "logtostderr", "one-output", "skip-headers",
		"skip-log-headers"} {
		old.Bool(name, false, "accepted for compatibility")
	}
	for _, name := range []string{"log-backtrace-at", "log-dir", "log-file", "log-file-max-size", "stderrthreshold",
		"vmodule"} {
		old.String(name, "", "accepted for compatibility")
	}
	old.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	fs.AddFlagSet(old)
}

// CalledAs sets Compat from the name of the program, helm3 or helm4, unless HELM_COMPAT is set.
func (s *Settings) CalledAs(name string) {
	if s.Compat != "" {
		return
	}
	switch strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".exe") {
	case "helm3":
		s.Compat = "3"
	case "helm4":
		s.Compat = "4"
	}
}

// Check returns an error if a setting is invalid.
func (s *Settings) Check() error {
	switch s.Color {
	case "", "auto", "always", "never":
	default:
		return fmt.Errorf("--color is %q, must be never, auto or always", s.Color)
	}
	if !slices.Contains(ui.Modes(), s.Progress) {
		return fmt.Errorf("--progress or HELM_PROGRESS is %q, must be auto, plain or none", s.Progress)
	}
	switch s.Compat {
	case "", "3", "4":
	default:
		return fmt.Errorf("HELM_COMPAT is %q, must be 3 or 4", s.Compat)
	}
	if s.Verbosity < 0 {
		return fmt.Errorf("-v is %d, must be 0 or more", s.Verbosity)
	}
	return nil
}

// Var is an environment variable.
type Var struct{ Name, Value string }

// Vars returns the variables that `helm env` prints and that plugins get, sorted by name. namespace
// is the current one.
func (s *Settings) Vars(namespace string) []Var {
	vars := []Var{
		{"HELM_BIN", s.Binary},
		{"HELM_BUILTIN", strings.Join(s.Builtin, ",")},
		{"HELM_BURST_LIMIT", strconv.Itoa(s.BurstLimit)},
		{"HELM_CACHE_HOME", s.CacheHome},
		{"HELM_COMPAT", s.Compat},
		{"HELM_CONFIG_HOME", s.ConfigHome},
		{"HELM_CONTENT_CACHE", s.ContentCache},
		{"HELM_DATA_HOME", s.DataHome},
		{"HELM_DEBUG", strconv.FormatBool(s.Debug)},
		{"HELM_KUBEAPISERVER", s.APIServer},
		{"HELM_KUBEASGROUPS", strings.Join(s.AsGroups, ",")},
		{"HELM_KUBEASUSER", s.AsUser},
		{"HELM_KUBECAFILE", s.CAFile},
		{"HELM_KUBECONTEXT", s.KubeContext},
		{"HELM_KUBEINSECURE_SKIP_TLS_VERIFY", strconv.FormatBool(s.SkipTLS)},
		{"HELM_KUBETLS_SERVER_NAME", s.TLSName},
		{"HELM_KUBETOKEN", s.Token},
		{"HELM_MAX_HISTORY", strconv.Itoa(s.MaxHistory)},
		{"HELM_NAMESPACE", namespace},
		{"HELM_PLUGINS", s.Plugins},
		{"HELM_PROGRESS", s.Progress},
		{"HELM_QPS", strconv.FormatFloat(float64(s.QPS), 'f', 2, 32)},
		{"HELM_REGISTRY_CONFIG", s.RegistryConfig},
		{"HELM_REPOSITORY_CACHE", s.RepositoryCache},
		{"HELM_REPOSITORY_CONFIG", s.RepositoryConfig},
	}
	slices.SortFunc(vars, func(a, b Var) int { return strings.Compare(a.Name, b.Name) })
	return vars
}

func colorSetting(getenv func(string) string) string {
	// NO_COLOR overrides HELM_COLOR, as in Helm; the flag overrides both.
	if c := getenv("HELM_COLOR"); c != "" && getenv("NO_COLOR") == "" {
		return c
	}
	return "auto"
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func boolOr(s string, fallback bool) bool {
	if b, err := strconv.ParseBool(s); err == nil {
		return b
	}
	return fallback
}

func intOr(s string, fallback int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return fallback
}

func float32Or(s string, fallback float32) float32 {
	if f, err := strconv.ParseFloat(s, 32); err == nil {
		return float32(f)
	}
	return fallback
}
