// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// An IgnoreRule selects differences that are not drift. The zero value selects all.
type IgnoreRule struct {
	text       string
	kind, name string // patterns, "" for any
	manager    string // a pattern, "" for any
	path       []segment
}

// An IgnoreRuleError is returned for a rule that is not valid.
type IgnoreRuleError struct {
	Rule, Problem string
}

func (e *IgnoreRuleError) Error() string {
	return fmt.Sprintf("%q does not say what to ignore: %s", e.Rule, e.Problem)
}

// Hint shows the forms of a rule.
func (e *IgnoreRuleError) Hint() string {
	return "a rule is a path (spec.replicas), KIND, KIND/NAME, either with :PATH after it " +
		"(Deployment/web:spec.replicas), or manager=NAME; * stands for any text in KIND and NAME"
}

// ParseIgnoreRule parses a rule: a path ("spec.replicas", or as a JSON pointer "/spec/replicas"), a
// kind and name ("Deployment", "Deployment/web", "*/web-*"), both ("Deployment/web:spec.replicas"), or
// a field manager ("manager=kubectl-edit"). A path selects the field and all fields below it. It
// returns an [*IgnoreRuleError] for other text.
func ParseIgnoreRule(text string) (IgnoreRule, error) {
	r := IgnoreRule{text: text}
	fail := func(problem string) (IgnoreRule, error) { return IgnoreRule{}, &IgnoreRuleError{text, problem} }
	if name, is := strings.CutPrefix(text, "manager="); is {
		if r.manager = name; name == "" {
			return fail("the name of the manager is missing")
		}
		return r, checkPattern(text, name)
	}
	if text == "" {
		return fail("it is empty")
	}
	object, field, both := strings.Cut(text, ":")
	if startsPath(text) {
		object, field = "", text
	} else if both && field == "" {
		return fail("the path after the colon is missing")
	}
	r.kind, r.name, _ = strings.Cut(object, "/")
	if strings.HasSuffix(object, "/") {
		return fail("the name after the slash is missing")
	}
	if field != "" {
		var err error
		if r.path, err = parseFieldPath(field); err != nil {
			return fail(err.Error())
		}
	}
	return r, errors.Join(checkPattern(text, r.kind), checkPattern(text, r.name))
}

// startsPath reports whether a rule begins with a path: kinds begin with an upper case letter.
func startsPath(text string) bool {
	return text[0] == '.' || text[0] == '/' || text[0] >= 'a' && text[0] <= 'z'
}

// parseFieldPath parses a path of a plan, or a JSON pointer.
func parseFieldPath(text string) ([]segment, error) {
	if !strings.HasPrefix(text, "/") {
		return parsePath(text)
	}
	var out []segment
	for key := range strings.SplitSeq(text[1:], "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		if key == "" {
			return nil, errors.New("a part of the JSON pointer is empty")
		}
		out = append(out, segment{key, true})
	}
	return out, nil
}

func checkPattern(rule, pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return &IgnoreRuleError{rule, fmt.Sprintf("%q is not a valid pattern", pattern)}
	}
	return nil
}

// String returns the rule as it was parsed.
func (r IgnoreRule) String() string { return r.text }

// matches reports whether the rule selects a field of an object; with a nil path, the whole object.
func (r IgnoreRule) matches(o Ref, field []pathStep, m Manager) bool {
	like := func(pattern, name string) bool {
		ok, _ := path.Match(pattern, name) // the pattern was checked
		return pattern == "" || ok
	}
	if !like(r.kind, o.Kind) || !like(r.name, o.Name) || r.manager != "" && !like(r.manager, m.Name) {
		return false
	}
	if field == nil && (r.path != nil || r.manager != "") {
		return false
	}
	return covers(r.path, field)
}
