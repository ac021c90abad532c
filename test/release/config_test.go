// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
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

// config has the parts of .goreleaser.yaml that the tests check.
type config struct {
	Builds []struct {
		Goos, Goarch, Env, Flags, Ldflags []string
		Ignore                            []struct{ Goos, Goarch string }
		ModTimestamp                      string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		Name            string `yaml:"name_template"`
		Directory       string `yaml:"wrap_in_directory"`
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []struct{ Src string }
	}
	Checksum struct {
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
	if len(c.Builds) != 1 || len(c.Archives) != 1 {
		t.Fatalf("got %d builds and %d archives, want one of each", len(c.Builds), len(c.Archives))
	}
	return c
}

func TestArchivesHaveHelmsNamesAndLayout(t *testing.T) {
	c := readConfig(t)
	build, archive := c.Builds[0], c.Archives[0]
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
			if dir, want := fill(t, archive.Directory, goos, goarch), goos+"-"+goarch; dir != want {
				t.Errorf("directory: got %s, want %s", dir, want)
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, helmsArchives) {
		t.Errorf("got  %v\nwant %v", got, helmsArchives)
	}
	var files []string
	for _, f := range archive.Files {
		files = append(files, f.Src)
	}
	if want := []string{"LICENSE", "README.md"}; !slices.Equal(files, want) {
		t.Errorf("files beside the binary: got %v, want %v", files, want)
	}
	if !c.Checksum.Split || c.Checksum.Name != "{{ .ArtifactName }}.{{ .Algorithm }}" {
		t.Errorf("checksums: got %+v, want a file for each, as helm-v0.1.0-linux-amd64.tar.gz.sha256", c.Checksum)
	}
}

// The installer and the release must have the same platforms.
func TestInstallerAndReleaseHaveTheSamePlatforms(t *testing.T) {
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

func TestBuildsAreReproducible(t *testing.T) {
	build := readConfig(t).Builds[0]
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

// The linker ignores unknown variables: the binaries of a release would have no version.
func TestLdflagsNameVariablesThatExist(t *testing.T) {
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

// exists reports whether Go supports a platform of the matrix.
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
