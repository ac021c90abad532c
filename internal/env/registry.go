// SPDX-License-Identifier: Apache-2.0

package env

import (
	"github.com/moonhelm/moonhelm/action"
	"github.com/moonhelm/moonhelm/registry"
)

// Registry speaks to OCI registries with the user's stored credentials.
func (e *Env) Registry() *action.Registries {
	return &action.Registries{
		HTTP:        e.HTTP(),
		Credentials: &registry.Credentials{File: e.Settings.RegistryConfig, Docker: registry.DockerConfig(e.Getenv)},
		Progress:    e.Report(),
	}
}
