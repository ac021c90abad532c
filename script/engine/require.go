// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arnodel/golua/ast"
	"github.com/arnodel/golua/astcomp"
	"github.com/arnodel/golua/code"
	"github.com/arnodel/golua/ir"
	"github.com/arnodel/golua/ircomp"
	rt "github.com/arnodel/golua/runtime"

	"github.com/moonhelm/moonhelm/internal/suggest"
	"github.com/moonhelm/moonhelm/internal/truncate"
)

// directory is the directory of a chart's scripts.
const directory = "ext/lua/"

// module is a file that was loaded, or is being loaded.
type module struct {
	value   rt.Value
	loading bool
}

// source returns the name of a chunk in errors and tracebacks.
func (c *chart) source(file string) string { return c.path + "/" + c.directory + file }

// require is require("x") and require("dep/x").
func (e *engine) require(c *chart, t *rt.Thread, gc *rt.GoCont) (rt.Cont, error) {
	if err := gc.Check1Arg(); err != nil {
		return nil, errors.New("require needs a name")
	}
	name, ok := gc.Arg(0).TryString()
	if !ok {
		return nil, fmt.Errorf("require needs a name, not a %s value", gc.Arg(0).TypeName())
	}
	owner, file, ok := c.resolve(name)
	if !ok {
		return nil, c.moduleNotFound(name)
	}
	if owner.library && owner != c && !slices.Contains(c.libraries, owner) {
		c.libraries, e.changed = append(c.libraries, owner), true
	}
	v, err := e.run(t, owner, file)
	var f *scriptError
	if errors.As(err, &f) {
		// An error of the file's text has its own place, not that of the call.
		text := fmt.Sprintf("%s:%d: %s", owner.source(file), f.line, f.text)
		return nil, rt.NewError(rt.StringValue(text)).AddContext(nil, 0)
	}
	if err != nil {
		return nil, err
	}
	return gc.PushingNext1(t.Runtime, v), nil
}

// resolve returns the file that a name refers to.
func (c *chart) resolve(name string) (*chart, string, bool) {
	owner, rest := c, name
	if dep, r, ok := strings.Cut(name, "/"); ok {
		if owner, rest = c.requires[dep], r; owner == nil {
			return nil, "", false
		}
	}
	file := strings.ReplaceAll(rest, ".", "/") + ".lua"
	return owner, file, owner.has(file)
}

// has reports whether there is such a file, and keeps its text.
func (c *chart) has(file string) bool {
	if _, ok := c.files[file]; ok || c.open == nil {
		return ok
	}
	text, ok := c.open(file)
	if ok {
		c.files[file] = text
	}
	return ok
}

// noun returns what c is called in errors.
func (c *chart) noun() string {
	if c.directory == "" {
		return "the plugin"
	}
	return "the chart"
}

// moduleNotFound returns an error that says what can be required.
func (c *chart) moduleNotFound(name string) error {
	var can []string
	add := func(prefix string, of *chart) {
		for file := range of.files {
			if m, ok := strings.CutSuffix(file, ".lua"); ok && m != "chart" && !strings.Contains(m, ".") {
				can = append(can, prefix+strings.ReplaceAll(m, "/", "."))
			}
		}
	}
	add("", c)
	for dep, of := range c.requires {
		add(dep+"/", of)
	}
	slices.Sort(can)
	dep, rest, foreign := strings.Cut(name, "/")
	missing := ""
	if of := c.requires[dep]; foreign && of != nil {
		missing = fmt.Sprintf("chart %q has no %s%s.lua", of.name, c.directory, strings.ReplaceAll(rest, ".", "/"))
	} else if foreign && c.directory == "" {
		missing = "files of directories are required with a dot, as in " +
			fmt.Sprintf("%q", truncate.Bytes(strings.ReplaceAll(strings.TrimPrefix(name, "./"), "/", "."), 100, "…"))
	} else if foreign {
		missing = fmt.Sprintf("the chart has no dependency or library %q", truncate.Bytes(dep, 100, "…"))
	} else {
		missing = fmt.Sprintf("%s has no %s%s.lua", c.noun(), c.directory,
			strings.ReplaceAll(truncate.Bytes(name, 100, "…"), ".", "/"))
	}
	if meant := similarModule(can, name); meant != "" {
		missing += fmt.Sprintf(" (did you mean %q?)", meant)
	}
	if c.open != nil {
		return fmt.Errorf("cannot require %q: %s", truncate.Bytes(name, 100, "…"), missing)
	}
	if len(can) == 0 {
		missing += "; a script can require files of its own chart and of direct dependencies and libraries"
	} else {
		missing += "; there are " + truncate.Bytes(strings.Join(can, ", "), 1000, "…")
	}
	return fmt.Errorf("cannot require %q: %s", truncate.Bytes(name, 100, "…"), missing)
}

// similarModule returns the module that was likely meant by a name that has a typing error,
// or is a path or the name of a file.
func similarModule(names []string, name string) string {
	plain := strings.TrimSuffix(strings.TrimPrefix(name, "./"), ".lua")
	dotted := strings.ReplaceAll(plain, "/", ".")
	for _, try := range []string{plain, dotted} {
		if slices.Contains(names, try) {
			return try
		}
	}
	if len(dotted) < 3 {
		return ""
	}
	return suggest.Similar(names, dotted, 2, func(s string) string { return strings.ReplaceAll(s, "/", ".") })
}

// run loads a file once, in the environment of the chart that it belongs to.
func (e *engine) run(t *rt.Thread, c *chart, file string) (rt.Value, error) {
	if m := c.loaded[file]; m != nil {
		if m.loading {
			return rt.NilValue, fmt.Errorf("%s is required while it is being loaded: scripts require each other in a circle",
				c.directory+file)
		}
		return m.value, nil
	}
	chunk, err := e.compile(c, file)
	if err != nil {
		return rt.NilValue, err
	}
	m := &module{loading: true}
	c.loaded[file] = m
	main, err := rt.Call1(t, rt.FunctionValue(chunk), e.hook)
	if err != nil {
		return rt.NilValue, err
	}
	v, err := rt.Call1(t, main)
	if err != nil {
		delete(c.loaded, file)
		return rt.NilValue, err
	}
	if v.IsNil() {
		v = rt.BoolValue(true)
	}
	*m = module{value: v}
	return v, nil
}

// compile returns a function that makes the file's function: its argument is the hook of
// assignments.
func (e *engine) compile(c *chart, file string) (*rt.Closure, error) {
	return e.compileText(c, c.directory+file, c.files[file])
}

// compileText is compile for the text of a file, "ext/lua/chart.lua". An error is a
// [*scriptError].
func (e *engine) compileText(c *chart, file, text string) (*rt.Closure, error) {
	at, source := place{chart: c.index, file: file}, c.path+"/"+file
	e.sources[source], e.texts[at] = at, text
	size := uint64(min(len(text), maxSource))
	e.r.RequireCPU(size * 20)
	e.r.RequireMem(size * 20)
	block, err := parse(text)
	if err != nil {
		return nil, newSyntaxError(at, err)
	}
	unit, err := compileUnit(source, c.namesOf(at).hooked(block))
	if err != nil {
		return nil, newSyntaxError(at, err)
	}
	e.covered.add(source, unit)
	return e.r.LoadLuaUnit(unit, rt.TableValue(c.env)), nil
}

// compileUnit compiles a syntax tree. It recovers from golua's panics.
func compileUnit(source string, chunk ast.BlockStat) (unit *code.Unit, err error) {
	defer func() {
		if p := recover(); p != nil {
			unit, err = nil, &syntaxError{text: "the script is too complicated for the compiler: " +
				truncate.Bytes(fmt.Sprint(p), 200, "…")}
		}
	}()
	index, constants, err := astcomp.CompileLuaChunk(source, chunk)
	if err != nil {
		return nil, err
	}
	widen(constants)
	compiler := ircomp.NewConstantCompiler(constants, code.NewBuilder(source))
	compiler.QueueConstant(index)
	if unit, err = compiler.CompileQueue(); err != nil {
		return nil, err
	}
	return unit, jumpsFit(unit)
}

// newSyntaxError returns the error of a script that cannot be compiled.
func newSyntaxError(at place, err error) *scriptError {
	f := &scriptError{position: position{place: at}}
	text := err.Error()
	if ours, ok := errors.AsType[*syntaxError](err); ok {
		f.line = ours.line
		if ours.unfinished && at.file == promptFile {
			text += unfinished
		}
	} else if golua, ok := errors.AsType[astcomp.Error](err); ok {
		text = golua.Message
		if p := golua.Where.Locate().StartPos(); p != nil {
			f.line = p.Line
		}
	}
	f.text = truncate.Bytes(text, maxMessage, "…")
	return f
}

// wide is an integer that golua must not shorten.
type wide ir.Int

// ProcessConstant implements [ir.Constant].
func (n wide) ProcessConstant(p ir.ConstantProcessor) { p.ProcessInt(ir.Int(n)) }

// widen keeps integers whole where an int has 32 bits. golua converts an [ir.Int] to an int
// to see whether it is small enough for an instruction: there, 1<<32 + 1 would be 1.
func widen(constants []ir.Constant) {
	for i, c := range constants {
		if n, ok := c.(ir.Int); ok && int64(int32(n)) != int64(n) {
			constants[i] = wide(n)
		}
	}
}

// jumpsFit returns an error for functions that are too long for golua's jumps of 16 bits.
func jumpsFit(unit *code.Unit) error {
	for _, c := range unit.Constants {
		f, ok := c.(code.Code)
		if !ok || f.EndOffset-f.StartOffset <= math.MaxInt16 {
			continue
		}
		for _, op := range unit.Code[f.StartOffset:f.EndOffset] {
			if !op.HasType1() && op.TypePfx() == code.Type5Pfx && (op.GetJ() == code.OpJump || op.GetJ() == code.OpJumpIf) {
				text := "the script is too long in one piece: a function that branches may take 32,767 instructions"
				return &syntaxError{line: int(unit.Lines[f.StartOffset]), text: text}
			}
		}
	}
	return nil
}
