// SPDX-License-Identifier: Apache-2.0

package plan

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// kindsText describes how fields of the built-in kinds merge if they do not merge by the type
// of their value: the patchStrategy and patchMergeKey tags of the API's Go types, and the list
// keys of the schema of server-side apply. A test generates it. Importing the types instead
// would add milliseconds to every start of the program.
//
// In lines "type N field:child:flags:keys", the flag m merges a list by its items' keys, or by
// its values without keys; k retains only listed keys; p replaces. The first of the keys is
// the patchMergeKey; "protocol=TCP" is a key with its default, and "name=" an optional key.
// "|a,b" in a type is a union of fields, and "|type,X=a,Y=b" a union with the discriminator
// type.
//
//go:embed kinds.txt
var kindsText string

// node describes how the fields of one type merge. Fields that it does not contain, and all
// fields of nil, merge by the type of their value.
type node struct {
	fields map[string]field
	unions []union
}

// union is a group of fields of a map of which the server accepts one.
type union struct {
	by      string // the discriminator field, or ""
	members []member
}

type member struct {
	name string
	when string // the value of the discriminator for this field
}

// field describes how one field merges.
type field struct {
	node       *node // of the map, or of the list's items
	merge      bool  // a list, merged by key; by value where key is ""
	retain     bool  // a map whose other keys are removed when anything changes ($retainKeys)
	replace    bool  // a map that is replaced as a whole
	key        string
	keyDefault any       // the value of an omitted key, or nil if the key is required
	more       []listKey // the other keys of a list's item
	position   position
}

// listKey is a field that identifies a list's items.
type listKey struct {
	name         string
	defaultValue any // the server's default, or nil if there is none
}

// position is the position of a map that has fields which no manifest can change.
type position byte

const (
	inside     position = iota // any other map
	top                        // the object itself
	inMetadata                 // its metadata
	inLabels                   // its labels or annotations
)

func (n *node) field(name string) field {
	if n == nil {
		return field{}
	}
	return n.fields[name]
}

// subfield returns how a field of f's map merges.
func (f field) subfield(key string) field {
	b := f.node.field(key)
	if f.position == top && key == "metadata" {
		b.position = inMetadata
	}
	if f.position == inMetadata && isLabelKey(key) {
		b.position = inLabels
	}
	return b
}

// skips reports whether no manifest can change key: the server sets it, or it identifies the
// object.
func (f field) skips(key string) bool {
	switch f.position {
	case top:
		return key == "apiVersion" || key == "kind" || key == "status"
	case inMetadata:
		switch key {
		case "name", "namespace", "generateName", "managedFields", "uid", "resourceVersion", "generation",
			"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink":
			return true
		}
	}
	return false
}

// table is the parsed kindsText.
type table struct {
	kinds map[string]*node // by "apiVersion kind"
	// maps are the names of fields that are maps and that the API omits if they are empty;
	// quantities are the names of fields with quantities such as "500m".
	maps, quantities map[string]bool
	// plainMaps are the names of fields that are maps of strings, bytes or quantities.
	plainMaps map[string]bool
	// zeros are the names of fields that the API omits if they are false, 0 or ""; open are
	// the names of maps with arbitrary keys.
	zeros, open map[string]bool
}

// kinds parses the table when the first plan is computed.
var kinds = sync.OnceValue(func() *table { return readTable(kindsText) })

func readTable(text string) *table {
	t := &table{kinds: map[string]*node{}}
	var types []*node
	nodeOf := func(id string) *node {
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
			t.plainMaps = set(words[1:])
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
					node:    nodeOf(p[1]),
					merge:   strings.Contains(p[2], "m"),
					retain:  strings.Contains(p[2], "k"),
					replace: strings.Contains(p[2], "p"),
				}
				if keys := readKeys(p[3]); len(keys) > 0 {
					f.key, f.keyDefault, f.more = keys[0].name, keys[0].defaultValue, keys[1:]
				}
				n.fields[p[0]] = f
			}
			types = append(types, n)
		case "kinds":
			for _, w := range words[2:] {
				kind, id, _ := strings.Cut(w, "=")
				t.kinds[words[1]+" "+kind] = nodeOf(id)
			}
		}
	}
	return t
}

// readKeys parses "port,protocol=TCP".
func readKeys(text string) (keys []listKey) {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		name, fallback, has := strings.Cut(word, "=")
		k := listKey{name: name}
		if has {
			k.defaultValue = fallback
		}
		keys = append(keys, k)
	}
	return keys
}

// readUnion parses "value,valueFrom", or "type,RollingUpdate=rollingUpdate".
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
