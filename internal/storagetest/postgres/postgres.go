// SPDX-License-Identifier: Apache-2.0

// Package postgres starts a PostgreSQL server for a test:
//
//	connection := postgres.Start(t).Database(t) // of an empty database
//
// It uses the installed PostgreSQL. The server listens only on a Unix socket in a temporary
// directory, which also contains its data, and stops when the test's process ends, even if
// that is killed.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/testdeps"
)

// Superuser and Password are the credentials of the server's superuser.
const (
	Superuser = "postgres"
	Password  = "se/cr:et" // contains characters that connection strings must encode
)

// Server is a running server.
type Server struct {
	dir   string
	bin   string
	count atomic.Int32
}

// Start starts a server that is stopped after the test. If PostgreSQL is not installed, it
// calls [testdeps.Missing].
func Start(t testing.TB) *Server {
	t.Helper()
	bin := binaries()
	if bin == "" {
		testdeps.Missing(t, "PostgreSQL")
	}
	// The path of a socket must be short, and another user must be able to open it.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{dir: dir, bin: bin}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.init(t)
	s.run(t)
	return s
}

// binaries returns the directory of the newest installed server, or "" if there is none.
func binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	best, version := "", -1
	for _, path := range found {
		dir := filepath.Dir(path)
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && v > version {
			best, version = dir, v
		}
	}
	if best != "" {
		return best
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

// command returns a command that runs a program of the server as a user other than root,
// because the server refuses to run as root.
func (s *Server) command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(s.bin, name)
	if os.Getuid() != 0 {
		return exec.Command(path, args...)
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			t.Fatalf("start PostgreSQL as root: there is neither a user postgres nor nobody to run it: %v", err)
		}
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	if err := os.Chown(s.dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("setpriv", append([]string{"--reuid=" + who.Uid, "--regid=" + who.Gid, "--clear-groups", path},
		args...)...)
	cmd.Dir = s.dir
	return cmd
}

func (s *Server) init(t testing.TB) {
	t.Helper()
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(Password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := s.command(t, "initdb", "--pgdata="+s.data(), "--username="+Superuser, "--pwfile="+password,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(t testing.TB) {
	t.Helper()
	var log bytes.Buffer
	// The shell stops the server when its standard input is closed, which happens at the
	// latest when this process ends.
	server := s.command(t, "postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "max_connections=60", "-c", "shared_buffers=32MB",
		// Each new database writes 7 MB to the log of changes, of which up to 1 GB is kept by default.
		"-c", "max_wal_size=64MB", "-c", "min_wal_size=32MB")
	cmd := exec.Command("sh", append([]string{"-c",
		`"$@" </dev/null & pid=$!; cat >/dev/null; kill -INT $pid; wait $pid`, "sh"}, server.Args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &log, &log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", tail(log.String()))
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := s.ready(ctx)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("PostgreSQL does not start: %v\n%s", err, readable(s.dir))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// ready returns nil if the server accepts connections.
func (s *Server) ready(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_isready"), "--host="+s.dir, "--quiet").CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// URL returns the connection string of a database for a user.
func (s *Server) URL(database, name, password string) string {
	u := url.URL{Scheme: "postgresql", User: url.UserPassword(name, password), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// Database creates an empty database and returns its connection string for the superuser.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.count.Add(1))
	s.Run(t, Superuser, "CREATE DATABASE "+name)
	return s.URL(name, Superuser, Password)
}

// Run executes SQL statements with psql and returns their output, a line for each row with
// columns separated by "|".
func (s *Server) Run(t testing.TB, database string, statements ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
		"--set=ON_ERROR_STOP=1", s.URL(database, Superuser, Password))
	cmd.Stdin = strings.NewReader(strings.Join(statements, ";\n") + ";\n")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("psql: %v\n%s", err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

// Name returns the name of the database in a connection string of [Server.Database].
func Name(connection string) string {
	u, err := url.Parse(connection)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func readable(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, e := range entries {
		_, _ = io.WriteString(&b, e.Name()+"\n") // cannot fail
	}
	return b.String()
}
