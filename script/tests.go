// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonhelm/moonhelm/chart"
	"github.com/moonhelm/moonhelm/script/wire"
)

// commandTime is how long the commands of a file of tests may take together, as a multiple of the
// computing time of scripts.
const commandTime = 12

// Tests are a file of tests of a chart's scripts, in Lua. It runs in a process like that of
// scripts, without permissions: the commands that it tests are run by Run.
type Tests struct {
	// Start and Limits are as in [Host]. The commands that the file runs may take twelve times
	// Limits.CPU together.
	Start  Starter
	Limits wire.Limits
	// Print shows what the file prints; nil shows nothing.
	Print func(chart, line string)
	// Coverage is as in [Host].
	Coverage func(chart, file string, line int, hits int64)
	// Chart is the chart whose scripts the file may require.
	Chart *chart.Chart
	// File is what the file is called in errors, Text what it holds.
	File, Text string
	// Run carries out run(name, options), and returns data for the test. Its errors are those of
	// a call that makes no sense: what a command fails with is a part of the data.
	Run func(ctx context.Context, name string, options map[string]any) (map[string]any, error)

	session *session
}

// TestCase is a test of a file.
type TestCase struct {
	Name string
	Line int
}

// Load starts the process and loads the file. It returns its tests. Call Close afterwards, also
// after an error, which is an [*Error] of the file.
func (t *Tests) Load(ctx context.Context) ([]TestCase, error) {
	tree, err := newTree(t.Chart)
	if err != nil {
		return nil, err
	}
	for _, m := range tree.charts {
		m.grants = nil
	}
	h := &Host{Start: t.Start, Limits: t.Limits, Print: t.Print, Coverage: t.Coverage, runTest: t.Run, Seed: 1}
	if t.session, err = h.open(ctx, tree, nil); err != nil {
		return nil, err
	}
	done, err := t.session.start(ctx, map[string]any{
		"test": map[string]any{"chart": int64(tree.top().index), "file": t.File, "text": t.Text},
	})
	if bad, ok := errors.AsType[*Error](err); ok && bad.Limit != "" && bad.Line == 0 {
		bad.File = t.File // a limit is reached at no place
	}
	if err != nil {
		return nil, err
	}
	cases, err := readList(done, "tests", func(f fields) (TestCase, error) {
		return TestCase{Name: f.short("name", maxMessage), Line: f.line()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("load tests: %w", err)
	}
	return cases, nil
}

// Do runs the test with an index in what Load returned. The error is an [*Error] of the test:
// of an assertion, the first line of its message says which, and the others the values.
func (t *Tests) Do(ctx context.Context, index int) error {
	t.session.conversation.Lock()
	defer t.session.conversation.Unlock()
	r := &request{session: t.session, chart: t.session.tree.top(), where: t.File}
	_, err := r.run(ctx, wire.Message{Kind: wire.Test, Body: map[string]any{"index": int64(index)}})
	if bad, ok := errors.AsType[*Error](err); ok && bad.Event == "" {
		bad.Event = "test" // the scripts are loaded
	}
	return err
}

// Close ends the process.
func (t *Tests) Close() {
	if t.session != nil {
		t.session.close()
	}
}

// runTest runs a command for a test. The time that it takes is not the test's own, but it is
// limited too.
func (r *request) runTest(ctx context.Context, question fields) (*wire.Message, error) {
	s := r.session
	if s.host.runTest == nil {
		return nil, errors.New("it ran a command outside of a test")
	}
	if s.questions++; s.questions > maxQuestions {
		return nil, &Error{Limit: "time", Message: fmt.Sprintf("the tests ran more than %d commands", maxQuestions)}
	}
	limit := commandTime * s.limits.CPU
	limited, cancel := context.WithTimeout(ctx, limit-s.waited)
	defer cancel()
	options, _ := question["options"].(map[string]any)
	begin := time.Now()
	result, err := s.host.runTest(limited, question.text("name"), options)
	s.waited += time.Since(begin)
	if ctx.Err() == nil && s.waited >= limit {
		return nil, &Error{Limit: "cpu", Message: fmt.Sprintf(
			"the commands that the tests ran took more than %s together (%d were run)", limit, s.questions)}
	}
	if err != nil {
		return reply(nil, err), nil
	}
	v, err := plain(result, false, 0)
	return reply(map[string]any{"value": v}, err), nil
}
