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

// PostgreSQL's error codes that are handled.
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

var errTimeout = fmt.Errorf("no answer within %s", operationTimeout)

// A DatabaseError is returned if a database refuses a request or cannot be reached. Its message
// does not contain the password.
type DatabaseError struct {
	Doing  string // "list releases"
	Where  string // "PostgreSQL on db:5432, database helm, user ann"
	Reason string
	Err    error // the error of pgx, which is not part of the message
}

func (e *DatabaseError) Error() string { return e.Doing + ": " + e.Where + ": " + e.Reason }

func (e *DatabaseError) Unwrap() error { return e.Err }

func address(c *pgconn.Config) string {
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

// wrapError returns the error for the operation doing, or nil.
func (d *database) wrapError(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrExists):
		return err
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	e := &DatabaseError{Doing: doing, Where: d.where, Err: err}
	var connect *pgconn.ConnectError
	var pg *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		e.Reason = errTimeout.Error()
	case errors.As(err, &pg):
		e.Reason = pg.Message + codeHint(pg.Code)
	case errors.As(err, &connect):
		e.Reason = "cannot connect: " + rootCause(err)
		if d.config.ConnString() == "" {
			e.Reason += "; no connection string is set"
		}
		if strings.Contains(e.Reason, "refused TLS") {
			e.Reason += "; to connect without encryption, add sslmode=disable to the connection string"
		}
	default:
		e.Reason = rootCause(err)
	}
	return e
}

// codeHint returns advice for an error code.
func codeHint(code string) string {
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

// rootCause returns the message of the last error in the chain, which has the cause; the others
// repeat the address.
func rootCause(err error) string {
	for {
		if op, ok := errors.AsType[*net.OpError](err); ok {
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
