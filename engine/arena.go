// SPDX-License-Identifier: Apache-2.0

package engine

import "text/template/parse"

// arena allocates parse nodes in blocks, because a chart has many thousands of them. It is not
// safe for concurrent use. A block is freed only when none of its nodes is in use.
type arena struct {
	texts       []parse.TextNode
	actions     []parse.ActionNode
	pipes       []parse.PipeNode
	commands    []parse.CommandNode
	fields      []parse.FieldNode
	identifiers []parse.IdentifierNode
	strs        []parse.StringNode
	nodes       []parse.Node
	names       []string
	pointers    []*parse.CommandNode
}

// blockSize is the number of nodes in a block. Blocks of slices have four times as many
// elements, since most nodes have several.
const blockSize = 128

// alloc adds v to a block and returns its address.
func alloc[T any](block *[]T, v T) *T {
	if len(*block) == 0 {
		*block = make([]T, blockSize)
	}
	p := &(*block)[0]
	*block = (*block)[1:]
	*p = v
	return p
}

// copySlice copies src into a block and returns the copy.
func copySlice[T any](block *[]T, src []T) []T {
	if len(src) > len(*block) {
		*block = make([]T, max(4*blockSize, len(src)))
	}
	n := len(src)
	dst := (*block)[:n:n]
	*block = (*block)[n:]
	copy(dst, src)
	return dst
}

func (a *arena) text(n parse.TextNode) *parse.TextNode          { return alloc(&a.texts, n) }
func (a *arena) action(n parse.ActionNode) *parse.ActionNode    { return alloc(&a.actions, n) }
func (a *arena) pipe(n parse.PipeNode) *parse.PipeNode          { return alloc(&a.pipes, n) }
func (a *arena) command(n parse.CommandNode) *parse.CommandNode { return alloc(&a.commands, n) }
func (a *arena) field(n parse.FieldNode) *parse.FieldNode       { return alloc(&a.fields, n) }
func (a *arena) str(n parse.StringNode) *parse.StringNode       { return alloc(&a.strs, n) }
func (a *arena) copyNodes(from []parse.Node) []parse.Node       { return copySlice(&a.nodes, from) }
func (a *arena) copyStrings(from []string) []string             { return copySlice(&a.names, from) }
func (a *arena) identifier(n parse.IdentifierNode) *parse.IdentifierNode {
	return alloc(&a.identifiers, n)
}

// addCommand appends c to to. The first command of a pipeline, which is nearly always the only
// one, is in a block; append moves the others.
func (a *arena) addCommand(to []*parse.CommandNode, c *parse.CommandNode) []*parse.CommandNode {
	if len(to) == 0 {
		return copySlice(&a.pointers, []*parse.CommandNode{c})
	}
	return append(to, c)
}
