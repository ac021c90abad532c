// SPDX-License-Identifier: Apache-2.0

package mutated

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator generates one case.
type generator struct {
	*rand.Rand
	s *Source
}

// Generate returns a case by its number and seed, always the same one. One case in 16 is of an
// umbrella, if there are any.
func Generate(charts, umbrellas []*Source, seed, number uint64) *Case {
	from := charts
	if number%16 == 15 && len(umbrellas) > 0 {
		from = umbrellas
	}
	r := rand.New(rand.NewPCG(seed, number))
	g := generator{r, from[r.IntN(len(from))]}
	c := &Case{Chart: g.s, Name: "rel", Namespace: "ns", KubeVersion: "1.36.0"}
	if g.IntN(4) == 0 {
		g.flags(c)
	}
	form := Form(g.IntN(int(forms)))
	if g.IntN(2) == 0 {
		form = InFile
	}
	for range g.count() {
		if g.IntN(3) == 0 {
			form = Form(g.IntN(int(forms)))
		}
		e := g.edit()
		e.Form = form
		if _, removed := e.Value.(Removed); removed {
			e.Form = InDefaults
		}
		c.Edits = append(c.Edits, e)
	}
	if len(g.s.bools) > 0 && g.IntN(6) == 0 { // switch several features at once
		share := g.IntN(40)
		for _, path := range g.s.bools {
			if g.IntN(100) < share {
				v, _ := g.s.at(path)
				c.Edits = append(c.Edits, Edit{path, v != true, form})
			}
		}
	}
	return c
}

// count returns the number of edits of a case, which is usually small because the first failure
// hides later ones.
func (g generator) count() int {
	n := 1
	for n < 12 && g.IntN(3) > 0 {
		n++
	}
	return n
}

func (g generator) flags(c *Case) {
	names := []string{"rel", "r", "my-release", "release-name", "x1", strings.Repeat("long-", 10) + "abc",
		"a.b", "1", "UPPER", "-"}
	c.Name = names[g.IntN(len(names))]
	if g.IntN(3) == 0 {
		c.Name = g.s.loaded.Name() // templates shorten names with it
	}
	c.Namespace = []string{"ns", "default", "kube-system"}[g.IntN(3)]
	versions := []string{"1.36.0", "v1.36.2", "1.14", "1.16.0", "1.19.3", "1.21.0", "1.25", "1.30.1-gke.100",
		"1.30.0+k3s1", "2.0.0", "x"}
	c.KubeVersion = versions[g.IntN(len(versions))]
	apis := []string{
		"monitoring.coreos.com/v1", "monitoring.coreos.com/v1/ServiceMonitor", "cert-manager.io/v1",
		"route.openshift.io/v1",
		"security.openshift.io/v1", "policy/v1beta1", "networking.k8s.io/v1beta1/Ingress",
		"autoscaling.k8s.io/v1/VerticalPodAutoscaler",
	}
	for range g.IntN(4) {
		c.APIVersions = append(c.APIVersions, apis[g.IntN(len(apis))])
	}
	c.IsUpgrade, c.IncludeCRDs, c.SkipSchema = g.IntN(3) == 0, g.IntN(3) == 0, g.IntN(3) == 0
}

// edit returns an edit of a random value.
func (g generator) edit() Edit {
	s := g.s
	switch k := g.IntN(100); {
	case k < 25 && len(s.bools) > 0:
		path := s.bools[g.IntN(len(s.bools))]
		v, _ := s.at(path)
		if g.IntN(8) == 0 {
			return Edit{Path: path, Value: g.any()}
		}
		return Edit{Path: path, Value: v != true}
	case k < 38 && len(s.mined) > 0:
		path := s.mined[g.IntN(len(s.mined))]
		if v, ok := s.at(path); ok && g.IntN(2) == 0 {
			return Edit{Path: path, Value: g.mutate(v)}
		}
		return Edit{Path: path, Value: g.any()}
	case k < 42:
		return g.global()
	case k < 45:
		return g.tag()
	case len(s.paths) > 0:
		path := s.paths[g.IntN(len(s.paths))]
		if g.IntN(12) == 0 {
			path = append(path[:len(path):len(path)], g.key())
		}
		v, _ := s.at(path)
		return Edit{Path: path, Value: g.mutate(v)}
	}
	return Edit{Path: []string{g.key()}, Value: g.any()}
}

func (g generator) global() Edit {
	keys := []string{"imageRegistry", "imagePullSecrets", "storageClass", "defaultStorageClass",
		"compatibility", "security", "postgresql", "redis", "image", "x"}
	path := []string{"global"}
	if len(g.s.subs) > 0 && g.IntN(4) == 0 {
		path = []string{g.s.subs[g.IntN(len(g.s.subs))], "global"}
	}
	if g.IntN(10) == 0 {
		return Edit{Path: path, Value: g.any()}
	}
	path = append(path, keys[g.IntN(len(keys))])
	if g.IntN(3) == 0 {
		path = append(path, g.key())
	}
	return Edit{Path: path, Value: g.any()}
}

func (g generator) tag() Edit {
	tags := append([]string{"x"}, g.s.tags...)
	return Edit{Path: []string{"tags", tags[g.IntN(len(tags))]}, Value: []any{true, false, false, nil, "false",
		"yes", Raw("no")}[g.IntN(7)]}
}

// key returns the name of a value of the chart, or another name.
func (g generator) key() string {
	if len(g.s.paths) > 0 && g.IntN(2) == 0 {
		p := g.s.paths[g.IntN(len(g.s.paths))]
		return p[len(p)-1]
	}
	keys := []string{"enabled", "name", "x", "a.b", "a,b", "a=b", "true", "1", "é", "", "null", "with space", "A", "~"}
	return keys[g.IntN(len(keys))]
}

// mutate returns another value in place of v, mostly of the same type, as users write.
func (g generator) mutate(v any) any {
	if g.IntN(100) < 40 {
		return g.any()
	}
	switch v := v.(type) {
	case bool:
		return !v
	case string:
		return g.text(v)
	case int:
		return []any{v + 1, v - 1, v * 10, -v, 0, v * 1000003, Raw("0x1F"), Raw("0o17"), Raw("1e3"),
			float64(v) + 0.5}[g.IntN(10)]
	case float64:
		return []any{v + 1, -v, v * 1e10, v / 3, 0}[g.IntN(5)]
	case []any:
		return g.items(v)
	case map[string]any:
		return g.members(v)
	}
	return g.any()
}

func (g generator) items(v []any) any {
	v = clone(v).([]any)
	switch k := g.IntN(6); {
	case len(v) == 0 || k == 0:
		return append(v, g.any())
	case k == 1:
		return append(v, v[g.IntN(len(v))])
	case k == 2:
		i := g.IntN(len(v))
		return slices.Delete(v, i, i+1)
	case k == 3:
		slices.Reverse(v)
	default:
		i := g.IntN(len(v))
		v[i] = g.mutate(v[i])
	}
	return v
}

func (g generator) members(v map[string]any) any {
	v = clone(v).(map[string]any)
	keys := slices.Sorted(maps.Keys(v))
	switch k := g.IntN(4); {
	case len(keys) == 0 || k == 0:
		v[g.key()] = g.any()
	case k == 1:
		v[keys[g.IntN(len(keys))]] = nil
	default:
		k := keys[g.IntN(len(keys))]
		v[k] = g.mutate(v[k])
	}
	return v
}

// text returns another string in place of s.
func (g generator) text(old string) string {
	texts := []string{
		"", "x", "8080", "true", "null", "0777", "1e3", "12345678", "1.10", "a: b", "a #b", "- a",
		"{{ .Release.Name }}", "{{ .Values.x }}",
		`{{ include "nothing" . }}`, `{{ "quoted" | quote }}`, "{{", "{{ fail \"no\" }}", "line one\nline two",
		"line one\nline two\n", "end\n\n",
		"\n first\n", "  indented\nless\n", "tab\tinside", "\ttab", "trailing ", " leading", "é ü 漢字 🎉",
		"\u00a0\u200b", "it's", `say "hi"`,
		`back\slash`, "%s %d", "a,b,c", "*", "&a", "!x", "|", ">", "@", "`", "~", "-", "---", "...",
		"key: [a, b]\n", "#!/bin/sh\nset -e\n",
		strings.Repeat("long ", 4000), strings.Repeat("x", 300), "10Gi", "100m", "5s", "1.2.3", "latest",
		"sha256:abc", "docker.io/x/y:1.0",
		"http://a.b/c?d=e&f=g", "yes", "off", "2020-01-01", "0x1F", "1_000", ".5", "+1", "NaN", ".inf", "a b",
		"A", "a--b", "=", "<<", "[]", "{}", "\r\n",
	}
	if g.IntN(6) == 0 {
		return old + texts[g.IntN(len(texts))]
	}
	return texts[g.IntN(len(texts))]
}

// any returns a random value of any type.
func (g generator) any() any {
	scalars := []any{
		nil, nil, "", 0, 1, -1, 1.5, 8080, 65536, 1000000, 12345678901, 9007199254740993, 1e21, 0.1, true, false,
		Raw("~"), Raw("yes"), Raw("off"), Raw("0777"), Raw("0o17"), Raw("1e3"), Raw("1_000"), Raw(".5"),
		Raw("2020-01-01"), Raw("0x1F"), Raw("+1"), Raw("1."),
	}
	switch k := g.IntN(20); {
	case k < 8:
		return scalars[g.IntN(len(scalars))]
	case k < 11:
		return g.text("")
	case k == 11:
		return []any{}
	case k == 12:
		return map[string]any{}
	case k < 15:
		return []any{g.any()}
	case k < 17:
		return map[string]any{g.key(): g.any()}
	case k == 17:
		return []any{map[string]any{"name": g.text("n"), "value": g.text("v")}, map[string]any{"name": "second",
			g.key(): g.any()}}
	case k == 18 && len(g.s.bools) > 0 && g.IntN(3) == 0:
		return Removed{}
	}
	if len(g.s.paths) > 0 { // the value of another key
		v, _ := g.s.at(g.s.paths[g.IntN(len(g.s.paths))])
		return clone(v)
	}
	return g.text("")
}
