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

const blockSize = 128

// one adds v to a block and returns its address.
func one[T any](block *[]T, v T) *T {
	if len(*block) == 0 {
		*block = make([]T, blockSize)
	}
	p := &(*block)[0]
	*block = (*block)[1:]
	*p = v
	return p
}

// several copies from to a block.
func several[T any](block *[]T, from []T) []T {
	if len(from) > len(*block) {
		*block = make([]T, max(4*blockSize, len(from)))
	}
	n := len(from)
	to := (*block)[:n:n]
	*block = (*block)[n:]
	copy(to, from)
	return to
}

func (a *arena) text(n parse.TextNode) *parse.TextNode          { return one(&a.texts, n) }
func (a *arena) action(n parse.ActionNode) *parse.ActionNode    { return one(&a.actions, n) }
func (a *arena) pipe(n parse.PipeNode) *parse.PipeNode          { return one(&a.pipes, n) }
func (a *arena) command(n parse.CommandNode) *parse.CommandNode { return one(&a.commands, n) }
func (a *arena) field(n parse.FieldNode) *parse.FieldNode       { return one(&a.fields, n) }
func (a *arena) str(n parse.StringNode) *parse.StringNode       { return one(&a.strs, n) }
func (a *arena) copyNodes(from []parse.Node) []parse.Node       { return several(&a.nodes, from) }
func (a *arena) copyStrings(from []string) []string             { return several(&a.names, from) }
func (a *arena) identifier(n parse.IdentifierNode) *parse.IdentifierNode {
	return one(&a.identifiers, n)
}

func (a *arena) addCommand(to []*parse.CommandNode, c *parse.CommandNode) []*parse.CommandNode {
	if len(to) == 0 {
		return several(&a.pointers, []*parse.CommandNode{c})
	}
	return append(to, c)
}
