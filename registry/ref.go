// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Scheme begins the URLs of registries.
const Scheme = "oci://"

// Ref is a place in a registry.
type Ref struct {
	Host   string // with a port, if any
	Path   string // "charts/web"; "" for the registry itself
	Tag    string // as in the registry, with _ for +
	Digest string // "sha256:..."
}

// ParseRef reads a reference, "oci://" before it or not. A + in the tag is taken
// for the _ that stands for it in registries. Errors are a [*RefError].
func ParseRef(text string) (Ref, error) {
	rest := strings.TrimPrefix(text, Scheme)
	if scheme, _, ok := strings.Cut(rest, "://"); ok && !strings.Contains(scheme, "/") {
		return Ref{}, &RefError{Problem: fmt.Sprintf("%s:// leads to no registry, only oci:// does", scheme)}
	}
	host, rest, _ := strings.Cut(rest, "/")
	if strings.Contains(host, "@") {
		// What is before the @ may be a password, and must not be repeated.
		return Ref{}, &RefError{Problem: "a reference to a registry holds no user name and no password"}
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
		return wrong("it has a tag or a digest, and no name")
	case r.Path == "":
		return r, nil
	case !isPath(r.Path) && isPath(strings.ToLower(r.Path)):
		return wrong("invalid reference: invalid repository %[1]q: registries know small letters only in names", r.Path)
	case !isPath(r.Path):
		return wrong("%q is not a name in a registry (small letters and digits, and . _ - / between them)", r.Path)
	case r.Tag != "" && !isTag(r.Tag):
		return wrong("%q is not a tag (letters, digits, . _ -, 128 at most)", r.Tag)
	}
	if strings.HasSuffix(text, "@") || r.Digest != "" && !isDigest(r.Digest) {
		return wrong("%q is not a digest (sha256: and 64 hexadecimal digits)", r.Digest)
	}
	return r, nil
}

// What follows are the grammars of https://github.com/opencontainers/distribution-spec,
// without regular expressions, which would be compiled at every start.

const alphanumeric = "abcdefghijklmnopqrstuvwxyz0123456789"

func isHost(text string) bool {
	u, err := url.Parse("https://" + text)
	return err == nil && u.Hostname() != "" && u.Host == text && !strings.ContainsAny(text, " %\\\"'<>^`{|}$&+,;=!*()~_")
}

// isPath reports whether text is [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*, several of them
// between slashes.
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

// isDigest reports whether text is the one kind of digest that charts have.
func isDigest(text string) bool {
	hex, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// String is the reference without a scheme, as Helm prints it.
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

// told is the reference as errors name it.
func (r Ref) told() string {
	if r.Path == "" {
		return r.Host
	}
	return Scheme + r.String()
}

// Name is the last element of the path: the chart's name.
func (r Ref) Name() string { return path.Base(r.Path) }

// TagOf is the tag of a version: tags cannot hold the + of build metadata.
func TagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// VersionOf is the version that a tag stands for.
func VersionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

// A RefError is returned for a text that is not a valid reference.
type RefError struct {
	Ref     string // "" where it may hold a secret
	Problem string
}

func (e *RefError) Error() string {
	if e.Ref == "" {
		return e.Problem
	}
	return fmt.Sprintf("%s: %s", e.Ref, e.Problem)
}
