// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// chartsOf are the charts of the repository that the tests serve.
var chartsOf = []string{
	"name: nginx\nversion: 1.2.3\nappVersion: '1.25'\ndescription: A web server, NGINX Open Source\nkeywords: [http, web, proxy]\n",
	"name: nginx\nversion: 1.3.0\nappVersion: '1.26'\ndescription: A web server, NGINX Open Source\nkeywords: [http, web, proxy]\n",
	"name: nginx\nversion: 2.0.0-rc.1\ndescription: A web server, NGINX Open Source\n",
	"name: nginx-ingress\nversion: 0.3.0\ndescription: Ingress controller that uses nginx\nkeywords: [ingress]\n",
	"name: apache\nversion: 9.0.0\ndescription: Apache HTTP Server. Web server that does a lot of things, and is described at length\nkeywords: [http, web]\n",
	"name: mysql\nversion: 1.0.0+build.5\ndescription: Fast SQL Database\nkeywords: [Database, MySQL]\n",
	"name: only-pre\nversion: 0.1.0-alpha.1\ndescription: pre only nginx\ndeprecated: true\n",
}

// packed creates a directory of archives.
func packed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range chartsOf {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "name: "), "\n")
		chart := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(chart, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("apiVersion: v2\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
		to := dir
		if i%2 == 1 {
			to = filepath.Join(dir, "more")
		}
		must(t, ours(t), t.TempDir(), "package", chart, "-d", to)
	}
	return dir
}

// serve serves a directory at /, at /auth/ for anna, and a hub at /hub.
func serve(t *testing.T, dir string) string {
	t.Helper()
	mux := http.NewServeMux()
	files := http.FileServer(http.Dir(dir))
	mux.Handle("/", files)
	mux.Handle("/auth/", http.StripPrefix("/auth", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "anna" || password != "hunter2" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	})))
	mux.HandleFunc("/page/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<!DOCTYPE html>\n<p>Hello\n") })
	mux.HandleFunc("/hub/api/chartsvc/v1/charts/search", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("q") == "none" {
			_, _ = io.WriteString(w, `{"data":[]}`)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":"a/%[1]s","artifactHub":{"packageUrl":"https://hub.example.com/%[1]s"},"attributes":{"name":"x","description":"%[1]s, described at a length that no column of a table has room for","repo":{"name":"a","url":"https://charts.example.com"}},"relationships":{"latestChartVersion":{"data":{"version":"1.0.0","app_version":"2"}}}},{"id":"b/c","attributes":{"repo":{"name":"b","url":"https://b.example.com"}},"relationships":{"latestChartVersion":{"data":{"version":"2.0.0"}}}}]}`, r.FormValue("q"))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

var stamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

func indexOf(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return stamps.ReplaceAllString(string(text), "TIME")
}

// TestIndexesAreHelms compares the indexes that Helm and ours create, with every flag.
func TestIndexesAreHelms(t *testing.T) {
	dir, bin := packed(t), ours(t)
	must(t, bin, t.TempDir(), "repo", "index", dir)
	other := filepath.Join(t.TempDir(), "other.yaml")
	text, err := os.ReadFile(filepath.Join(dir, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(strings.ReplaceAll(string(text), "1.2.3", "0.9.0"), "mysql", "postgres"))
	if err := os.WriteFile(other, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--url", "https://charts.example.com/sub/"}, {"--json"}, {"--merge", other}} {
		args := append([]string{"repo", "index", dir}, flags...)
		must(t, peer(t, helm4), t.TempDir(), args...)
		want := indexOf(t, dir)
		must(t, bin, t.TempDir(), args...)
		if got := indexOf(t, dir); got != want {
			t.Errorf("%v: ours is\n%s\nHelm's is\n%s", flags, got, want)
		}
	}
}

// TestTheSameWordsOfRepositories runs the same commands with Helm 4 and ours, each with a new
// home directory, and compares the standard output, the exit codes and the final repositories
// file.
func TestTheSameWordsOfRepositories(t *testing.T) {
	dir := packed(t)
	must(t, ours(t), t.TempDir(), "repo", "index", dir)
	url := serve(t, dir)
	helm, we := t.TempDir(), t.TempDir()
	for _, command := range []string{
		"list", "list -o json", "list -o yaml", "update", "remove x", "search repo", "search repo x -o json",
		"add a URL/", "add a URL/", "add a URL", "add a URL --force-update", "add a URL --username anna --password x",
		"add x/y URL", "add page URL/page", "add gone URL/gone", "add x ftp://host", "add x nowhere", "add stable https://kubernetes-charts.storage.googleapis.com",
		"add s URL/auth --username anna --password wrong", "add s URL/auth --username anna --password hunter2 --pass-credentials",
		"add q URL?a=b --insecure-skip-tls-verify",
		"list", "ls -o json", "list -o yaml", "list --no-headers", "update a", "update s a", "update a nope",
		"search repo nginx", "search repo NGINX -o json", "search repo", "search repo a/", "search repo http", "search repo web server", "search repo http web",
		"search repo nginx -l", "search repo nginx -l --devel -o yaml", "search repo nginx --devel", "search repo nginx --version ^1.2", "search repo nginx --version ^1.2 -l",
		"search repo nginx --version bogus..", "search repo -r NGIN", "search repo -r ^nginx -l", "search repo -r [", "search repo apache --max-col-width 20",
		"search repo apache --max-col-width 0", "search repo mysql -o json", "search repo only", "search repo only --devel", "search repo zzz", "search repo zzz -o json", "search repo zzz --fail-on-no-result",
		"remove zz", "remove s zz", "list", "rm q", "list -o json",
		"search hub nginx --endpoint URL/hub", "search hub nginx --endpoint URL/hub --list-repo-url", "search hub a b --endpoint URL/hub -o json", "search hub nginx --endpoint URL/hub -o yaml --list-repo-url",
		"search hub none --endpoint URL/hub", "search hub none --endpoint URL/hub -o json", "search hub none --endpoint URL/hub --fail-on-no-result", "search hub x --endpoint URL/gone", "search hub x --endpoint URL/hub --max-col-width 12",
	} {
		args := strings.Fields(strings.ReplaceAll(command, "URL", url))
		if args[0] != "search" {
			args = append([]string{"repo"}, args...)
		}
		want, got := run(t, peer(t, helm4), helm, args...), run(t, ours(t), we, args...)
		if (want.err == nil) != (got.err == nil) {
			t.Errorf("%v: ours %v\n%s\nHelm %v\n%s", args, got.err, indent(got.stderr), want.err, indent(want.stderr))
		}
		if order(got.stdout, args) != order(want.stdout, args) {
			t.Errorf("%v prints\n%s\nand Helm\n%s", args, indent(got.stdout), indent(want.stdout))
		}
		for _, words := range []string{"already exists, please specify a different name", "no repo named", "no repositories", "is no longer available", "is not a valid chart repository or cannot be reached", "unable to perform search against", "no results found", "error parsing regexp"} {
			if strings.Contains(want.stderr, words) {
				wantIn(t, strings.Join(args, " "), got.stderr, words)
			}
		}
	}
	if a, b := repositories(t, we), repositories(t, helm); a != b {
		t.Errorf("the file has\n%s\nand Helm's\n%s", a, b)
	}
}

// order returns the output, sorted for an update, which prints repositories in the order of the
// responses.
func order(text string, args []string) string {
	if args[1] == "update" {
		return sorted(text)
	}
	return text
}

func repositories(t *testing.T, home string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, ".config", "helm", "repositories.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRepositoriesGoBothWays runs Helm 3, Helm 4 and ours in one home directory: each lists,
// updates, searches, pulls from and removes the repositories that another has added.
func TestRepositoriesGoBothWays(t *testing.T) {
	dir := packed(t)
	must(t, ours(t), t.TempDir(), "repo", "index", dir)
	url := serve(t, dir)
	bins := []string{ours(t), peer(t, helm3), peer(t, helm4)}
	home := t.TempDir()
	for i, adds := range bins {
		must(t, adds, home, "repo", "add", fmt.Sprint("r", i), url+"/auth", "--username", "anna", "--password", "hunter2")
		before := repositories(t, home)
		for j, uses := range bins {
			wantIn(t, "list", must(t, uses, home, "repo", "list"), fmt.Sprintf("r%d", i), url)
			wantIn(t, "update", must(t, uses, home, "repo", "update"), fmt.Sprintf("...Successfully got an update from the \"r%d\" chart repository", i))
			wantIn(t, "search", must(t, uses, home, "search", "repo", fmt.Sprintf("r%d/nginx", i)), "1.3.0")
			to := filepath.Join(t.TempDir(), fmt.Sprint(j))
			if err := os.Mkdir(to, 0o755); err != nil {
				t.Fatal(err)
			}
			must(t, uses, home, "pull", fmt.Sprintf("r%d/nginx", i), "--version", "~1.2", "-d", to)
			if !exists(filepath.Join(to, "nginx-1.2.3.tgz")) {
				t.Errorf("%s pulled nothing", uses)
			}
			must(t, uses, home, "repo", "add", "extra", url)
			must(t, bins[(j+1)%len(bins)], home, "repo", "remove", "extra")
		}
		if after := repositories(t, home); after != before {
			t.Errorf("the file was\n%s\nand is\n%s", before, after)
		}
	}
}

// TestRepositoriesAreAddedAtOnce lets all three add repositories to one file concurrently.
func TestRepositoriesAreAddedAtOnce(t *testing.T) {
	dir := packed(t)
	must(t, ours(t), t.TempDir(), "repo", "index", dir)
	url := serve(t, dir)
	bins := []string{ours(t), ours(t), peer(t, helm3), peer(t, helm4)}
	home := t.TempDir()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if r := run(t, bins[i%len(bins)], home, "repo", "add", fmt.Sprintf("r%02d", i), url); r.err != nil {
				t.Errorf("%v\n%s", r.err, r.stderr)
			}
		})
	}
	wg.Wait()
	if got := strings.Fields(must(t, ours(t), home, "repo", "list", "--no-headers")); len(got) != 40 {
		t.Errorf("there is %v", got)
	}
}
