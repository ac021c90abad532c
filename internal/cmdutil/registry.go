// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/registry"
)

// Registry returns a client of OCI registries with the user's stored credentials.
func (f *Factory) Registry() *action.Registries {
	return &action.Registries{
		HTTP:        f.HTTP(),
		Credentials: &registry.Credentials{File: f.Settings.RegistryConfig, Docker: registry.DockerConfig(f.Getenv)},
		Progress:    f.Report(),
	}
}
