// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"

	"github.com/moonhelm/moonhelm/plugin"
)

// luaPlugins is the runtime of plugins that are written in Lua.
func (e *Env) luaPlugins() plugin.Runtime { return luaPlugins{} }

type luaPlugins struct{}

func (luaPlugins) Run(context.Context, plugin.Invocation) error { return errors.New("not there yet") }
