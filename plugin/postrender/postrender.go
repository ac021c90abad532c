// SPDX-License-Identifier: Apache-2.0

// Package postrender pipes what a chart has rendered through another program
// before anything is done with it: --post-renderer.
//
// In goes one stream of YAML documents, all objects and hooks, in the order in
// which they are installed; out comes what the program makes of them, and every
// object finds the template again that it came from: by the annotation
// [Annotation], which each carries on its way and which is gone afterwards, as
// Helm 4 has it, or by its "# Source:" comment, as Helm 3 writes it. What the
// program hands back as it was stays the same object, byte for byte.
//
// The package knows neither plugins nor flags: who runs the program is a
// [Runner].
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
	// maxOutput bounds what a program may print.
	maxOutput = 100 << 20
	// maxSaid is how much is kept of what it says on standard error.
	maxSaid = 64 << 10
)

// Runner runs a program once: it reads in, prints to out, and says what it has
// to say on stderr. It ends when ctx does.
type Runner interface {
	Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error
}

// Renderer is a program that objects are piped through.
type Renderer struct {
	// Name is what errors call it.
	Name   string
	Runner Runner
	// Stderr gets what the program says where all goes well; nil drops it. What
	// it says when it fails is part of the error.
	Stderr io.Writer

	most int // tests print less than maxOutput
}

// Render pipes objs through the program. Documents that hold comments only stay
// behind, as in Helm. An error is an [*Error], or ctx's own.
func (r Renderer) Render(ctx context.Context, objs []*manifest.Object) ([]*manifest.Object, error) {
	sent, err := pack(objs)
	if err != nil {
		return nil, &Error{Name: r.Name, Err: err}
	}
	said := &bounded{most: maxSaid}
	text, err := r.run(ctx, sent.text(), said)
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
		return nil, &Error{Name: r.Name, Stderr: strings.TrimSpace(string(said.text)), Err: err}
	}
	if remark := strings.TrimRight(string(said.text), "\r\n"); r.Stderr != nil && remark != "" {
		_, _ = io.WriteString(r.Stderr, remark+"\n") // a remark that is lost is not a reason to fail
	}
	return back, nil
}

// run returns what the program prints.
func (r Renderer) run(ctx context.Context, in string, said *bounded) (string, error) {
	most := r.most
	if most == 0 {
		most = maxOutput
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	flood := fmt.Errorf("it printed more than %d MiB", most>>20)
	out := &bounded{most: most, full: func() { end(flood) }}
	err := r.Runner.Run(ctx, strings.NewReader(in), out, said)
	if context.Cause(ctx) == flood { //nolint:errorlint // it is the very one
		return "", flood
	}
	return string(out.text), err
}

// bounded keeps the first of what is written to it. It has no method but Write:
// copying goes around a limit where there is another way in.
type bounded struct {
	text []byte
	most int
	full func() // called when there is more
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

// Error reports that a post-renderer has not done its work.
type Error struct {
	Name string
	// Stderr is what the program has said, without white space around it.
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("post-renderer %q: %s", e.Name, e.Err)
	if e.Stderr != "" {
		text += "; it says:\n" + e.Stderr
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }
