// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moonhelm/moonhelm/chart/dependency"
	"github.com/moonhelm/moonhelm/internal/file"
)

// wantKey is the key of the requested version in the configuration of a clone.
const wantKey = "moonhelm.version"

// git runs the git program in one directory.
type git struct {
	dir string
	env []string // added to the environment
	in  string   // its standard input
}

// A GitError is returned if git fails.
type GitError struct {
	Did string // "clone https://..."
	Err error
	Say string // git's standard error
}

func (e *GitError) Error() string {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return fmt.Sprintf("git %s: the program git is not in PATH; plugins from git repositories need it", e.Did)
	}
	if e.Say != "" {
		return fmt.Sprintf("git %s: %s", e.Did, e.Say)
	}
	return fmt.Sprintf("git %s: %v", e.Did, e.Err)
}
func (e *GitError) Unwrap() error { return e.Err }

// run runs git and returns its output. did describes the command for errors, because args may
// contain a URL with a password.
func (g git) run(ctx context.Context, did string, args ...string) (string, error) {
	// Transports that run programs named in a URL are disabled, even if the user's
	// configuration enables them.
	cmd := exec.CommandContext(ctx, "git",
		append([]string{"-c", "protocol.ext.allow=never", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir = g.dir
	cmd.WaitDelay = grace
	cmd.Env = append(gitEnviron(), "GIT_ALLOW_PROTOCOL="+strings.Join(gitSchemes, ":"), "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	cmd.Env = append(cmd.Env, g.env...)
	cmd.Stdin = strings.NewReader(g.in)
	var out bytes.Buffer
	say := &tail{most: 4 << 10}
	cmd.Stdout, cmd.Stderr = &file.LimitWriter{W: &out, Left: 16 << 20}, say
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", &GitError{Did: did, Err: err, Say: say.text()}
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// gitEnviron returns the environment without variables that refer to another repository: helm
// may be called by a git hook.
func gitEnviron() []string {
	var env []string
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_PREFIX":
		default:
			env = append(env, v)
		}
	}
	return env
}

// tail keeps the end of what is written to it.
type tail struct {
	most int
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if len(t.data) > 2*t.most {
		t.data = append(t.data[:0], t.data[len(t.data)-t.most:]...)
	}
	return len(p), nil
}

// text returns the kept output in one line, without passwords and queries.
func (t *tail) text() string {
	data := t.data[max(0, len(t.data)-t.most):]
	userinfo, query := regexp.MustCompile(`://[^/@\s']+@`), regexp.MustCompile(`(://[^\s'?#]*)[?#][^\s']*`)
	message := userinfo.ReplaceAllString(strings.Join(strings.Fields(printable(string(data))), " "), "://xxxxx@")
	return query.ReplaceAllString(message, "$1?...")
}

// stageGit clones a repository and checks out the requested version.
func stageGit(ctx context.Context, req InstallRequest, temp string) (*staged, error) {
	if strings.HasPrefix(req.Version, "-") {
		return nil, &SourceError{req.Source.String(), fmt.Sprintf("%q is not a version", req.Version)}
	}
	dir := filepath.Join(temp, "clone")
	if _, err := (git{dir: temp}).run(ctx, "clone "+req.Source.String(), "clone", "--quiet", "--", req.Source.Location,
		dir); err != nil {
		return nil, err
	}
	g := git{dir: dir}
	if req.Version != "" {
		if err := g.checkout(ctx, req.Version); err != nil {
			return nil, fmt.Errorf("install a plugin from %s: %w", req.Source, err)
		}
		if _, err := g.run(ctx, "config", "config", wantKey, req.Version); err != nil {
			return nil, err
		}
	}
	p, err := Load(dir)
	if err != nil {
		if bad, ok := errors.AsType[*LoadError](err); ok {
			bad.Path = filepath.Join(req.Source.String(), ManifestFile)
		}
		return nil, err
	}
	return &staged{dir: dir, directory: req.Source.base(), plugin: p,
		record: record{Source: req.Source.plain(), Git: true}}, nil
}

// checkout checks out the tag or branch named want, the newest tag in the range want, or the
// commit want.
func (g git) checkout(ctx context.Context, want string) error {
	refs, err := g.run(ctx, "for-each-ref", "for-each-ref", "--format=%(refname)", "refs/tags", "refs/remotes/origin")
	if err != nil {
		return err
	}
	var tags []string
	for ref := range strings.Lines(refs) {
		ref = strings.TrimSpace(ref)
		if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
			tags = append(tags, tag)
		}
		if ref == "refs/remotes/origin/"+want && want != "HEAD" {
			_, err := g.run(ctx, "checkout "+want, "checkout", "--quiet", "-B", want, "--track", "origin/"+want)
			return err
		}
	}
	to, missing := dependency.Version(tags, want, false)
	if missing == nil {
		to = "refs/tags/" + to
	} else if to, err = g.commit(ctx, want); err != nil {
		return fmt.Errorf("requested version %q does not exist: %w", want, missing)
	}
	_, err = g.run(ctx, "checkout "+want, "checkout", "--quiet", "--detach", to)
	return err
}

// commit returns the full hash of the commit that begins with want.
func (g git) commit(ctx context.Context, want string) (string, error) {
	if len(want) < 7 || strings.Trim(want, "0123456789abcdef") != "" {
		return "", errors.New("is not a commit")
	}
	return g.run(ctx, "rev-parse", "rev-parse", "--verify", "--quiet", want+"^{commit}")
}
