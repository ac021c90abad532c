// SPDX-License-Identifier: Apache-2.0

package yamltest

import "strings"

// Samples returns YAML documents, valid and invalid, to seed fuzz tests and to compare parsers: the
// forms that charts use, and those on which parsers have disagreed.
func Samples() []string {
	return []string{
		"", "# only a comment\n", "\n\n", "a: 1\n", "a: 1", "a:\n  b: 2\nc: 3\n",
		"a:\n- 1\n- two\nb:\n  - x: 1\n    y: 2\n  - - 1\n    - 2\n  -\n    z: 3\n  -\n- q\n",
		"l:\n- a: 1\n  b:\n  - c\n- d: {}\n- []\n- [1, a, \"x\", {k: v}]\n- {a: 1, b: [2]}\n",
		"a: |\n  x\n    y\n\n  z\n\n\nb: |-\n  x\n\nc: |+\n  x\n\n\nd: 1\n", "a: |\n  x", "a: |\n",
		"a: |\n\nb: 1\n", "a: |+\n\n\nb: 1\n",
		"a: |\n\tx\n", "a: |\n  \tx\n", "a: |\n   x\n  y\n", "a: |\n\n     \n  x\n", "a: |2\n   x\n",
		"- |\n x\n- y\n", "a:\n  - |\n    x\n  - >\n    y\n    z\n",
		"a: 'it''s'\nb: \"q\\\"\\n\\t\\\\\"\nc: \"\\u00e9\"\nd: 'x' # c\ne: \"x\"#c\nf: 'a\n  b'\n",
		"a: yes\nb: No\nc: ~\nd: null\ne: 010\nf: 0x1F\ng: 1.5\nh: 1e3\ni: -1\nj: +1\nk: .5\nl: 1_000\nm: 1:20\n" +
			"n: 2001-01-01\no: 10Gi\np: 1.2.3\nq: 0\nr: -0\ns: 00\nt: .inf\nu: y\nv: yEs\nw: 12345678901234567890\n" +
			"x: 0o7\nz: 0b1\n",
		"a: b: c\n", "a: b:\n", "a: b #c\n", "a: b#c\n", "a: b\n  c\n", "a:\n  b\n", "a:\n b: 1\n  c: 2\n",
		"a: 1\n b: 2\n", " a: 1\nb: 2\n",
		"a: - b\n", "a: [\n", "a: [1,\n 2]\n", "a: {b: c\n}\n", "a: {b:c}\n",
		"a: {\"b\":c, 'd':[1], \"e\":{\"f\":null,\"g\":\"h\"}}\n", "a: {\"b\":}\n", "a: {\"b\"::c}\n",
		"a: {\"b\":c:d}\n", "a: {\"b\" :c}\n", "a: {\"b\":,}\n", "a: [\"b\":c]\n", "a: {\"b\":-c}\n",
		"a: {\"b\":#c}\n", "a: {\"1\":c, 1: d}\n", "a: [a:b]\n", "a: [a, ]\n", "a: {}b\n", "a: [] # x\n",
		"a: []#x\n", "{a: 1}\n", "[1]\n", "text\n", "- a\n- b\n", "-\n-\n", "-\n00", "- \n- a:\n",
		"- a:\n  - b\n- c: |\n    d\n",
		"a: &x 1\nb: *x\n", "a: !!str 1\n", "<<: {a: 1}\n", "? a\n: b\n", "a: >\n  x\n  y\n", "a: >-\n  x\n",
		"---\na: 1\n", "a: 1\n...\n", "%YAML 1.1\n", "a: 1\n---\nb: 2\n",
		"a:\tb\n", "\ta: 1\n", "a: b\tc\n", "a:\n\tb: 1\n", "a: 1\r\nb: 2\r\n", "\ufeffa: 1\n", "é: ü\n",
		"a: \u2028\n", "a: ---", "a: ...", "- ---", "- ...", "a: \x07\n", "a: 日本\n",
		"1: a\ntrue: b\ny: c\n1.5: d\n\"1\": e\n'x y': f\nx y: g\na/b.c-d: h\n/x: 1\n.x: 2\n$x: 3\na:b: 4\n\"a\"" +
			" : 5\na : 6\n",
		"a: 1\na: 2\n", "a: {x: 1, x: 2}\n", "y: 1\nx: {y: 1, n: 2, 80: 3}\n443: a\n-1: b\n", "y: 1\ntrue: 2\n",
		"\"true\": 1\ny: 2\n", "{y: 1, 'true': 2}\n", "x: {on: 1, \"true\": 2}\n", "1: a\n\"1\": b\n", "~: 1\n",
		"null: 1\n", "0: a\n00: b\n01: c\n", "a: @b\n", "a: `b\n", "a: %b\n", "a: ,b\n", "a: ?b\n",
		"a: -b\nc: --d\ne: -\nf: - g\n", "a: =\n", "a: <b>\n", "a: (b)\n", "a: *b\n", "a: a'b\nb: a\"b\n", "a: a]b}\n",
		"metadata:\n  name: x\n  annotations:\n    a: \"1\"\n    b: 2\nkind: ConfigMap\napiVersion: v1\ndata:\n" +
			"  k: |\n    {\n      \"x\": 1\n    }\n", "a: [ 1 , 2 ]\nb: { x: 1 , y: z }\nc: [-1, - 1]\n",
		"a: [a b]\n", "a: ''\nb: \"\"\n'': 1\n", "a:\n\n  # c\n\n  b: 1\n # d\nc: 2\n", "a:\n# c\n- 1\n",
		"a: |\n  x\n # c\nb: 1\n", "a: |\n x\n#c\n  y\n", "a: | # c\n  x\n", "a: |#c\n  x\n", "a: |  \n  x\n",
		"a: x   \nb: 'y'   \n",
		"a:\n  {}\nb:\n  [1]\nc:\n  text\nd:\n  'x'\ne: 1\n", "a:\n  text\n  more\nb: 1\n",
		"a:\n - {}\n -\n   {}\n", "- a\n  b\n- c\n", "a: x\n  y\n\n\n  z\nb: 1\n", "a: x # c\n  y\n",
		"a: x\n  # c\n  y\n", "a: x\n  y: z\n", "a: x\n  - y\n", "a: x\n  y # c\nb: 1\n",
		"a: x\n  1\n  'q' [] {}\n", "a: x\n\n # c\nb: 1\n",
		"a: >\n  x\n  y\n\n  z\n    more\n  w\n\n\n", "a: >-\n  x\n\n    y\n\n  z\nb: >+\n  q\n\n",
		"a: >\n\n\n  x\n", "a: >\n  x", "a: |\n  x\n     \n  y\n", "a: >\n  x\n     \n  y\n",
		"a: >\n    x\n  y\n", "a: |\n\n\n  x\n", "a: >2\n   x\n", "a: |-\n  x\n   \n", "a: |+\n   \n  \nb: 1\n",
		"a:\n- b\n c: 1\n", "- a\n b\n", "- a: 1\n b: 2\n", "- a: 1\n   b: 2\n",
		"a:\n  - b: 1\n    c:\n    - d\n    e: 2\n", "a: |\n  x\n b\n", "a: |\n  x\n   \n  y\n  \n",
		"a: |-\n  x   \n   \n", "a: |\n  x\n    ", strings.Repeat("a:\n ", 100), "- - - a\n    - b\n  - c\n",
		"- a: b: c\n", "- 'a': 1\n- \"b\": 2\n- \"c\"\n", "a: 'b': c\n",
	}
}
