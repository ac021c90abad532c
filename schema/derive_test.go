// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"testing"
)

func TestPlay(t *testing.T) {
	out, err := Derive([]byte(`# Copyright x

# Service name
name: frontend
protocol: https # @schema enum:[http, https]; required
# @schema minimum:0; maximum: 65535; required
port: 443
# Container Image
image:
  repo: a
  # -- (string) the tag
  # of it
  # @default -- foo
  tag:
env: {}
#  foo: bar
#  baz:
#    - x
list: [{a: 1, b: x}, {a: 2.5}]
yes: "yes"
"80": 012
## @param deep.er [array, nullable] Hello
deep:
  er: []
# @schema
# anyOf:
#   - type: integer
#   - pattern: ^x;$
# @schema
# foo
foo: 1
txt: |
  # hello
  world
ref: 1 # @schema $ref: #/properties/port
`), nil)
	t.Logf("%s %v", out, err)
}
