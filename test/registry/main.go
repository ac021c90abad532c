// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
)

func main() {
	var o Options
	user := flag.String("user", "", "name:password that clients need; without it the registry is open")
	addr := flag.String("addr", "", "address to listen on, a free port if not given")
	flag.StringVar(&o.Store, "store", "", "directory for content, memory if not given")
	loud := flag.Bool("log", false, "print requests")
	flag.BoolVar(&o.Token, "token", false, "send users to a token server")
	flag.BoolVar(&o.TLS, "tls", false, "serve HTTPS")
	flag.Parse()
	o.User, o.Password, _ = strings.Cut(*user, ":")
	o.Addr = *addr
	if *loud {
		o.Wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintln(os.Stderr, r.Method, r.URL, r.UserAgent(), "auth", r.Header.Get("Authorization") != "", "accept", r.Header["Accept"])
				next.ServeHTTP(w, r)
			})
		}
	}
	if err := serve(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(o Options) error {
	dir, err := os.MkdirTemp("", "registry")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := Start(dir, o)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("registry:", s.Host, s.CA)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	return nil
}
