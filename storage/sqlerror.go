// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgreSQL's codes of errors that mean something to us.
const (
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
	duplicateObject = "42710"
	stringTooLong   = "22001"
	forbidden       = "42501"
	noPassword      = "28000"
	wrongPassword   = "28P01"
	noDatabase      = "3D000"
	tooManyClients  = "53300"
)

var errSlow = fmt.Errorf("no answer within %s", answerTime)

// A DatabaseError is returned when a database refuses a request or cannot be reached. Its
// text has no password.
type DatabaseError struct {
	Doing  string // "list releases"
	Where  string // "PostgreSQL on db:5432, database helm, user ann"
	Reason string
	Err    error // the driver's own error, whose text is not shown
}

func (e *DatabaseError) Error() string { return e.Doing + ": " + e.Where + ": " + e.Reason }

func (e *DatabaseError) Unwrap() error { return e.Err }

func place(c *pgconn.Config) string {
	host := net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	if strings.HasPrefix(c.Host, "/") {
		host = c.Host
	}
	database := c.Database
	if database == "" {
		database = c.User
	}
	return fmt.Sprintf("PostgreSQL on %s, database %q, user %q", host, database, c.User)
}

// explain makes an error of what doing came to.
func (d *database) explain(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrExists):
		return err
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow):
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	e := &DatabaseError{Doing: doing, Where: d.where, Err: err}
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		e.Reason = errSlow.Error()
	case errors.As(err, &pg):
		e.Reason = pg.Message + hint(pg.Code)
	case errors.As(err, &connect):
		e.Reason = "cannot connect: " + innermost(err)
		if d.config.ConnString() == "" {
			e.Reason += "; no connection string is set"
		}
		if strings.Contains(e.Reason, "refused TLS") {
			e.Reason += "; where that is meant to be so, add sslmode=disable to the connection string"
		}
	default:
		e.Reason = innermost(err)
	}
	return e
}

// hint says what to do about an error.
func hint(code string) string {
	switch code {
	case wrongPassword, noPassword:
		return "; check user and password in the connection string"
	case noDatabase:
		return "; create it, or check the name in the connection string"
	case tooManyClients:
		return "; try again later, or put a connection pooler before the database"
	case forbidden:
		return "; the tables of releases (releases_v1, custom_labels_v1, gorp_migrations) must belong to the user, or to a " +
			"role that the user is a member of"
	case stringTooLong:
		return "; let the owner of the database run: ALTER TABLE custom_labels_v1 ALTER COLUMN releasekey TYPE varchar(90)"
	}
	return ""
}

// innermost is the text of the error at the end of the chain, which is the one
// that knows why; those around it repeat where.
func innermost(err error) string {
	for {
		var op *net.OpError
		if errors.As(err, &op) {
			return op.Err.Error()
		}
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			next = joined.Unwrap()[0]
		}
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
