// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func readFake(path string) ([]byte, error) {
	if path == "nope" {
		return nil, fs.ErrNotExist
	}
	return []byte("<" + path + ">"), nil
}

func TestApply(t *testing.T) {
	for _, tc := range []struct {
		mode       Mode
		expr, want string
	}{
		{Set, "a=b", `{"a":"b",}`},
		{Set, "a=b,c=d,", `{"a":"b","c":"d",}`},
		{Set, "", `{}`},
		{Set, "a.b.c=d,a.b.e=f", `{"a":{"b":{"c":"d","e":"f",},},}`},
		{Set, "a=", `{"a":"",}`},
		{Set, "=b", `{}`},
		{Set, "i=42,n=-1,z=0,id=007,f=1.5,big=9223372036854775808", `{"big":"9223372036854775808","f":"1.5","i":int64(42),"id":"007","n":int64(-1),"z":int64(0),}`},
		{Set, "t=true,T=TRUE,f=False,n=null,y=yes", `{"T":bool(true),"f":bool(false),"n":nil,"t":bool(true),"y":"yes",}`},
		{Set, "l={a,1,true,null}", `{"l":["a",int64(1),bool(true),nil,],}`},
		{Set, "l={}", `{"l":["",],}`},
		{Set, "l[0]", `{"l":[],}`},
		{Set, "l={a,b},m=c", `{"l":["a","b",],"m":"c",}`},
		{Set, "l[2]=c", `{"l":[nil,nil,"c",],}`},
		{Set, "l[0].a=1,l[0].b=2,l[1][0]=x", `{"l":[{"a":int64(1),"b":int64(2),},["x",],],}`},
		{Set, `a\.b=c,d=e\,f,g\=h=i`, `{"a.b":"c","d":"e,f","g=h":"i",}`},
		{Set, `l={a\,b,c\}d}`, `{"l":["a,b","c}d",],}`},
		{Set, `a=\{b\}`, `{"a":"{b}",}`},
		{Set, "a.b=1,a.=x,a..c=2,a.[0]=3", `{"a":{"b":int64(1),},}`},
		{Set, "a[0].=1,a[1].b=2,a[1].=3", `{"a":[{},{"b":int64(2),},],}`},
		{Set, "a=null,a.b=1", `{"a":{"b":int64(1),},}`},
		{SetString, "a=1,b=true,c=null,d={1,2}", `{"a":"1","b":"true","c":"null","d":["1","2",],}`},
		{SetJSON, `a={"b":[1,null]},c=2.5 , d="x,y"`, `{" d":"x,y","a":{"b":[float64(1),nil,],},"c":float64(2.5),}`},
		{SetJSON, `{"a":{"b":1},"c":null}`, `{"a":{"b":float64(1),},"c":nil,}`},
		{SetJSON, "a=", `{"a":nil,}`},
		{SetFile, "a=x.txt,b.c=y", `{"a":"<x.txt>","b":{"c":"<y>",},}`},
		{SetFile, "a=", `{"a":"",}`},
		{SetLiteral, `a.b=1,c=\d{}`, `{"a":{"b":"1,c=\\d{}",},}`},
		{SetLiteral, "a[1]=null", `{"a":[nil,"null",],}`},
	} {
		t.Run(tc.mode.String()+" "+tc.expr, func(t *testing.T) {
			got := map[string]any{}
			if err := Apply(got, tc.mode, tc.expr, readFake); err != nil {
				t.Fatal(err)
			}
			if dump(got) != tc.want {
				t.Errorf("got  %s\nwant %s", dump(got), tc.want)
			}
		})
	}
}

func TestApplyExistingValues(t *testing.T) {
	dst := map[string]any{"a": map[string]any{"x": 1.0}, "l": []any{"p", map[string]any{"q": 1.0}}, "j": map[string]any{"k": 1.0, "m": 1.0}}
	for _, step := range []struct {
		mode Mode
		expr string
	}{{Set, "a.y=2"}, {Set, "l[1].r=3,l[3]=s"}, {Set, "a.x=null"}, {SetJSON, `{"j":{"k":2}}`}} {
		t.Run(step.expr, func(t *testing.T) {
			if err := Apply(dst, step.mode, step.expr, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	const want = `{"a":{"x":nil,"y":int64(2),},"j":{"k":float64(2),"m":float64(1),},"l":["p",{"q":float64(1),"r":int64(3),},nil,"s",],}`
	if dump(dst) != want {
		t.Errorf("got  %s\nwant %s", dump(dst), want)
	}
}

func TestApplyErrors(t *testing.T) {
	for _, tc := range []struct {
		mode       Mode
		expr, want string
	}{
		{Set, "a", `failed parsing --set data: key "a" has no value (in "a")`},
		{Set, "a=b,c", `failed parsing --set data: key "c" has no value (in "a=b,c")`},
		{Set, "a=b,,c=d", `failed parsing --set data: key "" has no value (in "a=b,,c=d")`},
		{Set, "a[0].b.=c", `failed parsing --set data: a key is empty (in "a[0].b.=c")`},
		{SetLiteral, "a.=", `failed parsing --set-literal data: a key is empty (in "a.=")`},
		{SetJSON, `a.=""`, `failed parsing --set-json data: a key is empty (in "a.=\"\"")`},
		{Set, "a.=b", `failed parsing --set data: a key is empty (in "a.=b")`},
		{Set, "a[x]=b", `failed parsing --set data: the index [x] is not a whole number (in "a[x]=b")`},
		{Set, "a[-1]=b", `failed parsing --set data: the index [-1] is negative (in "a[-1]=b")`},
		{Set, "a[1=b", `failed parsing --set data: the index [1=b is not closed with ']' (in "a[1=b")`},
		{Set, "a[0]b=c", `failed parsing --set data: "b" follows an index, only '=', '.' or '[' may (in "a[0]b=c")`},
		{Set, "a={b", `failed parsing --set data: a list is not closed with '}' (in "a={b")`},
		{Set, "a=1,a.b=2", `failed parsing --set data: cannot set a key below "a", which is a number (in "a=1,a.b=2")`},
		{Set, "a=x,a[0]=2", `failed parsing --set data: cannot set an index of "a", which is a string (in "a=x,a[0]=2")`},
		{Set, "a[99999999]=1", `failed parsing --set data: the index [99999999] is higher than 65536 (in "a[99999999]=1")`},
		{Set, "a[65537]=1", `failed parsing --set data: the index [65537] is higher than 65536 (in "a[65537]=1")`},
		{SetJSON, "a={", `failed parsing --set-json data: the value is not JSON: it ends too early (in "a={")`},
		{SetJSON, "a=x", `failed parsing --set-json data: the value is not JSON: invalid character 'x' looking for beginning of value (in "a=x")`},
		{SetJSON, `{"a":1}x`, `failed parsing --set-json data: is not JSON: invalid character 'x' after top-level value (in "{\"a\":1}x")`},
		{SetJSON, "[1]", `failed parsing --set-json data: is a JSON list, must be key=JSON or one JSON object (in "[1]")`},
		{SetFile, "a=nope", `failed parsing --set-file data: read "nope": file does not exist (in "a=nope")`},
	} {
		t.Run(tc.expr, func(t *testing.T) {
			err := Apply(map[string]any{}, tc.mode, tc.expr, readFake)
			var bad *SetError
			if !errors.As(err, &bad) || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
	if err := Apply(map[string]any{}, SetFile, "a=nope", readFake); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

// CVE-2022-23524 and CVE-2022-36055: depth and indexes are limited.
func TestApplyLimits(t *testing.T) {
	for _, expr := range []string{
		strings.Repeat("a.", 5000) + "a=1", "a" + strings.Repeat("[0]", 100000) + "=1", strings.Repeat("a[0].", 100000) + "a=1",
		"a" + strings.Repeat("[65536]", 31) + "=1",
	} {
		err := Apply(map[string]any{}, Set, expr, nil)
		if err == nil || !strings.Contains(err.Error(), "nests deeper than 30 levels") || len(err.Error()) > 300 {
			t.Errorf("got %.400v", err)
		}
	}
	if err := Apply(map[string]any{}, Set, strings.Repeat("a.", 30)+"a=1", nil); err != nil {
		t.Errorf("thirty levels: %v", err)
	}
	dst := map[string]any{}
	if err := Apply(dst, Set, "a[65536]=x", nil); err != nil || len(dst["a"].([]any)) != 65537 {
		t.Errorf("the highest index: %v", err)
	}
}

func TestOptionsBuild(t *testing.T) {
	files := map[string]string{"one.yaml": "a: {x: 1, v: 1}\nb: 1\n", "-": "a: {v: 2, z: null}\nb: null\n", "key.pem": "secret", "bad.yaml": "a: [\n"}
	read := func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
		}
		return []byte(text), nil
	}
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"nothing":                       {Options{}, `{}`},
		"later files win, nulls stay":   {Options{Files: []string{"one.yaml", "-"}}, `{"a":{"v":float64(2),"x":float64(1),"z":nil,},"b":nil,}`},
		"flags win over files":          {Options{Files: []string{"one.yaml"}, Set: []string{"a.x=5"}}, `{"a":{"v":float64(1),"x":int64(5),},"b":float64(1),}`},
		"--set over --set-json":         {Options{JSON: []string{"x=1"}, Set: []string{"x=2"}}, `{"x":int64(2),}`},
		"--set-string over --set":       {Options{Set: []string{"x=1"}, String: []string{"x=2"}}, `{"x":"2",}`},
		"--set-file over --set-string":  {Options{String: []string{"x=1"}, File: []string{"x=key.pem"}}, `{"x":"secret",}`},
		"--set-literal over --set-file": {Options{File: []string{"x=key.pem"}, Literal: []string{"x=y"}}, `{"x":"y",}`},
		"of one kind the last wins":     {Options{Set: []string{"x=1", "x=2"}}, `{"x":int64(2),}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.o.Build(read)
			if err != nil {
				t.Fatal(err)
			}
			if dump(got) != tc.want {
				t.Errorf("got  %s\nwant %s", dump(got), tc.want)
			}
		})
	}
	for _, o := range []Options{{Files: []string{"none.yaml"}}, {Files: []string{"bad.yaml"}}, {Set: []string{"a"}}, {File: []string{"a=none"}}} {
		if _, err := o.Build(read); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := (Options{Files: []string{"x"}}).Build(nil); err == nil {
		t.Error("no reader, no error")
	}
}
