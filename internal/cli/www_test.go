// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveWWW serves a script's directory www at $WWW, and at $WWW_ELSEWHERE under another host name.
// /private/ requires the user anna with the password "secret"; /elsewhere/ redirects to the other
// host. www.log has a line for each request: the path and the user.
func serveWWW(env *testscript.Env) {
	var mu sync.Mutex
	directory := http.FileServer(http.Dir(filepath.Join(env.WorkDir, "www")))
	elsewhere := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		mu.Lock()
		if f, err := os.OpenFile(filepath.Join(env.WorkDir, "www.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			fmt.Fprintln(f, strings.TrimSpace(r.URL.RequestURI()+" "+user))
			f.Close()
		}
		mu.Unlock()
		switch path, away := strings.CutPrefix(r.URL.Path, "/elsewhere/"); {
		case away:
			http.Redirect(w, r, elsewhere+"/"+path, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/private/") && (user != "anna" || password != "secret"):
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			directory.ServeHTTP(w, r)
		}
	}))
	elsewhere = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	env.Setenv("WWW", s.URL)
	env.Setenv("WWW_ELSEWHERE", elsewhere)
	env.Defer(s.Close)
}
