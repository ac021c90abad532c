// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
)

// The types are those of the Language Server Protocol, version 3.17, as far as the server needs
// them: https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/

// Position is a place between two characters. Character counts UTF-16 code units.
type Position struct {
	Line      int `json:"line"` // 0-based
	Character int `json:"character"`
}

// Range is a part of a document. End is exclusive.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Location is a place in a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// DiagnosticSeverity is how bad a finding is.
type DiagnosticSeverity int

// The severities.
const (
	SeverityError DiagnosticSeverity = 1 + iota
	SeverityWarning
	SeverityInformation
	SeverityHint
)

// tagUnnecessary marks what nothing uses: editors show it faded.
const tagUnnecessary = 1

// Diagnostic is a finding in a document.
type Diagnostic struct {
	Range    Range              `json:"range"`
	Severity DiagnosticSeverity `json:"severity"`
	Source   string             `json:"source"`
	Message  string             `json:"message"`
	Tags     []int              `json:"tags,omitempty"`
}

type publishDiagnostics struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

type document struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	Text    string `json:"text"`
}

type change struct {
	Range *Range `json:"range"`
	Text  string `json:"text"`
}

type changeParams struct {
	TextDocument   document `json:"textDocument"`
	ContentChanges []change `json:"contentChanges"`
}

type positionParams struct {
	TextDocument document `json:"textDocument"`
	Position     Position `json:"position"`
}

// completionKind is the kind of a completion: editors show an icon.
type completionKind int

const (
	kindFunction completionKind = 3
	kindField    completionKind = 5
	kindModule   completionKind = 9
	kindProperty completionKind = 10
	kindValue    completionKind = 12
	kindKeyword  completionKind = 14
	kindEvent    completionKind = 23
)

// CompletionItem is a text that may be inserted.
type CompletionItem struct {
	Label         string         `json:"label"`
	Kind          completionKind `json:"kind,omitempty"`
	Detail        string         `json:"detail,omitempty"`
	Documentation *Markup        `json:"documentation,omitempty"`
	TextEdit      *TextEdit      `json:"textEdit,omitempty"`
}

// TextEdit replaces a part of a document.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// Markup is a text in Markdown.
type Markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(text string) *Markup {
	if text == "" {
		return nil
	}
	return &Markup{Kind: "markdown", Value: text}
}

// Hover is what is shown for a place.
type Hover struct {
	Contents *Markup `json:"contents"`
	Range    *Range  `json:"range,omitempty"`
}

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type syncOptions struct {
	OpenClose bool `json:"openClose"`
	Change    int  `json:"change"`
	Save      bool `json:"save"`
}

// incremental is the kind of synchronization that sends the changed parts.
const incremental = 2

type capabilities struct {
	PositionEncoding   string             `json:"positionEncoding"`
	TextDocumentSync   syncOptions        `json:"textDocumentSync"`
	CompletionProvider *completionOptions `json:"completionProvider"`
	HoverProvider      bool               `json:"hoverProvider"`
	DefinitionProvider bool               `json:"definitionProvider"`
	ReferencesProvider bool               `json:"referencesProvider"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type initializeResult struct {
	Capabilities capabilities `json:"capabilities"`
	ServerInfo   serverInfo   `json:"serverInfo"`
}

// pathOf returns the path of a "file" URI, or "" for others.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // a drive of Windows
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

// uriOf returns the "file" URI of an absolute path.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
