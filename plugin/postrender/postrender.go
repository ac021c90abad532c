// SPDX-License-Identifier: Apache-2.0

// Package postrender pipes rendered objects through an external program (--post-renderer).
//
// The program reads a stream of YAML documents, all objects and hooks in install order, and
// writes the changed stream. The template of each object is restored from the annotation
// [Annotation], which is added to the input and removed from the output as in Helm 4, or from
// the comment "# Source:" as in Helm 3. An unchanged document results in the original object,
// byte for byte.
//
// A [Runner] runs the program; the package does not depend on plugins.
package postrender

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moonhelm/moonhelm/manifest"
)

const (
	// maxOutput is the largest output of a program.
	maxOutput = 100 << 20
	// maxSaid is the largest part of the standard error that is kept.
	maxSaid = 64 << 10
)

// Runner runs a program once, with its standard streams, until it exits or ctx is done.
type Runner interface {
	Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error
}

// Renderer pipes objects through a program.
type Renderer struct {
	// Name is the program's name in errors.
	Name   string
	Runner Runner
	// Stderr receives the standard error of a successful program; it may be nil. If the
	// program fails, its standard error is part of the error.
	Stderr io.Writer

	most int // the limit in tests, instead of maxOutput
}

// Render pipes objs through the program. As in Helm, documents with only comments are dropped.
// An error is an [*Error], or that of ctx.
func (r Renderer) Render(ctx context.Context, objs []*manifest.Object) ([]*manifest.Object, error) {
	sent, err := pack(objs)
	if err != nil {
		return nil, &Error{Name: r.Name, Err: err}
	}
	stderr := &bounded{most: maxSaid}
	text, err := r.run(ctx, sent.text(), stderr)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil && strings.TrimSpace(text) == "" && len(sent.documents) > 0 {
		err = errors.New("it printed nothing; a post-renderer prints all objects, changed or not")
	}
	var back []*manifest.Object
	if err == nil {
		back, err = sent.unpack(text)
	}
	if err != nil {
		return nil, &Error{Name: r.Name, Stderr: strings.TrimSpace(string(stderr.text)), Err: err}
	}
	if remark := strings.TrimRight(string(stderr.text), "\r\n"); r.Stderr != nil && remark != "" {
		_, _ = io.WriteString(r.Stderr, remark+"\n") // not a reason to fail
	}
	return back, nil
}

// run returns the program's output.
func (r Renderer) run(ctx context.Context, in string, stderr *bounded) (string, error) {
	most := r.most
	if most == 0 {
		most = maxOutput
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	flood := fmt.Errorf("it printed more than %d MiB", most>>20)
	out := &bounded{most: most, full: func() { end(flood) }}
	err := r.Runner.Run(ctx, strings.NewReader(in), out, stderr)
	if context.Cause(ctx) == flood { //nolint:errorlint // compares identity
		return "", flood
	}
	return string(out.text), err
}

// bounded keeps the first bytes written to it. It implements only Write, so that io.Copy
// cannot bypass the limit.
type bounded struct {
	text []byte
	most int
	full func() // called if the limit is exceeded
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - len(b.text)
	b.text = append(b.text, p[:min(len(p), room)]...)
	if len(p) > room && b.full != nil {
		b.full()
		b.full = nil
	}
	return len(p), nil
}

// Error is returned if a post-renderer fails.
type Error struct {
	Name string
	// Stderr is the program's standard error without surrounding white space.
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("post-renderer %q: %s", e.Name, e.Err)
	if e.Stderr != "" {
		text += "; its standard error:\n" + e.Stderr
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }
