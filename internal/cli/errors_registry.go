// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/moonhelm/moonhelm/internal/env"
	"github.com/moonhelm/moonhelm/registry"
)

// registryHints say what to do about an error that has to do with a registry,
// nil for others.
func registryHints(err error) []string {
	var (
		unauthorized *registry.UnauthorizedError
		plain        *registry.PlainError
		noAnswer     *registry.ConnectError
		notFound     *registry.NotFoundError
		remote       *env.RemoteError
	)
	switch {
	case errors.As(err, &unauthorized) && unauthorized.User != "":
		return []string{fmt.Sprintf("helm registry login %s tries other credentials, and stores them if they are accepted", unauthorized.Host)}
	case errors.As(err, &unauthorized):
		return []string{fmt.Sprintf("helm registry login %s stores credentials for it", unauthorized.Host)}
	case errors.As(err, &plain):
		return []string{"--plain-http speaks to it without TLS; what is sent can then be read by others on the way"}
	case errors.As(err, &noAnswer) && isUntrusted(err):
		return []string{"--ca-file names the certificate authority that vouches for the registry"}
	case errors.As(err, &noAnswer) && isProxy(err):
		return []string{proxyHint}
	case errors.As(err, &noAnswer):
		return []string{fmt.Sprintf("is %s the registry's address, and can it be reached from here?", noAnswer.Host)}
	case errors.As(err, &notFound) && notFound.Ref.Tag != "":
		return []string{"without --version the newest release is taken; some registries hide from strangers what they have: helm registry login"}
	case errors.As(err, &notFound):
		return []string{"a chart's name is the last part of the path; some registries hide from strangers what they have: helm registry login"}
	case errors.As(err, &remote) && remote.Schemeless():
		return []string{fmt.Sprintf("did you mean oci://%s?", remote.Remote)}
	case errors.As(err, &remote):
		return []string{"other kinds of servers have plugins of their own to upload with"}
	}
	return nil
}
