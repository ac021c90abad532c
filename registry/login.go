// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
)

// Login checks the client's user name and password with the registry of ref and stores them
// for the registry, or for ref's path. Without a user name, the password is an identity
// token. The client must have Credentials and a password. An [*UnauthorizedError] is returned
// if the registry rejects them, a [*RefError] for a ref with a tag or digest, and otherwise the
// errors of [Client.Pull] about connections and responses.
func (c *Client) Login(ctx context.Context, ref Ref) error {
	if ref.Tag != "" || ref.Digest != "" {
		return &RefError{Ref: ref.errorName(), Problem: "credentials are stored for a registry or a path in it, " +
			"not for a version"}
	}
	if c.Credentials == nil || c.Username == "" && c.Password == "" {
		return errors.New("a login needs credentials and a file to store them")
	}
	asking, _, stop := withIdleTimeout(ctx, c.idleTimeout())
	defer stop()
	call := c.call(ref)
	call.login = true
	resp, err := call.do(asking, request{method: http.MethodGet})
	if err != nil {
		err = call.callerError(asking, err)
		if _, ok := errors.AsType[*NotFoundError](err); ok {
			return &StatusError{Ref: ref.Host, Code: http.StatusNotFound, Message: "there is no registry at that address"}
		}
		return err
	}
	resp.Body.Close()
	return c.Credentials.save(ctx, ref.String(), secretOf(c.Username, c.Password))
}

// Logout removes the stored credentials for ref, a registry or a path in it, and reports
// whether there were any. The client must have Credentials. It returns a [*RefError] for a ref
// with a tag or digest.
func (c *Client) Logout(ctx context.Context, ref Ref) (bool, error) {
	if ref.Tag != "" || ref.Digest != "" {
		return false, &RefError{Ref: ref.errorName(), Problem: "credentials are stored for a registry or a path " +
			"in it, not for a version"}
	}
	return c.Credentials.remove(ctx, ref.String())
}
