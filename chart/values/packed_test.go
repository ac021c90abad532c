// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// packing packs and unpacks the origins of a release of a chart with the given values.
func packing(t *testing.T, options Options, files map[string]string) (final *Origins, size int) {
	t.Helper()
	db := originChart(t, "db", "port: 5432\nglobal: {zone: b}\nexports: {data: {url: 'db:5432'}}\n", nil)
	c := originChart(t, "web", "image:\n  tag: \"1\"\nports: [80]\nglobal: {zone: a}\nnothing: null\nempty: {}\n", nil, db)
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("not there")
	}
	config, err := options.Build(read)
	if err != nil {
		t.Fatal(err)
	}
	user, err := options.Origins(read)
	if err != nil {
		t.Fatal(err)
	}
	_, defaults, err := user.Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := PackOrigins(config, user, c.Values, defaults)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", data)
	gotUser, gotDefaults, err := UnpackOrigins(data, config, c.Values, nil)
	if err != nil {
		t.Fatal(err)
	}
	final, _, err = gotUser.Resolve(c, gotDefaults)
	if err != nil {
		t.Fatal(err)
	}
	return final, len(data)
}

func TestPackOrigins(t *testing.T) {
	final, size := packing(t, Options{
		Files: []string{"prod.yaml", "https://user:secret@example.org/more.yaml?token=secret"},
		Set:   []string{"image.tag=3,password=secret"},
	}, map[string]string{
		"prod.yaml": "image:\n  tag: \"2\"\ndb:\n  port: 1\n",
		"https://user:secret@example.org/more.yaml?token=secret": "ports: [1]\n",
	})
	if size > 300 {
		t.Errorf("the origins take %d bytes", size)
	}
	for path, want := range map[string][]string{
		"image.tag":      {"--set image.tag", "prod.yaml:2", "web/values.yaml:2"},
		"password":       {"--set password"},
		"ports":          {"https://example.org/more.yaml:1", "web/values.yaml:3"},
		"db.port":        {"prod.yaml:4", "web/charts/db/values.yaml:1"},
		"nothing":        nil,
		"db.global.zone": {"web/values.yaml:4", "web/charts/db/values.yaml:2"},
	} {
		if got := texts(final.Of(strings.Split(path, ".")...)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// Origins that were written for other values, or that are no origins, are unknown or an error.
func TestUnpackOriginsOfOtherValues(t *testing.T) {
	vals := map[string]any{"a": 1, "b": map[string]any{"c": 2, "d": "x"}}
	for name, c := range map[string]struct {
		data string
		want []string // the origins of b.c
	}{
		"none":             {"", nil},
		"whole":            {`{"sources":[{"file":"f"}],"config":[1,[2,"0:7"]]}`, []string{"f:3"}},
		"other top":        {`{"sources":[{"file":"f"}],"config":[1,[2,3],4]}`, nil},
		"other table":      {`{"sources":[{"file":"f"}],"config":[1,[2]]}`, nil},
		"scalar for table": {`{"sources":[{"file":"f"}],"config":[1,7]}`, nil},
		"no such source":   {`{"sources":[{"file":"f"}],"config":[1,["9:1",3]]}`, nil},
		"no sources":       {`{"config":[1,[2,3]]}`, nil},
		"nonsense":         {`{"sources":[{"file":"f"}],"config":[1,["x,,:=",{}]]}`, nil},
		"negative":         {`{"sources":[{"file":"f"}],"config":[-5,["0:-1",3]]}`, []string{"f"}},
		"name":             {`{"sources":[{"file":"f"}],"config":[1,["0:1=x%2Ey",3]]}`, []string{"f:1 (x.y)"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := UnpackOrigins([]byte(c.data), vals, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if of := texts(got.Of("b", "c")); !slices.Equal(of, c.want) {
				t.Errorf("got %q, want %q", of, c.want)
			}
		})
	}
	if _, _, err := UnpackOrigins([]byte(`{"sources":1}`), vals, nil, nil); err == nil {
		t.Error("got no error for sources that are a number")
	}
}

func TestFromRevision(t *testing.T) {
	vals := map[string]any{"a": 1, "b": 2}
	old, _, err := UnpackOrigins([]byte(`{"sources":[{"file":"f"}],"config":[1,null]}`), vals, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Options{Set: []string{"b=3,c=4"}}.Origins(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := old.FromRevision(3).FromRevision(5).Override(now)
	for path, want := range map[string][]string{
		"a": {"revision 3: f:1"},
		"b": {"--set b=3,c=4", "revision 3"},
		"c": {"--set b=3,c=4"},
	} {
		if of := texts(got.Of(path)); !slices.Equal(of, want) {
			t.Errorf("%s: got %q, want %q", path, of, want)
		}
	}
}

// TestPackLists: the origins of items of a list that merges are kept with them, and those of other
// lists for the whole list.
func TestPackLists(t *testing.T) {
	c := originChart(t, "web", "ports:\n- {name: http, port: 80}\nother:\n- 1\n", nil)
	c.SchemaYAML = []byte("properties: {ports: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}}")
	lists := ListsOf(c)
	o := Options{Files: []string{"prod.yaml"}, Lists: lists}
	read := func(string) ([]byte, error) {
		return []byte("\nports:\n- name: http\n  port: 8080\n- {name: admin, port: 1}\n"), nil
	}
	config, err := o.Build(read)
	if err != nil {
		t.Fatal(err)
	}
	user, err := o.Origins(read)
	if err != nil {
		t.Fatal(err)
	}
	_, defaults, err := user.Resolve(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := PackOrigins(config, user, c.Values, defaults)
	if err != nil {
		t.Fatal(err)
	}
	user, defaults, err = UnpackOrigins(packed, config, c.Values, lists)
	if err != nil {
		t.Fatal(err)
	}
	final, _, err := user.FromRevision(3).Resolve(c, defaults.FromRevision(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path []string
		want string
	}{
		{[]string{"ports", "[name=http]", "port"}, "revision 3: prod.yaml:4 revision 3: web/values.yaml:2"},
		{[]string{"ports", "[1]", "port"}, "revision 3: prod.yaml:5"},
		{[]string{"other"}, "revision 3: web/values.yaml:3"},
	} {
		t.Run(strings.Join(test.path, "."), func(t *testing.T) {
			if got := strings.Join(texts(final.Of(test.path...)), " "); got != test.want {
				t.Errorf("%v: got %q, want %q", test.path, got, test.want)
			}
		})
	}
}
