// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Scheme is the prefix of registry URLs.
const Scheme = "oci://"

// Ref is a reference to a registry, a repository in it, or a tag or digest.
type Ref struct {
	Host   string // with a port, if any
	Path   string // "charts/web"; "" for the registry itself
	Tag    string // as in the registry, with _ for +
	Digest string // "sha256:..."
}

// ParseRef parses a reference, with or without "oci://". A + in the tag is replaced by _. An
// error is a [*RefError].
func ParseRef(text string) (Ref, error) {
	rest := strings.TrimPrefix(text, Scheme)
	if scheme, _, ok := strings.Cut(rest, "://"); ok && !strings.Contains(scheme, "/") {
		return Ref{}, &RefError{Problem: fmt.Sprintf("invalid scheme %s://: want oci://", scheme)}
	}
	host, rest, _ := strings.Cut(rest, "/")
	if strings.Contains(host, "@") {
		// The text before the @ may be a password and must not be repeated.
		return Ref{}, &RefError{Problem: "a reference to a registry cannot have a user name or password"}
	}
	r := Ref{Host: host}
	wrong := func(format string, args ...any) (Ref, error) {
		return Ref{}, &RefError{Ref: text, Problem: fmt.Sprintf(format, args...)}
	}
	rest, r.Digest, _ = strings.Cut(rest, "@")
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.Contains(rest[i:], "/") {
		rest, r.Tag = rest[:i], TagOf(rest[i+1:])
		if r.Tag == "" {
			return wrong("the tag is empty")
		}
	}
	r.Path = strings.TrimSuffix(rest, "/")
	if !isHost(r.Host) {
		return wrong("%q is not a host", r.Host)
	}
	switch {
	case r.Path == "" && (r.Tag != "" || r.Digest != ""):
		return wrong("it has a tag or a digest but no name")
	case r.Path == "":
		return r, nil
	case !isPath(r.Path) && isPath(strings.ToLower(r.Path)):
		return wrong("invalid reference: invalid repository %[1]q: names must be in lower case", r.Path)
	case !isPath(r.Path):
		return wrong("%q is not a valid name (lower case letters and digits, and . _ - / between them)", r.Path)
	case r.Tag != "" && !isTag(r.Tag):
		return wrong("%q is not a valid tag (letters, digits, . _ -, at most 128)", r.Tag)
	}
	if strings.HasSuffix(text, "@") || r.Digest != "" && !isDigest(r.Digest) {
		return wrong("%q is not a valid digest (sha256: and 64 hexadecimal digits)", r.Digest)
	}
	return r, nil
}

// The grammars are those of https://github.com/opencontainers/distribution-spec. Regular
// expressions would be compiled at every start.

const alphanumeric = "abcdefghijklmnopqrstuvwxyz0123456789"

func isHost(text string) bool {
	u, err := url.Parse("https://" + text)
	return err == nil && u.Hostname() != "" && u.Host == text && !strings.ContainsAny(text, " %\\\"'<>^`{|}$&+,;=!*()~_")
}

// isPath reports whether text consists of elements that match
// [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*, separated by slashes.
func isPath(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		for {
			rest := strings.TrimLeft(part, alphanumeric)
			if rest == "" && part != "" {
				break
			}
			if rest == part || strings.IndexByte("._-", rest[0]) < 0 {
				return false
			}
			part = strings.TrimLeft(rest, rest[:1])
			switch separator := rest[:len(rest)-len(part)]; {
			case separator == ".", separator == "_", separator == "__", separator[0] == '-':
			default:
				return false
			}
		}
	}
	return true
}

func isTag(text string) bool {
	const letters = alphanumeric + "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return text != "" && len(text) <= 128 && strings.Contains(letters, text[:1]) && strings.Trim(text, letters+".-") == ""
}

// isDigest reports whether text is a SHA-256 digest, the only kind that charts have.
func isDigest(text string) bool {
	hex, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// String returns the reference without a scheme, as Helm prints it.
func (r Ref) String() string {
	s := r.Host
	if r.Path != "" {
		s += "/" + r.Path
	}
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// errorName returns the reference for error messages.
func (r Ref) errorName() string {
	if r.Path == "" {
		return r.Host
	}
	return Scheme + r.String()
}

// Name returns the last element of the path: the chart's name.
func (r Ref) Name() string { return path.Base(r.Path) }

// TagOf returns the tag of a version: tags cannot contain the + of build metadata.
func TagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// VersionOf returns the version of a tag.
func VersionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

// A RefError is returned for a text that is not a valid reference.
type RefError struct {
	Ref     string // "" if it may contain a secret
	Problem string
}

func (e *RefError) Error() string {
	if e.Ref == "" {
		return e.Problem
	}
	return fmt.Sprintf("%s: %s", e.Ref, e.Problem)
}
