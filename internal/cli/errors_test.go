// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/event"
	"github.com/moonhelm/moonhelm/internal/cmdutil"
	"github.com/moonhelm/moonhelm/internal/hint"
	"github.com/moonhelm/moonhelm/internal/term"
	"github.com/moonhelm/moonhelm/kube"
	"github.com/moonhelm/moonhelm/kube/apply"
	"github.com/moonhelm/moonhelm/registry"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/lock"
)

// Errors have their hints also if they are wrapped.
func TestHints(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want []string
	}{
		{"usage", &cmdutil.UsageError{Command: "helm status", Usage: "helm status NAME [flags]",
			Problem: "requires 1 argument: a name"},
			[]string{"usage: helm status NAME [flags]", "helm status --help shows the flags and examples"}},
		{"unknown command with similar ones", &unknownCommandError{Name: "instal", Similar: []string{"install", "uninstall"}},
			[]string{"did you mean: helm install, helm uninstall"}},
		{"unknown command", &unknownCommandError{Name: "fly"}, []string{"helm --help lists the commands"}},
		{"revision not found", &storage.NotFoundError{Key: storage.Key{Name: "web", Revision: 3}},
			[]string{"helm history web lists its revisions"}},
		{"release not found", &storage.NotFoundError{Key: storage.Key{Name: "web"}}, []string{"helm list --all-namespaces"}},
		{"name of a failed release", &action.NameInUseError{Name: "web", Status: release.Failed},
			[]string{"helm uninstall web removes", "--replace"}},
		{"name of a failed release with a deployed revision",
			&action.NameInUseError{Name: "web", Status: release.Failed, Deployed: true}, []string{"helm upgrade web CHART"}},
		{"name of an uninstalled release", &action.NameInUseError{Name: "web", Status: release.Uninstalled},
			[]string{"--replace"}},
		{"name of a deployed release", &action.NameInUseError{Name: "web", Status: release.Deployed},
			[]string{"cannot reuse a name", "choose another"}},
		{"name of a release being installed", &action.NameInUseError{Name: "web"},
			[]string{"cannot reuse a name", "choose another"}},
		{"already uninstalled", &action.AlreadyUninstalledError{Name: "web"}, []string{"without --keep-history"}},
		{"no name", action.ErrNoName, []string{"give one, or --generate-name"}},
		{"record too large", &storage.TooLargeError{}, []string{"(.helmignore), or use HELM_DRIVER=sql"}},
		{"database", &storage.DatabaseError{}, []string{"HELM_DRIVER_SQL_CONNECTION_STRING"}},
		{"credentials for several hosts", &action.CredentialsError{},
			[]string{"--username and --password are for one host", "helm registry login", "helm repo add"}},
		{"kubeconfig", &cmdutil.KubeconfigError{Err: errors.New("x")}, []string{"KUBECONFIG"}},
		{"cluster unreachable", &kube.UnreachableError{}, []string{"kubernetes cluster unreachable: is it running"}},
		{"forbidden", &kube.ForbiddenError{}, []string{"--kube-as-user"}},
		{"conflict", &apply.ConflictError{}, []string{"--take-ownership"}},
		{"conflict of a hook",
			&action.HookError{Hook: &release.Hook{}, Err: &action.HookConflictError{Conflicts: []action.HookConflict{{}}}},
			[]string{"--take-ownership"}},
		{"hooks outside the namespace", &action.OutsideError{Release: "web"},
			[]string{"helm get hooks web", "--yes", "HELM_ACCEPT_STORED_HOOKS=true", "--no-hooks"}},
		{"chart not found by name", &action.ChartNotFoundError{Ref: "x"},
			[]string{"helm create", "helm search repo x looks for it"}},
		{"chart not found by path", &action.ChartNotFoundError{Ref: "./x"}, []string{"helm create"}},
		{"dependency not found", &action.DependencyError{Err: &action.ChartNotFoundError{Ref: "x"}}, []string{"helm create"}},
		{"chart of a repository not found", &action.ChartNotFoundError{Ref: "a/x"}, []string{"helm pull a/x --untar"}},
		{"archive not found", &action.ChartNotFoundError{Ref: "x-1.0.0.tgz"}, []string{"helm package", "helm pull"}},
		{"push to a host without scheme", &action.RemoteError{Remote: "localhost:5000/charts"},
			[]string{"did you mean oci://localhost:5000/charts?"}},
		{"push to an HTTP URL", &action.RemoteError{Remote: "http://localhost:5000/charts"}, []string{"plugins upload"}},
		{"missing dependencies", &action.MissingDependenciesError{Chart: "web", Missing: []string{"db"}},
			[]string{"helm dependency update", "helm dependency build"}},
		{"republished dependency", &action.DependencyError{Err: &action.RepublishedError{}},
			[]string{"helm dependency update"}},
		{"lock file out of sync", &dependency.SyncError{},
			[]string{"Please update the dependencies with 'helm dependency update'"}},
		{"invalid Chart.lock", &chart.InvalidError{File: "Chart.lock", Line: 2, Problem: "x"},
			[]string{"run 'helm dependency update' to write a new one"}},
		{"invalid Chart.yaml", &chart.InvalidError{File: "Chart.yaml", Line: 2, Problem: "x"}, nil},
		{"Kubernetes version", &action.KubeVersionError{}, []string{"--kube-version"}},
		{"unknown field found by the server", apierrors.NewBadRequest(`strict decoding error: unknown field "spec.colour"`),
			[]string{"; --disable-openapi-validation leaves"}},
		{"undeclared field found by the server",
			apierrors.NewInternalError(errors.New(".spec.colour: field not declared in schema")),
			[]string{"--server-side=false --disable-openapi-validation"}},
		{"unknown field in another error", errors.New(`strict decoding error: unknown field "spec.colour"`), nil},
		{"bad request", apierrors.NewBadRequest("no"), nil},
		{"canceled", context.Canceled, []string{"interrupted"}},
		{"other error", errors.New("what no one knows a remedy for"), nil},
		{"deadline exceeded", context.DeadlineExceeded, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, err := range []error{test.err, fmt.Errorf("install web: %w", test.err), errors.Join(errors.New("other"), test.err)} {
				got := hints(err)
				text := strings.Join(got, "\n")
				if (len(got) == 0) != (len(test.want) == 0) {
					t.Errorf("%T: got %q", test.err, got)
				}
				for _, want := range test.want {
					if !strings.Contains(text, want) {
						t.Errorf("%T: got %q, want %q", test.err, got, want)
					}
				}
			}
		})
	}
}

func TestErrorWithHint(t *testing.T) {
	f := cmdutil.New(term.Streams{})
	err := fmt.Errorf("uninstall \x1b[2Jweb: %w", &storage.NotFoundError{Key: storage.Key{Name: "web", Namespace: "ns"}})
	want := "Error: uninstall \\x1b[2Jweb: release: not found: \"web\" in namespace \"ns\"\n" +
		"hint: helm list --all-namespaces shows what is installed; -n chooses the namespace\n"
	if got := explain(err, f); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Text from a chart cannot imitate helm's own lines.
func TestErrorIndentation(t *testing.T) {
	err := errors.New("fail: no\nError: forged\nhint: forged\n\r\nAllow? (y, yes, n, no) > \n  1 | kept")
	want := "Error: fail: no\n  Error: forged\n  hint: forged\n\r\n  Allow? (y, yes, n, no) > \n  1 | kept\n"
	if got := explain(err, cmdutil.New(term.Streams{})); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	got := explain(hint.With(err, "a\nError: b"), cmdutil.New(term.Streams{}))
	if !strings.HasSuffix(got, "hint: a\nhint: Error: b\n") {
		t.Errorf("got %q", got)
	}
}

func TestDebugErrorChain(t *testing.T) {
	f := cmdutil.New(term.Streams{})
	f.Settings.Debug = true
	err := fmt.Errorf("uninstall: %w", errors.Join(
		fmt.Errorf("web: %w", &storage.NotFoundError{Key: storage.Key{Name: "web"}}),
		&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}))
	got := explain(err, f)
	for _, want := range []string{"\n*fmt.wrapError\n", "\n  *errors.joinError\n", "\n    *fmt.wrapError\n", "\n      *storage.NotFoundError\n",
		"\n    *fs.PathError\n", "\n      *errors.errorString\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestRunExitCode(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		out  string
		errs string
	}{
		"version --short": {0, "v", ""},
		"fly":             {1, "", "Error: unknown command \"fly\" for \"helm\"\nhint: "},
		"status":          {1, "", "hint: usage: helm status NAME"},
		"list --nonsense": {1, "", "Error: unknown flag: --nonsense\nhint: helm list --help"},
		"list --color x":  {1, "", "--color is \"x\""},
		"":                {0, "The Kubernetes package manager", ""},
	} {
		t.Run(cmp.Or(args, "no arguments"), func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Run(t.Context(), strings.Fields(args), cmdutil.New(term.Streams{Out: &out, Err: &errs}))
			if code != want.code || (out.Len() > 0) != (want.out != "") || !strings.Contains(errs.String(), want.errs) || (errs.Len() > 0) != (want.errs != "") {
				t.Errorf("helm %s: %d\n%s\n%s", args, code, out.String(), errs.String())
			}
		})
	}
	if code := Run(t.Context(), []string{"fly"}, cmdutil.New(term.Streams{})); code != 1 {
		t.Errorf("without streams: %d", code)
	}
}

// Scripts rely on an empty list if there are no releases.
func TestEmptyLists(t *testing.T) {
	for args, want := range map[string]string{
		"list -o json":    "[]\n",
		"list -o yaml":    "[]\n",
		"list -q -o json": "[]\n",
		"list -q":         "",
		"list":            "NAME\tNAMESPACE\tREVISION\tUPDATED\tSTATUS\tCHART\tAPP VERSION\n",
	} {
		t.Run(args, func(t *testing.T) {
			var out, errs bytes.Buffer
			f := cmdutil.New(term.Streams{Out: &out, Err: &errs})
			f.Settings.Driver, f.Settings.Namespace = "memory", "ns"
			if code := Run(t.Context(), strings.Fields(args), f); code != 0 || out.String() != want {
				t.Errorf("helm %s: %d, %q, %s", args, code, out.String(), errs.String())
			}
		})
	}
}

// The user may not be aware of having to type, and must be able to interrupt.
func TestStdinInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	chart := t.TempDir()
	if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"repo add x http://127.0.0.1:1 --username ann --password-stdin",
		"registry login 127.0.0.1:1 --username ann --password-stdin",
		"template web " + chart + " -f -",
	} {
		nobody, stays := io.Pipe()
		defer stays.Close()
		var errs bytes.Buffer
		f := cmdutil.New(term.Streams{In: nobody, Err: &errs})
		f.Settings.RepositoryConfig, f.Settings.RepositoryCache = filepath.Join(t.TempDir(), "repositories.yaml"), t.TempDir()
		Run(ctx, strings.Fields(args), f)
		if got := errs.String(); !strings.HasSuffix(got, "interrupted\n") {
			t.Errorf("helm %s: %s", args, got)
		}
	}
}

// signalled is the cause of a context that a signal has ended.
type signalled struct{}

func (signalled) Error() string        { return "interrupt signal received" }
func (signalled) Is(target error) bool { return target == context.Canceled }

// There is a hint only for commands that may have changed a release.
func TestReadOnlyCommandInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{"search hub --endpoint http://127.0.0.1:1", "repo add x http://127.0.0.1:1", "pull oci://127.0.0.1:1/web"} {
		t.Run(args, func(t *testing.T) {
			var errs bytes.Buffer
			f := cmdutil.New(term.Streams{Err: &errs})
			f.Settings.RepositoryConfig, f.Settings.RepositoryCache = filepath.Join(t.TempDir(), "repositories.yaml"), t.TempDir()
			Run(ctx, strings.Fields(args), f)
			if got := errs.String(); !strings.HasSuffix(got, "interrupted\n") {
				t.Errorf("helm %s: %s", args, got)
			}
		})
	}
}

// There is no hint if the interrupt came before anything was written to the cluster.
func TestInterruptHints(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"canceled", context.Canceled, "Error: interrupted\n"},
		{"registry", &registry.InterruptedError{Ref: "oci://host/web", Err: context.Canceled},
			"Error: oci://host/web: interrupted\n"},
		{"command", &interruptedError{Err: fmt.Errorf("sign web: %w", context.Canceled)}, "Error: sign web: interrupted\n"},
		{"command with a cause", &interruptedError{Err: fmt.Errorf("pull: %w", signalled{}), Cause: signalled{}},
			"Error: pull: interrupted\n"},
		{"lock", &lock.LockedError{Release: "web", Holder: "alice@laptop (pid 7)", Doing: "upgrade", Ended: signalled{},
			Since: time.Date(2026, 7, 1, 9, 5, 0, 0, time.Local)},
			"Error: stopped waiting for the lock of release \"web\" (interrupt signal received): alice@laptop (pid 7) has been " +
				"upgrading it since 2026-07-01 09:05:00\n  nothing was changed\n"},
		{"pre-render handler", &event.HandlerError{Event: "pre-render", Owner: `chart "web"`, Err: context.Canceled},
			"Error: pre-render handler of chart \"web\": interrupted\n"},
		{"annotation hooks",
			&event.HandlerError{Event: "pre-install", Owner: "annotation hooks", Core: true, Err: context.Canceled},
			"Error: context canceled\nhint: interrupted: helm status shows how far the operation got\n"},
		{"check of permissions",
			&event.HandlerError{Event: "pre-delete", Owner: "permissions", Core: true, Err: context.Canceled},
			"Error: interrupted\n"},
		{"post-install handler",
			&event.HandlerError{Event: "post-install", Owner: `chart "web"`, Err: context.Canceled},
			"Error: post-install handler of chart \"web\": context canceled\n" +
				"hint: interrupted: helm status shows how far the operation got\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := explain(test.err, cmdutil.New(term.Streams{})); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
