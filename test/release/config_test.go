// SPDX-License-Identifier: Apache-2.0

package release

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// helmsArchives are the archives of a release of Helm for all platforms that Moonhelm is built
// for.
var helmsArchives = []string{
	"helm-v0.1.0-darwin-amd64.tar.gz",
	"helm-v0.1.0-darwin-arm64.tar.gz",
	"helm-v0.1.0-linux-386.tar.gz",
	"helm-v0.1.0-linux-amd64.tar.gz",
	"helm-v0.1.0-linux-arm.tar.gz",
	"helm-v0.1.0-linux-arm64.tar.gz",
	"helm-v0.1.0-linux-ppc64le.tar.gz",
	"helm-v0.1.0-linux-riscv64.tar.gz",
	"helm-v0.1.0-linux-s390x.tar.gz",
	"helm-v0.1.0-windows-amd64.zip",
	"helm-v0.1.0-windows-arm64.zip",
}

// policyArchives are the archives of the plugin policy, for the same platforms.
var policyArchives = func() []string {
	var names []string
	for _, name := range helmsArchives {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".tar.gz"), ".zip")
		names = append(names, "moonhelm-policy-"+strings.TrimPrefix(name, "helm-")+".tar.gz")
	}
	return names
}()

// config has the parts of .goreleaser.yaml that the tests check.
type config struct {
	Builds []struct {
		ID                                string
		Goos, Goarch, Env, Flags, Ldflags []string
		Ignore                            []struct{ Goos, Goarch string }
		ModTimestamp                      string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		ID              string
		IDs             []string `yaml:"ids"`
		Name            string   `yaml:"name_template"`
		Directory       string   `yaml:"wrap_in_directory"`
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []struct{ Src string }
	}
	Checksum struct {
		IDs   []string `yaml:"ids"`
		Split bool
		Name  string `yaml:"name_template"`
	}
}

func readConfig(t *testing.T) config {
	t.Helper()
	data, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c config
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 2 || len(c.Archives) != 2 {
		t.Fatalf("got %d builds and %d archives, want two of each: helm and the plugin policy", len(c.Builds), len(c.Archives))
	}
	return c
}

func TestArchiveNamesAndLayout(t *testing.T) {
	c := readConfig(t)
	if got := archiveNames(t, c, 0, "{{ .Os }}-{{ .Arch }}"); !slices.Equal(got, helmsArchives) {
		t.Errorf("got  %v\nwant %v", got, helmsArchives)
	}
	var files []string
	for _, f := range c.Archives[0].Files {
		files = append(files, f.Src)
	}
	if want := []string{"LICENSE", "README.md"}; !slices.Equal(files, want) {
		t.Errorf("files beside the binary: got %v, want %v", files, want)
	}
	if !c.Checksum.Split || c.Checksum.Name != "{{ .ArtifactName }}.{{ .Algorithm }}" {
		t.Errorf("checksums: got %+v, want a file for each, as helm-v0.1.0-linux-amd64.tar.gz.sha256", c.Checksum)
	}
}

// The plugin is there for each platform that helm is there for, with a checksum, in a directory with
// the archive's name, which Helm looks for.
func TestPolicyArchiveNamesAndLayout(t *testing.T) {
	c := readConfig(t)
	if got := archiveNames(t, c, 1, c.Archives[1].Name); !slices.Equal(got, policyArchives) {
		t.Errorf("got  %v\nwant %v", got, policyArchives)
	}
	if id := c.Archives[1].ID; !slices.Contains(c.Checksum.IDs, id) {
		t.Errorf("checksums: got %v, want %s among them", c.Checksum.IDs, id)
	}
	if got, want := c.Archives[1].IDs, []string{c.Builds[1].ID}; !slices.Equal(got, want) {
		t.Errorf("builds in the archive: got %v, want %v", got, want)
	}
}

// archiveNames returns the names of the archives of the build i, sorted, and checks their directories
// against a template.
func archiveNames(t *testing.T, c config, i int, directory string) []string {
	t.Helper()
	build, archive := c.Builds[i], c.Archives[i]
	var got []string
	for _, goos := range build.Goos {
		for _, goarch := range build.Goarch {
			ignored := slices.ContainsFunc(build.Ignore, func(i struct{ Goos, Goarch string }) bool {
				return i.Goos == goos && i.Goarch == goarch
			})
			if ignored || !exists(goos, goarch) {
				continue
			}
			format := archive.Formats[0]
			for _, o := range archive.FormatOverrides {
				if o.Goos == goos {
					format = o.Formats[0]
				}
			}
			got = append(got, fill(t, archive.Name, goos, goarch)+"."+format)
			if dir, want := fill(t, archive.Directory, goos, goarch), fill(t, directory, goos, goarch); dir != want {
				t.Errorf("directory: got %s, want %s", dir, want)
			}
		}
	}
	slices.Sort(got)
	return got
}

// The installer and the release must have the same platforms.
func TestInstallerPlatforms(t *testing.T) {
	script, err := os.ReadFile("../../get-moonhelm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range helmsArchives {
		platform := regexp.MustCompile(`-([a-z]+-[a-z0-9]+)\.(tar\.gz|zip)$`).FindStringSubmatch(name)[1]
		if !regexp.MustCompile(`[\t ]` + platform + `( \||\))`).Match(script) {
			t.Errorf("get-moonhelm does not know %s", platform)
		}
	}
}

func TestBuildsReproducible(t *testing.T) {
	for _, build := range readConfig(t).Builds {
		if !slices.Contains(build.Flags, "-trimpath") || !slices.Contains(build.Env, "CGO_ENABLED=0") ||
			build.ModTimestamp != "{{ .CommitTimestamp }}" {
			t.Errorf("got %+v, want -trimpath, CGO_ENABLED=0 and the commit's time", build)
		}
		for _, flag := range build.Ldflags {
			if strings.Contains(flag, ".Date") || strings.Contains(flag, ".Now") {
				t.Errorf("%s: the time of the build is in the binary", flag)
			}
		}
	}
}

// The linker ignores unknown variables: the binaries of a release would have no version.
func TestLdflagsVariables(t *testing.T) {
	source, err := os.ReadFile("../../internal/build/build.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range readConfig(t).Builds[0].Ldflags {
		match := regexp.MustCompile(`^-X github\.com/moonhelm/moonhelm/internal/build\.(\w+)=`).FindStringSubmatch(flag)
		if match == nil {
			if flag != "-s -w" {
				t.Errorf("%s: sets no variable of internal/build", flag)
			}
			continue
		}
		if !regexp.MustCompile(`(?m)^\t` + match[1] + ` +=`).Match(source) {
			t.Errorf("internal/build has no variable %s", match[1])
		}
	}
}

// Actions are pinned by commit, in the workflows and in those that the documentation shows: a tag can be
// moved to other code.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d workflows, %v", len(files), err)
	}
	pinned := regexp.MustCompile(`^[a-z0-9./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	commits := map[string]string{}
	for _, file := range append(files, "../../docs/pipelines.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^ *(?:- )?uses: (.*)$`).FindAllStringSubmatch(string(text), -1) {
			name, commit, _ := strings.Cut(m[1], "@")
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned as name@commit # vX.Y.Z", filepath.Base(file), m[1])
			}
			if other := commits[name]; other != "" && other != commit {
				t.Errorf("%s is used at %s and at %s", name, commit, other)
			}
			commits[name] = commit
		}
	}
}

// The release key, and the permission to write, are only where no test runs.
func TestReleaseKeyIsApartFromTests(t *testing.T) {
	data, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Needs       string
			Environment string
			Permissions map[string]string
			Steps       []struct {
				Run string
				Env map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(data, &workflow); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"contents": "read"}; !maps.Equal(workflow.Permissions, want) {
		t.Errorf("permissions of all jobs: got %v, want %v", workflow.Permissions, want)
	}
	for name, job := range workflow.Jobs {
		secret := false
		for _, step := range job.Steps {
			for _, value := range step.Env {
				secret = secret || strings.Contains(value, "secrets.")
			}
		}
		if privileged := secret || len(job.Permissions) > 0 || job.Environment != ""; !privileged {
			continue
		}
		if name != "publish" || job.Needs != "rehearse" || job.Environment != "release" {
			t.Errorf("the job %s has the key or may write; want that of publish alone, behind rehearse and an approval", name)
		}
		for _, step := range job.Steps {
			if regexp.MustCompile(`go test|make [a-z -]*(test|check|systems|images)`).MatchString(step.Run) {
				t.Errorf("the job %s runs tests beside the key:\n%s", name, step.Run)
			}
		}
	}
}

// exists reports whether Go has a platform of the matrix.
func exists(goos, goarch string) bool {
	return goos == "linux" || goarch == "amd64" || goarch == "arm64" || goarch == "386"
}

// fill executes a template of goreleaser.
func fill(t *testing.T, text, goos, goarch string) string {
	t.Helper()
	tmpl, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, map[string]string{"Version": "0.1.0", "Os": goos, "Arch": goarch}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
