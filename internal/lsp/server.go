// SPDX-License-Identifier: Apache-2.0

// Package lsp is a language server for charts: it answers the questions of an editor about
// templates, values and scripts, and reports what lint finds while they are written.
//
//	err := lsp.Server{Loader: loader.Loader{}, Version: "0.1.0"}.Serve(ctx, stdin, stdout)
//
// It speaks the Language Server Protocol 3.17 over a pair of streams. Files that are not open in the
// editor are read from the disk at each change. Nothing is written, no cluster is accessed.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/chart/loader"
)

// Server serves one editor. The zero value works, with scripts not checked.
type Server struct {
	Loader    loader.Loader
	Scripts   action.ScriptChecker // nil does not check scripts
	Namespace string               // the namespace for which lint renders charts
	Version   string
	// Delay is how long a chart is left alone after a change before it is checked. The default
	// is 250 ms.
	Delay time.Duration
}

// ErrNoShutdown is returned by Serve if the streams ended in a session before the editor ended it.
var ErrNoShutdown = errors.New("the editor went away without a shutdown")

// Serve answers requests from in on out until the editor ends the session or ctx ends.
func (s Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if s.Delay == 0 {
		s.Delay = 250 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &session{Server: s, ctx: ctx, open: map[string]*text{}, timers: map[string]*time.Timer{},
		begun: map[string]int{}, shown: map[string]map[string]bool{}, trees: map[string]*tree{}}
	c.mu.Lock() // messages are read at once, and a check that one of them begins uses c.conn
	c.conn = jsonrpc2.NewConn(ctx, newMessages(streams{in, out}), jsonrpc2.HandlerWithError(c.handle))
	c.mu.Unlock()
	select {
	case <-c.conn.DisconnectNotify():
	case <-ctx.Done():
		_ = c.conn.Close()
		<-c.conn.DisconnectNotify()
	}
	c.stop()
	if c.lost() && ctx.Err() == nil {
		return ErrNoShutdown
	}
	return nil
}

// streams are the two streams of an editor as one.
type streams struct {
	io.Reader
	io.Writer
}

func (s streams) Close() error {
	if c, ok := s.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// session is the state of one editor.
type session struct {
	Server
	ctx  context.Context
	conn *jsonrpc2.Conn

	mu       sync.Mutex
	open     map[string]*text           // by path
	trees    map[string]*tree           // by directory, until the next change
	timers   map[string]*time.Timer     // of checks, by directory
	begun    map[string]int             // checks that have begun, by directory
	shown    map[string]map[string]bool // files with diagnostics, by directory
	started  bool
	shutdown bool
	checks   sync.WaitGroup
}

func (c *session) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shutdown
}

// lost reports whether the session began and was not ended.
func (c *session) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started && !c.shutdown
}

// stop ends the checks that wait or run.
func (c *session) stop() {
	c.mu.Lock()
	for dir, timer := range c.timers {
		if timer.Stop() {
			c.checks.Done()
		}
		delete(c.timers, dir)
	}
	c.mu.Unlock()
	c.checks.Wait()
}

// handle answers one message. Messages are handled one after the other, in their order.
func (c *session) handle(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprintf("%s: %v", req.Method, r)}
		}
	}()
	switch req.Method {
	case "initialize":
		c.mu.Lock()
		c.started = true
		c.mu.Unlock()
		return c.initialize(), nil
	case "initialized", "$/cancelRequest", "$/setTrace", "workspace/didChangeConfiguration":
		return nil, nil
	case "shutdown":
		c.mu.Lock()
		c.shutdown = true
		c.mu.Unlock()
		return nil, nil
	case "exit":
		go conn.Close() //nolint:errcheck // the session is over
		return nil, nil
	}
	if c.ended() {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server was shut down"}
	}
	return c.document(req)
}

func (c *session) initialize() initializeResult {
	return initializeResult{
		ServerInfo: serverInfo{Name: "helm", Version: c.Version},
		Capabilities: capabilities{
			PositionEncoding:   "utf-16",
			TextDocumentSync:   syncOptions{OpenClose: true, Change: incremental, Save: true},
			CompletionProvider: &completionOptions{TriggerCharacters: []string{".", "\"", "$", " ", ":"}},
			HoverProvider:      true, DefinitionProvider: true, ReferencesProvider: true,
		},
	}
}

// document answers a message about a document.
func (c *session) document(req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
		"workspace/didChangeWatchedFiles":
		return nil, c.sync(req)
	case "textDocument/completion":
		return ask(c, req, []CompletionItem{}, place.complete)
	case "textDocument/hover":
		return ask(c, req, nil, place.hover)
	case "textDocument/definition":
		return ask(c, req, []Location{}, place.definition)
	case "textDocument/references":
		return ask(c, req, []Location{}, place.references)
	}
	if req.Notif {
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "the server has no " + req.Method}
}

func decode(req *jsonrpc2.Request, to any) error {
	if req.Params == nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: req.Method + " needs parameters"}
	}
	if err := json.Unmarshal(*req.Params, to); err != nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	}
	return nil
}

// sync keeps the documents of the editor.
func (c *session) sync(req *jsonrpc2.Request) error {
	var p changeParams
	if req.Method != "workspace/didChangeWatchedFiles" {
		if err := decode(req, &p); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.trees)
	file := pathOf(p.TextDocument.URI)
	if file == "" {
		for dir := range c.shown {
			c.check(dir)
		}
		return nil
	}
	switch req.Method {
	case "textDocument/didOpen":
		c.open[file] = newText(p.TextDocument.Text)
	case "textDocument/didChange":
		if t := c.open[file]; t != nil {
			c.open[file] = t.edit(p.ContentChanges)
		}
	case "textDocument/didClose":
		delete(c.open, file)
	}
	if dir := rootOf(file); dir != "" {
		c.check(dir)
	}
	return nil
}

// tree returns the chart in dir with what is open.
func (c *session) tree(dir string) (*tree, error) {
	if t := c.trees[dir]; t != nil {
		return t, nil
	}
	edited := map[string]string{}
	for file, t := range c.open {
		if name, ok := inTree(dir, file); ok {
			edited[name] = t.data
		}
	}
	t, err := load(c.Loader, dir, edited)
	if err == nil {
		c.trees[dir] = t
	}
	return t, err
}

// inTree returns the path of a file in the tree in dir.
func inTree(dir, file string) (string, bool) {
	rel, err := filepath.Rel(dir, file)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// ask answers a question about a place in a document. none is the answer outside of charts.
func ask[T any](c *session, req *jsonrpc2.Request, none T, answer func(place) T) (any, error) {
	var p positionParams
	if err := decode(req, &p); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	file := pathOf(p.TextDocument.URI)
	dir := rootOf(file)
	if dir == "" {
		return none, nil
	}
	t, err := c.tree(dir)
	if err != nil {
		return none, nil //nolint:nilerr // it is a diagnostic
	}
	name, _ := inTree(dir, file)
	of := t.texts[name]
	if of == nil {
		return none, nil
	}
	return answer(place{tree: t, file: name, text: of, offset: of.offset(p.Position)}), nil
}

func (p place) complete() []CompletionItem {
	var items []CompletionItem
	switch {
	case isTemplate(p.file):
		items = p.completeTemplate()
	case isScript(p.file):
		items = p.completeScript()
	case isValuesFile(p.file):
		items = p.completeValues()
	}
	return append([]CompletionItem{}, items...)
}

func (p place) hover() *Hover {
	switch {
	case isTemplate(p.file):
		return p.hoverTemplate()
	case isScript(p.file):
		return p.hoverScript()
	case isValuesFile(p.file):
		return p.hoverValues()
	}
	return nil
}

func (p place) definition() []Location {
	var out []Location
	switch {
	case isTemplate(p.file):
		out = p.defineTemplate()
	case isScript(p.file):
		out = p.defineScript()
	case isValuesFile(p.file):
		out = p.usesOfKey()
	}
	return append([]Location{}, out...)
}

func (p place) references() []Location {
	var out []Location
	switch {
	case isTemplate(p.file):
		out = p.referencesTemplate()
	case isValuesFile(p.file):
		out = p.usesOfKey()
	}
	return append([]Location{}, out...)
}

// check has the chart in dir checked after the delay. c.mu is held.
func (c *session) check(dir string) {
	if timer := c.timers[dir]; timer != nil && timer.Stop() {
		timer.Reset(c.Delay)
		return
	}
	c.checks.Add(1)
	c.timers[dir] = time.AfterFunc(c.Delay, func() {
		defer c.checks.Done()
		c.publish(dir)
	})
}

// publish checks a chart and sends what was found, unless another check has begun in the meantime: that
// knows newer texts.
func (c *session) publish(dir string) {
	c.mu.Lock()
	c.begun[dir]++
	check := c.begun[dir]
	var names []string
	edited := map[string]string{}
	for file, t := range c.open {
		if name, ok := inTree(dir, file); ok {
			edited[name], names = t.data, append(names, name)
		}
	}
	c.mu.Unlock()
	found, err := c.findings(dir, edited, names)
	if err != nil || c.ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun[dir] != check {
		return
	}
	for file := range c.shown[dir] {
		if found[file] == nil {
			found[file] = []Diagnostic{}
		}
	}
	c.shown[dir] = map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if len(found[file]) > 0 {
			c.shown[dir][file] = true
		}
		_ = c.conn.Notify(c.ctx, "textDocument/publishDiagnostics",
			publishDiagnostics{URI: uriOf(file), Diagnostics: found[file]})
	}
}

// findings returns what is found in a chart, by file. It has a tree of its own, because a tree is
// not safe for concurrent use.
func (c *session) findings(dir string, edited map[string]string, open []string) (out map[string][]Diagnostic,
	err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("check %s: %v", dir, r)
		}
	}()
	t, err := load(c.Loader, dir, edited)
	if err != nil {
		return nil, err
	}
	found, err := t.lint(c.ctx, action.Lint{Scripts: c.Scripts}, c.Namespace)
	if err != nil {
		return nil, err
	}
	found = append(found, t.unusedDefaults(c.ctx)...)
	found = append(found, t.userValues(c.ctx, open)...)
	return t.diagnostics(found), nil
}
