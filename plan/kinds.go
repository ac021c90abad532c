// SPDX-License-Identifier: Apache-2.0

package plan

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// kindsText says how fields of the kinds that Kubernetes is built with merge,
// where they do not as maps, lists and values do by themselves: the
// patchStrategy and patchMergeKey tags of the API's Go types, and the list keys
// of the schema that the server applies by, made by a test. The types themselves
// would cost every start of the program milliseconds.
//
// Lines "type N field:child:flags:keys": m merges a list by its items' keys, or
// its values where there are none; k retains listed keys only; p replaces. The
// first of the keys is the patchMergeKey, and "protocol=TCP" is a key with its
// default, "name=" one that an item may leave out. "|a,b" in a type says that one of these fields may be set,
// "|type,X=a,Y=b" that type says which.
//
//go:embed kinds.txt
var kindsText string

// node says how the fields of one type merge; a field that is not there merges
// as its value does. nil has no such field.
type node struct {
	fields map[string]field
	unions []union
}

// union is fields of a map of which the server takes one.
type union struct {
	by      string // the field that says which, "" for none
	members []member
}

type member struct {
	name string
	when string // what the union's by says where this one is set
}

// field says how one field merges.
type field struct {
	node    *node // of the map, or of the list's items
	merge   bool  // a list, merged by key; by value where key is ""
	retain  bool  // what is not named goes away, when anything changes
	replace bool  // a map that is replaced whole
	key     string
	keyless any       // key's value where an item lacks it, nil where none may
	more    []listKey // what names a list's item besides key
	place   place
}

// listKey is a field of a list's items that names them.
type listKey struct {
	name     string
	fallback any // what the server takes where an item lacks it, nil for nothing
}

// place says what of a map no manifest can change.
type place byte

const (
	inside place = iota
	top          // the object itself
	meta         // its metadata
	noted        // its labels or annotations
)

func (n *node) field(name string) field {
	if n == nil {
		return field{}
	}
	return n.fields[name]
}

// below is how a field of f's map merges.
func (f field) below(key string) field {
	b := f.node.field(key)
	if f.place == top && key == "metadata" {
		b.place = meta
	}
	if f.place == meta && plainMap(key) {
		b.place = noted
	}
	return b
}

// skips reports whether key is nothing that a manifest may change: who wrote it
// is the server, or the object is found by it.
func (f field) skips(key string) bool {
	switch f.place {
	case top:
		return key == "apiVersion" || key == "kind" || key == "status"
	case meta:
		switch key {
		case "name", "namespace", "generateName", "managedFields", "uid", "resourceVersion", "generation",
			"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink":
			return true
		}
	}
	return false
}

// table is kindsText, read.
type table struct {
	kinds map[string]*node // by "apiVersion kind"
	// maps and quantities name fields that, wherever they occur, are maps that
	// are left out where they are empty, and hold quantities such as "500m".
	maps, quantities map[string]bool
	// texts name fields that, wherever they occur, are maps of texts, bytes or
	// quantities.
	texts map[string]bool
	// zeros name fields that the API leaves out when they are false, 0 or "",
	// open those below which keys are anybody's.
	zeros, open map[string]bool
}

// kinds reads the table when the first plan is made.
var kinds = sync.OnceValue(func() *table { return readTable(kindsText) })

func readTable(text string) *table {
	t := &table{kinds: map[string]*node{}}
	var types []*node
	at := func(id string) *node {
		i, err := strconv.Atoi(id)
		if err != nil || i >= len(types) {
			return nil
		}
		return types[i]
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch words[0] {
		case "maps":
			t.maps = set(words[1:])
		case "quantities":
			t.quantities = set(words[1:])
		case "texts":
			t.texts = set(words[1:])
		case "zeros":
			t.zeros = set(words[1:])
		case "open":
			t.open = set(words[1:])
		case "type":
			n := &node{fields: make(map[string]field, len(words)-2)}
			for _, w := range words[2:] {
				if members, is := strings.CutPrefix(w, "|"); is {
					n.unions = append(n.unions, readUnion(members))
					continue
				}
				p := append(strings.Split(w, ":"), "", "", "")
				f := field{
					node:    at(p[1]),
					merge:   strings.Contains(p[2], "m"),
					retain:  strings.Contains(p[2], "k"),
					replace: strings.Contains(p[2], "p"),
				}
				if keys := readKeys(p[3]); len(keys) > 0 {
					f.key, f.keyless, f.more = keys[0].name, keys[0].fallback, keys[1:]
				}
				n.fields[p[0]] = f
			}
			types = append(types, n)
		case "kinds":
			for _, w := range words[2:] {
				kind, id, _ := strings.Cut(w, "=")
				t.kinds[words[1]+" "+kind] = at(id)
			}
		}
	}
	return t
}

// readKeys reads "port,protocol=TCP".
func readKeys(text string) (keys []listKey) {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		name, fallback, has := strings.Cut(word, "=")
		k := listKey{name: name}
		if has {
			k.fallback = fallback
		}
		keys = append(keys, k)
	}
	return keys
}

// readUnion reads "value,valueFrom", or "type,RollingUpdate=rollingUpdate".
func readUnion(text string) (u union) {
	for word := range strings.SplitSeq(text, ",") {
		when, name, named := strings.Cut(word, "=")
		switch {
		case named && u.by == "":
			u.by, u.members = u.members[0].name, []member{{name, when}}
		case named:
			u.members = append(u.members, member{name, when})
		default:
			u.members = append(u.members, member{name: word})
		}
	}
	return u
}

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}
