// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moonhelm/moonhelm/internal/apiserver"
	"github.com/moonhelm/moonhelm/internal/storagetest"
	"github.com/moonhelm/moonhelm/internal/storagetest/postgres"
	"github.com/moonhelm/moonhelm/release"
	"github.com/moonhelm/moonhelm/storage"
	"github.com/moonhelm/moonhelm/storage/storetest"
)

// database opens a database for the test.
func database(t *testing.T, connection, namespace string) *storage.SQL {
	t.Helper()
	db, err := storage.PostgreSQL(connection, namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	// Rows are distinguished by the second of their creation.
	var requests atomic.Int64
	storage.Clock(db, func() time.Time { return time.Now().Add(time.Duration(requests.Add(1)) * time.Second) })
	return db
}

func TestPostgreSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	server := postgres.Start(t)
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, "a", "b", func(t *testing.T) storetest.Open {
			db := database(t, server.Database(t), "")
			return func(namespace string) storage.Driver { return db.In(namespace) }
		})
	})
	// The same without permission to create our table.
	t.Run("contract without our table", func(t *testing.T) {
		if testing.Short() {
			t.Skip("short: the suite once more")
		}
		server.Run(t, "postgres", "CREATE ROLE guest LOGIN PASSWORD 'guest'")
		storetest.RunWithoutSummaries(t, "a", "b", func(t *testing.T) storetest.Open {
			connection := server.Database(t)
			name := postgres.Name(connection)
			owner := database(t, connection, "a")
			if _, err := owner.List(t.Context(), storage.Query{}); err != nil {
				t.Fatal(err)
			}
			owner.Close()
			server.Run(t, name, "DROP TABLE moonhelm_records_v1", "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
				"GRANT ALL ON releases_v1, custom_labels_v1, gorp_migrations TO guest",
				"ALTER TABLE releases_v1 DISABLE ROW LEVEL SECURITY", "ALTER TABLE custom_labels_v1 DISABLE ROW LEVEL SECURITY")
			db := database(t, server.URL(name, "guest", "guest"), "")
			return func(namespace string) storage.Driver { return db.In(namespace) }
		})
	})
	t.Run("tables", func(t *testing.T) { testTables(t, server) })
	t.Run("start", func(t *testing.T) { testTablesAreMadeOnce(t, server) })
	t.Run("others", func(t *testing.T) { testWhatOthersWrite(t, server) })
	t.Run("generations", func(t *testing.T) { testSQLGenerations(t, server) })
	t.Run("long names", func(t *testing.T) { testLongNames(t, server) })
	t.Run("errors", func(t *testing.T) { testDatabaseErrors(t, server) })
	t.Run("waiting", func(t *testing.T) { testWaiting(t, server) })
	t.Run("helm", func(t *testing.T) { testHelmsTables(t, server) })
}

// layout returns the columns, indexes, row security and migrations of Helm's tables.
const layout = `SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), c.relrowsecurity
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE c.relname IN ('releases_v1', 'custom_labels_v1', 'gorp_migrations') ORDER BY c.relname, a.attnum;
	SELECT indexdef FROM pg_indexes WHERE tablename IN ('releases_v1', 'custom_labels_v1', 'gorp_migrations') ORDER BY 1;
	SELECT id FROM gorp_migrations ORDER BY 1`

const wantLayout = `custom_labels_v1|releasekey|character varying(64)|f||t
custom_labels_v1|releasenamespace|character varying(67)|f||t
custom_labels_v1|key|character varying(317)|f||t
custom_labels_v1|value|character varying(63)|f||t
gorp_migrations|id|text|t||f
gorp_migrations|applied_at|timestamp with time zone|f||f
releases_v1|key|character varying(90)|t||t
releases_v1|type|character varying(64)|t||t
releases_v1|body|text|t||t
releases_v1|name|character varying(64)|t||t
releases_v1|namespace|character varying(64)|t||t
releases_v1|version|integer|t||t
releases_v1|status|text|t||t
releases_v1|owner|text|t||t
releases_v1|createdat|integer|t||t
releases_v1|modifiedat|integer|t|0|t
CREATE INDEX custom_labels_v1_releasekey_releasenamespace_idx ON public.custom_labels_v1 USING btree (releasekey, releasenamespace)
CREATE INDEX releases_v1_createdat_idx ON public.releases_v1 USING btree (createdat)
CREATE INDEX releases_v1_key_namespace_idx ON public.releases_v1 USING btree (key, namespace)
CREATE INDEX releases_v1_modifiedat_idx ON public.releases_v1 USING btree (modifiedat)
CREATE INDEX releases_v1_owner_idx ON public.releases_v1 USING btree (owner)
CREATE INDEX releases_v1_status_idx ON public.releases_v1 USING btree (status)
CREATE INDEX releases_v1_version_idx ON public.releases_v1 USING btree (version)
CREATE UNIQUE INDEX gorp_migrations_pkey ON public.gorp_migrations USING btree (id)
CREATE UNIQUE INDEX releases_v1_pkey ON public.releases_v1 USING btree (key, namespace)
custom_labels
init`

// The tables are the same as those of Helm 3.22 and 4.3.1.
func testTables(t *testing.T, server *postgres.Server) {
	connection := server.Database(t)
	db := database(t, connection, "a")
	r := storetest.Release("a", "web", 1, release.Deployed)
	r.Labels = map[string]string{"team": "blue"}
	if err := storetest.Create(t.Context(), db, storetest.Record(t, r, true)); err != nil {
		t.Fatal(err)
	}
	if got := server.Run(t, postgres.Name(connection), layout); got != wantLayout {
		t.Errorf("the tables are\n%s\nwanted\n%s", got, wantLayout)
	}
	got := server.Run(t, postgres.Name(connection),
		"SELECT key, type, left(body, 6), name, namespace, version, status, owner, createdat > 1700000000, modifiedat FROM releases_v1", "SELECT * FROM custom_labels_v1")
	want := "sh.helm.release.v1.web.v1|helm.sh/release.v1|H4sIAA|web|a|1|deployed|helm|t|0\nsh.helm.release.v1.web.v1|a|team|blue"
	if got != want {
		t.Errorf("the rows are\n%s\nwanted\n%s", got, want)
	}
	if err := db.Delete(t.Context(), storage.Key{Namespace: "a", Name: "web", Revision: 1}, ""); err != nil {
		t.Error(err)
	}
	if got := server.Run(t, postgres.Name(connection), "SELECT key FROM releases_v1 UNION ALL SELECT releasekey FROM custom_labels_v1 UNION ALL SELECT key FROM moonhelm_records_v1"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// Many clients start with an empty database concurrently.
func testTablesAreMadeOnce(t *testing.T, server *postgres.Server) {
	for _, before := range []string{
		"",
		// The tables of a Helm without labels, or of an interrupted one.
		"CREATE TABLE gorp_migrations (id text NOT NULL PRIMARY KEY, applied_at timestamp with time zone)",
		"CREATE TABLE custom_labels_v1 (releasekey varchar(64), releasenamespace varchar(67), key varchar(317), value varchar(63))",
	} {
		connection := server.Database(t)
		if before != "" {
			server.Run(t, postgres.Name(connection), before)
		}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				db, err := storage.PostgreSQL(connection, "a")
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				if err := storage.New(db, "a").Create(t.Context(), storetest.Release("a", "web", i+1, release.Deployed)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := server.Run(t, postgres.Name(connection), "SELECT count(*) FROM releases_v1", "SELECT count(*) FROM gorp_migrations"); got != "10\n2" {
			t.Errorf("after %q: %q", before, got)
		}
	}
}

// The row of our own table is ignored after another client has changed the record.
func testWhatOthersWrite(t *testing.T, server *postgres.Server) {
	connection := server.Database(t)
	db := database(t, connection, "a")
	r := storetest.Release("a", "web", 1, release.PendingUpgrade)
	r.Holder = "Jürgen 💡"
	r.Info.Description = "für 💡"
	if err := storage.New(db, "a").Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	listed := func() storage.Record {
		list, err := db.List(t.Context(), storage.Query{Name: "web"})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if l := listed(); l.Holder != r.Holder || l.Summary == nil || l.Summary.Description != r.Info.Description {
		t.Errorf("listed %+v, summary %+v", l, l.Summary)
	}
	server.Run(t, postgres.Name(connection), "UPDATE releases_v1 SET body = body")
	if l := listed(); l.Summary != nil || l.Holder != "" {
		t.Errorf("listed %+v", l)
	}
	key := storage.Key{Namespace: "a", Name: "web", Revision: 1}
	before, err := db.Heartbeat(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.RenewHeartbeat(t.Context(), storage.Key{Namespace: "a", Name: "web", Revision: 1}, before, r.Holder); err != nil {
		t.Error(err)
	}
	if after, err := db.Heartbeat(t.Context(), storage.Key{Namespace: "a", Name: "web", Revision: 1}); err != nil || after.Token == before.Token {
		t.Errorf("a heartbeat on a record of another holder: %+v, %v", after, err)
	}
	// A time in the future counts as the current time, and keeps that value.
	server.Run(t, postgres.Name(connection), "UPDATE releases_v1 SET createdat = 2000000000, modifiedat = 2100000000")
	first, err := db.Heartbeat(t.Context(), key)
	if err != nil || first.Changed.After(time.Now().Add(time.Minute)) {
		t.Errorf("changed at %s, %v", first.Changed, err)
	}
	if second, err := db.Heartbeat(t.Context(), key); err != nil || second.Changed.Unix() != first.Changed.Unix() {
		t.Errorf("changed at %s, and then at %s, %v", first.Changed, second.Changed, err)
	}
	server.Run(t, postgres.Name(connection), "DELETE FROM releases_v1", "SELECT count(*) FROM moonhelm_records_v1")
}

// testSQLGenerations is testGenerations with rows that another client has inserted.
func testSQLGenerations(t *testing.T, server *postgres.Server) {
	testGenerations(t, func(t *testing.T) (storage.Driver, func(storage.Key, planted)) {
		connection := server.Database(t)
		return database(t, connection, "a"), func(k storage.Key, p planted) {
			if _, err := database(t, connection, "a").List(t.Context(), storage.Query{}); err != nil {
				t.Fatal(err)
			}
			if p.named == "" {
				p.named = "v1"
			}
			if p.format == "" {
				p.format = "helm.sh/release.v1"
			}
			server.Run(t, postgres.Name(connection), fmt.Sprintf(`INSERT INTO releases_v1 (key, type, body, name, namespace, version, status, owner, createdat)
				VALUES ('sh.helm.release.%s.%s.v%d', '%s', '%s', '%s', '%s', %d, '%s', 'helm', 1)`,
				p.named, k.Name, k.Revision, p.format, p.data, k.Name, k.Namespace, k.Revision, p.status))
		}
	})
}

func testLongNames(t *testing.T, server *postgres.Server) {
	db := database(t, server.Database(t), "a")
	r := storetest.Release("a", strings.Repeat("n", 53), 123456, release.Deployed)
	r.Labels = map[string]string{"example.org/" + strings.Repeat("k", 63): strings.Repeat("v", 63)}
	if err := storage.New(db, "a").Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got, err := storage.New(db, "a").Get(t.Context(), r.Name, 0); err != nil || !maps.Equal(got.Labels, r.Labels) {
		t.Errorf("%+v, %v", got, err)
	}
}

func testDatabaseErrors(t *testing.T, server *postgres.Server) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().String()
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never responds
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	plain := noTLS(t)
	server.Run(t, "postgres", "CREATE ROLE reader LOGIN PASSWORD 'reader'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	t.Setenv("PGHOST", "/nonexistent")
	const secret = "s3cr3t"
	for connection, want := range map[string][]string{
		server.URL("postgres", "postgres", secret):                         {"list releases: PostgreSQL on ", `user "postgres"`, "password authentication failed", "check user and password"},
		server.URL("nowhere", "postgres", "se/cr:et"):                      {`database "nowhere" does not exist`, "create it"},
		server.URL("postgres", "reader", "reader"):                         {"permission denied", "must belong to the user"},
		"postgresql://u:" + secret + "@" + refused + "/db?sslmode=disable": {"PostgreSQL on " + refused, "connection refused"},
		"": {"PostgreSQL on /nonexistent", "no connection string is set"},
		"host=/nonexistent user=u password=" + secret:                                       {"PostgreSQL on /nonexistent", "no such file"},
		"postgresql://u:" + secret + "@" + silent.Addr().String() + "/db?connect_timeout=1": {"cannot connect"},
		"postgresql://u:" + secret + "@" + plain + "/db":                                    {"refused TLS", "sslmode=disable"},
	} {
		db := database(t, connection, "a")
		_, err := db.List(t.Context(), storage.Query{})
		var database *storage.DatabaseError
		if !errors.As(err, &database) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q is missing in: %v", w, err)
			}
		}
	}
	for _, connection := range []string{"postgresql://u:" + secret + "/x@db/x", "postgresql://u:" + secret + ":%zz@db:5432/x", "host", "postgresql://u:" + secret + "@db/x?sslmode=no"} {
		if _, err := storage.PostgreSQL(connection, "a"); err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "connection string") {
			t.Errorf("%q: %v", connection, err)
		}
	}
}

// noTLS is the address of a server without TLS.
func noTLS(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 8))
			_, _ = conn.Write([]byte("N"))
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

var errGaveUp = errors.New("given up")

// A call that waits for a database lock ends with its context, and is not executed later.
func testWaiting(t *testing.T, server *postgres.Server) {
	connection := server.Database(t)
	db := database(t, connection, "a")
	st := storage.New(db, "a")
	r := storetest.Release("a", "web", 1, release.PendingInstall)
	if err := st.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		done <- server.Run(t, postgres.Name(connection), "BEGIN", "SELECT 1 FROM releases_v1 FOR UPDATE", "SELECT pg_sleep(3)", "COMMIT")
	}()
	for server.Run(t, postgres.Name(connection), "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE c.relname = 'releases_v1' AND l.mode = 'RowShareLock'") == "0" {
		time.Sleep(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errGaveUp)
	defer cancel()
	r.Info.Status = release.Deployed
	began := time.Now()
	err := st.Update(ctx, r)
	if !errors.Is(err, errGaveUp) || time.Since(began) > 2*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	<-done
	if got, err := st.Get(t.Context(), "web", 1); err != nil || got.Info.Status != release.PendingInstall {
		t.Errorf("the update that was given up was carried out: %+v, %v", got, err)
	}
}

// Both Helms create the tables that we use, use those that we create, and read our records.
func testHelmsTables(t *testing.T, server *postgres.Server) {
	bins := helms(t)
	c := storagetest.Open(t, apiserver.Kubeconfig)
	for helm, bin := range bins {
		for _, first := range []string{"ours", helm} {
			t.Run(fmt.Sprintf("%s, tables of %s", helm, first), func(t *testing.T) {
				connection := server.Database(t)
				t.Setenv("HELM_DRIVER_SQL_CONNECTION_STRING", connection)
				ns := c.Namespace(t)
				ctx, st := t.Context(), storage.New(database(t, connection, ns), ns)
				dir := testChart(t)
				if first == "ours" {
					if _, err := st.List(ctx, storage.Filter{}); err != nil {
						t.Fatal(err)
					}
				}
				run(t, bin, ns, "sql", "install", "web", dir, "-l", "team=blue")
				run(t, bin, ns, "sql", "upgrade", "web", dir, "--set", "port=8080")
				if got := server.Run(t, postgres.Name(connection), layout); got != wantLayout {
					t.Errorf("the tables are\n%s\nwanted\n%s", got, wantLayout)
				}
				list, err := st.List(ctx, storage.Filter{})
				if err != nil || len(list) != 1 || list[0].Revision != 2 || list[0].ChartName() != "nginx-1.2.3" || list[0].Labels["team"] != "blue" {
					t.Errorf("list: %+v, %v", list, err)
				}
				r, err := st.Get(ctx, "web", 0)
				if err != nil {
					t.Fatal(err)
				}
				r.Info.Status = release.Superseded
				if err := st.Update(ctx, r); err != nil {
					t.Fatal(err)
				}
				r.Revision, r.Info.Status, r.Labels = 3, release.Deployed, map[string]string{"team": "red"}
				if err := st.Create(ctx, r); err != nil {
					t.Fatal(err)
				}
				contains(t, run(t, bin, ns, "sql", "list"), "web", "3", "deployed", "nginx-1.2.3")
				contains(t, run(t, bin, ns, "sql", "list", "-l", "team=red", "-q"), "web")
				contains(t, run(t, bin, ns, "sql", "history", "web"), "superseded", "deployed")
				run(t, bin, ns, "sql", "upgrade", "web", dir)
				history, err := st.History(ctx, "web", 0)
				if err != nil || len(history) != 4 || history[2].Status != release.Superseded || history[3].Status != release.Deployed {
					t.Errorf("history: %+v, %v", history, err)
				}
				run(t, bin, ns, "sql", "uninstall", "web")
				left := server.Run(t, postgres.Name(connection), "SELECT key FROM releases_v1 UNION ALL SELECT releasekey FROM custom_labels_v1 UNION ALL SELECT key FROM moonhelm_records_v1")
				if left != "" {
					t.Errorf("left behind: %s", left)
				}
			})
		}
	}
}
