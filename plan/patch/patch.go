// SPDX-License-Identifier: Apache-2.0

// Package patch changes rendered objects by patches in the syntax of kustomize: strategic merge
// patches and JSON 6902 patches, for the objects that a target selects.
//
//	file, err := patch.Read("fix.yaml", text, readBeside) // the files that it names by path, too
//	...
//	patches, err := file.Patches()
//	...
//	patcher := patch.New(objects, "shop")
//	for _, p := range patches {
//		changes, err := patcher.Apply(p)
//		...
//		fmt.Println(p, changes) // fix.yaml:3 [Deployment/web: spec.replicas]
//	}
//	objects, err = patcher.Objects()
//
// A file is a kustomization with the fields patches, patchesStrategicMerge and patchesJson6902, or a
// list as in patches, or strategic merge patches as they stand, each of which names its target by
// apiVersion, kind and name. [OfCharts] returns the patches in the directories patches/ of charts.
//
// The package reads no files and knows no cluster. [plan.ApplyStrategic] merges; objects that a patch
// does not change keep their text, and others the parts and comments that it does not change.
package patch

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A File is a file of patches with the files that it names. Its JSON is a part of release records.
type File struct {
	// Name is the path or URL that the user gave.
	Name string `json:"name"`
	Text string `json:"text"`
	// Files are the texts of the files that the patches name by path, by these paths.
	Files map[string]string `json:"files,omitempty"`
	// AllowMissing accepts patches whose target matches no object.
	AllowMissing bool `json:"allowMissing,omitempty"`

	// parsed are the patches that [Read] has found, so that they are parsed once.
	parsed []*Patch
}

// Read returns the file of patches with the given text. It reads the files that the text names by
// path with read; their paths are relative to the file and do not leave its directory. Errors are
// those of read, and [*SyntaxError].
func Read(name string, text []byte, read func(path string) ([]byte, error)) (File, error) {
	f := File{Name: name, Text: string(text)}
	var err error
	f.parsed, err = f.parse(func(path string) (string, error) {
		if err := checkPath(path); err != nil {
			return "", err
		}
		text, err := read(path)
		if err != nil {
			return "", err
		}
		if f.Files == nil {
			f.Files = map[string]string{}
		}
		f.Files[path] = string(text)
		return string(text), nil
	})
	return f, err
}

// Patches returns the patches of the file, in the order in which they apply. An error is a
// [*SyntaxError].
func (f File) Patches() ([]*Patch, error) {
	if f.parsed != nil {
		return f.allowMissing(f.parsed), nil
	}
	patches, err := f.parse(func(path string) (string, error) {
		text, ok := f.Files[path]
		if !ok {
			return "", fmt.Errorf("the file %s is not recorded", path)
		}
		return text, nil
	})
	if err != nil {
		return nil, err
	}
	return f.allowMissing(patches), nil
}

// allowMissing returns copies of patches with the option of the file.
func (f File) allowMissing(patches []*Patch) []*Patch {
	out := make([]*Patch, len(patches))
	for i, p := range patches {
		copied := *p
		copied.missing = f.AllowMissing
		out[i] = &copied
	}
	return out
}

// Merge returns last with the files over: a file of the same name takes the place of the earlier
// one, others follow.
func Merge(last, over []File) []File {
	out := slices.Clone(last)
	for _, f := range over {
		if i := slices.IndexFunc(out, func(o File) bool { return o.Name == f.Name }); i >= 0 {
			out[i] = f
		} else {
			out = append(out, f)
		}
	}
	return out
}

// Record returns files as JSON for a release record, or nil if there are none.
func Record(files []File) (json.RawMessage, error) {
	if len(files) == 0 {
		return nil, nil
	}
	return json.Marshal(files)
}

// Recorded returns the files that [Record] has written; none for nil.
func Recorded(raw json.RawMessage) ([]File, error) {
	if raw == nil {
		return nil, nil
	}
	var files []File
	if err := json.Unmarshal(raw, &files); err != nil {
		return nil, fmt.Errorf("read the patches of the record: %w", err)
	}
	return files, nil
}

// A Patch changes the objects that its target selects.
type Patch struct {
	// File and Line are the place of the patch. The file of a chart's patch is in the chart's path:
	// "web/patches/db.yaml".
	File string
	Line int

	target     target
	strategic  map[string]any // nil for a JSON 6902 patch
	operations []operation
	// name and kind are what the patch renames an object to, if its options allow that.
	name, kind string
	scope      *scope // nil for every object
	missing    bool   // a target that matches nothing is not an error
	source     span
}

// String returns the place of the patch: "fix.yaml:3".
func (p *Patch) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// AllowMissing has [Patch.Apply] accept that the target matches no object.
func (p *Patch) AllowMissing() { p.missing = true }

// span is the lines of a text that a patch is in, both from 1, last included.
type span struct {
	lines       []string
	first, last int
}
