// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	pathpkg "path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// messages returns the messages that docs/error-messages.md lists.
func messages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, cells := range rows(page(t, "error-messages.md")) {
		if len(cells) != 3 {
			t.Errorf("want three cells: %v", cells)
			continue
		}
		message := strings.Trim(strings.TrimSpace(cells[0]), "`")
		if slices.Contains(found, message) {
			t.Errorf("%q is there twice", message)
		}
		found = append(found, message)
	}
	if len(found) < 100 {
		t.Fatalf("got %d messages, want those of the page", len(found))
	}
	return found
}

// fixed returns the parts of a message that do not vary.
func fixed(message string) (parts []string) {
	for part := range strings.SplitSeq(message, "...") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// contains reports whether text has the parts of a message in their order.
func contains(text, message string) bool {
	for _, part := range fixed(message) {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// TestMessagesAreThePrograms checks that the program has each message of docs/error-messages.md: in a text
// of its source, or shown by a script that compares it with Helm's.
func TestMessagesAreThePrograms(t *testing.T) {
	texts := append(programTexts(t), shownPhrases(t)...)
	for _, message := range messages(t) {
		if !slices.ContainsFunc(texts, func(text string) bool { return contains(text, message) }) {
			t.Errorf("docs/error-messages.md has %q, which no text of the program has", message)
		}
	}
}

// TestMessagesAreListed checks that docs/error-messages.md has every sentence of Helm's that the scripts of
// test/compat/testdata/phrases look for, and every error for which there is advice.
func TestMessagesAreListed(t *testing.T) {
	listed := messages(t)
	has := func(text string) bool {
		return slices.ContainsFunc(listed, func(message string) bool {
			return contains(text, message) || slices.ContainsFunc(fixed(message), func(part string) bool {
				return len(text) >= 8 && strings.Contains(part, strings.TrimSpace(text))
			})
		})
	}
	for _, phrase := range shownPhrases(t) {
		if len(phrase) > 12 && !has(phrase) && !slices.Contains(unlisted, phrase) {
			t.Errorf("docs/error-messages.md lacks %q, which a script looks for", phrase)
		}
	}
	for name, texts := range advisedErrors(t) {
		if !slices.ContainsFunc(texts, has) && !slices.Contains(unlisted, name) {
			t.Errorf("docs/error-messages.md lacks the error %s, which has a hint: %q", name, texts)
		}
	}
}

// unlisted are phrases that are parts of a longer one, names and advice, and errors that say only what
// another error or the user's own program has said.
var unlisted = []string{
	"): an image is needed", "): never without a reason", "nilpointer/templates/a.yaml:1:", "/charts repository",
	"INSTALLATION FAILED: ", "UPGRADE FAILED: ", "INSTALLATION FAILED: release name", "UPGRADE FAILED: release name",
	"and the length must not be longer than 53", "conf-1.2.3.tgz.prov", `chart "nosuch"`,
	"has been rolled back due to rollback-on-failure being set", "has been uninstalled due to rollback-on-failure being set",
	"Please update the dependencies", "helm dependency build", "to fetch missing dependencies", "ou may need to run ",
	"via 'helm repo add'", "while checking for chart dependencies", "1 chart(s) linted, 1 chart(s) failed",
	"lugin: nosuch not found", "lugin: other not found", `"helm registry login" requires`,
	"nosuch.gpg: no such file or directory", "nosuch.tgz: no such file or directory", "nosuch: no such file or directory",
	"open nosuch.yaml: no such file or directory", "open nosuch: no such file or directory",
	"internal/cmdutil.UsageError", "storage.DatabaseError", "registry.ConnectError", "action.NamespaceError",
	"kube/wait.PendingError", "action.WaitError", "chart/unittest/suites.Error", "chart/unittest/suites.yamlError",
	"plan/patch.SyntaxError", // the words are those of what has ended
}

// programTexts returns the texts in the source of the program. Texts that are joined are one, and what is
// between them is a NUL.
func programTexts(t *testing.T) (texts []string) {
	t.Helper()
	eachSource(t, func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BinaryExpr, *ast.BasicLit:
				if text, ok := joined(n.(ast.Expr)); ok {
					texts = append(texts, text)
					return false
				}
			}
			return true
		})
	})
	return texts
}

// joined returns the text of an expression, if it is one.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		x, isX := joined(e.X)
		y, isY := joined(e.Y)
		if !isX {
			x = "\x00"
		}
		if !isY {
			y = "\x00"
		}
		return x + y, isX || isY
	}
	return "", false
}

// advisedErrors returns the texts in the methods Error of the types that have a method Hint.
func advisedErrors(t *testing.T) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	advised := map[string]bool{}
	eachSource(t, func(dir string, file *ast.File) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Body == nil || (f.Name.Name != "Error" && f.Name.Name != "Hint") {
				continue
			}
			name := dir + "." + receiver(f)
			if f.Name.Name == "Hint" {
				advised[name] = true
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					if text, ok := joined(e); ok {
						texts[name] = append(texts[name], text)
						return false
					}
				}
				return true
			})
		}
	})
	for name := range texts {
		if !advised[name] {
			delete(texts, name)
		}
	}
	return texts
}

func receiver(f *ast.FuncDecl) string {
	switch e := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return e.X.(*ast.Ident).Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// eachSource calls visit with the directory of each source file of the program and its syntax.
func eachSource(t *testing.T, visit func(dir string, file *ast.File)) {
	t.Helper()
	eachSourceFile(t, func(path string, text []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		visit(pathpkg.Dir(path), file)
	})
}

// eachSourceFile calls visit with the path of each source file of the program, relative to the
// repository and with slashes, and its text.
func eachSourceFile(t *testing.T, visit func(path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			switch filepath.ToSlash(rel) {
			case ".git", "test", "bench", "bin", "tools", "examples", "site", "dist":
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			visit(filepath.ToSlash(rel), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var says = regexp.MustCompile(`(?m)^(?:\[([^\]]*)\] )*says '((?:[^']|'')*)'$`)

// shownPhrases returns what the scripts of test/compat/testdata/phrases find in the program's output.
func shownPhrases(t *testing.T) (phrases []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "test", "compat", "testdata", "phrases", "*", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d scripts, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range says.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "helm3" && m[1] != "helm4" {
				phrases = append(phrases, strings.ReplaceAll(m[2], "''", "'"))
			}
		}
	}
	slices.Sort(phrases)
	return slices.Compact(phrases)
}
