// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
)

// Login asks the registry at ref whether it takes the client's user name and
// password (without a user name, the password is a token that stands for both),
// and stores them if so: for the whole registry, or for what is below ref's path.
func (c *Client) Login(ctx context.Context, ref Ref) error {
	if ref.Tag != "" || ref.Digest != "" {
		return &RefError{Ref: ref.told(), Problem: "credentials are stored for a registry or a path in it, not for a version"}
	}
	if c.Credentials == nil || c.Username == "" && c.Password == "" {
		return errors.New("a login needs credentials, and a place to store them")
	}
	asking, _, stop := attentive(ctx, c.waiting())
	defer stop()
	call := c.call(ref)
	call.login = true
	resp, err := call.do(asking, request{method: http.MethodGet})
	if err != nil {
		err = call.explain(asking, err)
		var missing *NotFoundError
		if errors.As(err, &missing) {
			return &StatusError{Ref: ref.Host, Code: http.StatusNotFound, Message: "there is no registry at that address"}
		}
		return err
	}
	resp.Body.Close()
	return c.Credentials.save(ctx, ref.String(), secretOf(c.Username, c.Password))
}

// Logout removes the credentials stored for ref, a registry or a path in it, and reports
// whether there were any.
func (c *Client) Logout(ctx context.Context, ref Ref) (bool, error) {
	if ref.Tag != "" || ref.Digest != "" {
		return false, &RefError{Ref: ref.told(), Problem: "credentials are stored for a registry or a path " +
			"in it, not for a version"}
	}
	return c.Credentials.remove(ctx, ref.String())
}
