// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/internal/yaml"
)

// Lock is the content of Chart.lock, or of requirements.lock for a chart with apiVersion v1:
// the versions to which a chart's dependencies and libraries were resolved. Helm ignores
// digests of contents and libraries, and removes them when it writes the file.
type Lock struct {
	Generated time.Time
	// Digest is [LockDigest] of the chart's list and Dependencies.
	Digest       string
	Dependencies []*Locked
	Libraries    []*Locked
}

// Locked is a dependency with its resolved version.
type Locked struct {
	chart.Dependency
	// Content is the digest of the chart's archive, "sha256:<hex>", or "" if it is
	// not known.
	Content string `json:"digest,omitempty"`
}

// ParseLock parses a lock file. Errors are [*chart.InvalidError] with name as the file.
func ParseLock(name string, data []byte) (*Lock, error) {
	base, err := chart.ParseLock(name, data)
	if err != nil {
		return nil, err
	}
	lists, err := chart.ParseRequirements(name, data)
	if err != nil {
		return nil, err
	}
	var more struct {
		Dependencies, Libraries []struct {
			Digest string `json:"digest"`
		}
	}
	if err := yaml.Unmarshal(data, &more); err != nil {
		return nil, chart.Locate(name, data, &chart.InvalidError{File: name, Problem: "a digest is not a string"})
	}
	l := &Lock{Generated: base.Generated, Digest: base.Digest}
	contents := func(list string, i int) (string, error) {
		from := more.Dependencies
		if list == "libraries" {
			from = more.Libraries
		}
		if i >= len(from) {
			return "", nil
		}
		if text := from[i].Digest; text == "" || isDigest(text) {
			return text, nil
		}
		return "", chart.Locate(name, data, &chart.InvalidError{File: name, Field: fmt.Sprintf("%s[%d].digest", list, i),
			Problem: fmt.Sprintf("is %q, must be sha256: and 64 hexadecimal digits", from[i].Digest)})
	}
	if l.Dependencies, err = lockedList("dependencies", base.Dependencies, contents); err != nil {
		return nil, err
	}
	for i, d := range lists.Libraries {
		if d == nil {
			return nil, chart.Locate(name, data,
				&chart.InvalidError{File: name, Field: fmt.Sprintf("libraries[%d]", i),
					Problem: "is empty, must have a name and a version"})
		}
	}
	if l.Libraries, err = lockedList("libraries", lists.Libraries, contents); err != nil {
		return nil, err
	}
	return l, nil
}

func lockedList(list string, deps []*chart.Dependency, content func(string, int) (string, error)) ([]*Locked, error) {
	if deps == nil {
		return nil, nil
	}
	out := make([]*Locked, len(deps))
	for i, d := range deps {
		text, err := content(list, i)
		if err != nil {
			return nil, err
		}
		out[i] = &Locked{Dependency: *d, Content: text}
	}
	return out, nil
}

// isDigest reports whether text has the form of a SHA-256 digest.
func isDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == sha256.Size && strings.ToLower(digits) == digits
}

// Text returns the content of the lock file. It is the same as Helm's if l has no contents
// and no libraries. Entries have only name, repository, version and digest.
func (l *Lock) Text() ([]byte, error) {
	var b strings.Builder
	writeLocked(&b, "dependencies", l.Dependencies)
	fmt.Fprintf(&b, "digest: %s\n", scalar(l.Digest))
	fmt.Fprintf(&b, "generated: %q\n", l.Generated.Format(time.RFC3339Nano))
	if len(l.Libraries) > 0 {
		writeLocked(&b, "libraries", l.Libraries)
	}
	text := []byte(b.String())
	back, err := ParseLock(chart.FileLock, text)
	if err == nil && (len(back.Dependencies) != len(l.Dependencies) || len(back.Libraries) != len(l.Libraries)) {
		err = fmt.Errorf("%s: the dependencies cannot be written as YAML without changes", chart.FileLock)
	}
	return text, err
}

func writeLocked(b *strings.Builder, key string, list []*Locked) {
	if len(list) == 0 {
		fmt.Fprintf(b, "%s: []\n", key)
		return
	}
	fmt.Fprintf(b, "%s:\n", key)
	for _, d := range list {
		fmt.Fprintf(b, "- name: %s\n  repository: %s\n", scalar(d.Name), scalar(d.Repository))
		if d.Version != "" {
			fmt.Fprintf(b, "  version: %s\n", scalar(d.Version))
		}
		if d.Content != "" {
			fmt.Fprintf(b, "  digest: %s\n", d.Content)
		}
	}
}

// scalar returns text as YAML on a single line.
func scalar(text string) string {
	out, err := yaml.Marshal(text)
	if one := strings.TrimSuffix(string(out), "\n"); err == nil && !strings.Contains(one, "\n") {
		return one
	}
	quoted, _ := json.Marshal(text) // cannot fail for a string
	return string(quoted)
}

// Same reports whether l and o are equal apart from Generated.
func (l *Lock) Same(o *Lock) bool {
	same := func(a, b *Locked) bool {
		return a.Name == b.Name && a.Version == b.Version && a.Repository == b.Repository && a.Content == b.Content
	}
	return l.Digest == o.Digest && slices.EqualFunc(l.Dependencies, o.Dependencies, same) &&
		slices.EqualFunc(l.Libraries, o.Libraries, same)
}

// hashed are the fields of a dependency that are part of a lock's digest, as in Helm. So
// depends-on and digests of contents are not.
type hashed struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Repository   string   `json:"repository"`
	Condition    string   `json:"condition,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Enabled      bool     `json:"enabled,omitempty"`
	ImportValues []any    `json:"import-values,omitempty"`
	Alias        string   `json:"alias,omitempty"`
}

// LockDigest returns Helm's digest of the dependencies that a chart lists and those in the
// lock: "sha256:<hex>" of [[listed],[locked]] as compact JSON. As in Helm, a nil list is
// null in the JSON, and the name of a repository (@stable) is replaced by the URL that the
// lock has for it.
func LockDigest(listed []*chart.Dependency, locked []*Locked) (string, error) {
	return plainDigest(resolveNames(listed, locked), locked)
}

// resolveNames returns listed with the names of repositories replaced by the URLs of locked.
// Entries with the same name are matched in their order.
func resolveNames(listed []*chart.Dependency, locked []*Locked) []*chart.Dependency {
	out := slices.Clone(listed)
	next := map[string]int{}
	for i, d := range out {
		if d == nil {
			continue
		}
		from := next[d.Name]
		index := slices.IndexFunc(locked[min(from, len(locked)):], func(l *Locked) bool { return l.Name == d.Name })
		if index < 0 {
			continue
		}
		next[d.Name] = from + index + 1
		if isRepositoryName(d.Repository) {
			with := *d
			with.Repository = locked[from+index].Repository
			out[i] = &with
		}
	}
	return out
}

// isRepositoryName reports whether repository is the name of a configured repository and
// not a URL.
func isRepositoryName(repository string) bool {
	return strings.HasPrefix(repository, "@") || strings.HasPrefix(repository, "alias:")
}

// plainDigest is LockDigest without replacing the names of repositories.
func plainDigest(listed []*chart.Dependency, locked []*Locked) (string, error) {
	var have []*chart.Dependency
	if locked != nil {
		have = make([]*chart.Dependency, len(locked))
		for i, l := range locked {
			have[i] = &l.Dependency
		}
	}
	return digest([][]*hashed{hashable(listed), hashable(have)})
}

// legacyDigest returns the digest of Helm 2, which is only over requirements.yaml.
func legacyDigest(listed []*chart.Dependency) (string, error) {
	return digest(map[string][]*hashed{"dependencies": hashable(listed)})
}

func hashable(deps []*chart.Dependency) []*hashed {
	if deps == nil {
		return nil
	}
	out := make([]*hashed, len(deps))
	for i, d := range deps {
		if d != nil {
			out[i] = &hashed{d.Name, d.Version, d.Repository, d.Condition, d.Tags, d.Enabled, d.ImportValues, d.Alias}
		}
	}
	return out
}

func digest(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("compute the digest of the lock: %w", err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
