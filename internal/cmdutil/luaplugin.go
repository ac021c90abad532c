// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"

	"github.com/moonhelm/moonhelm/plugin"
	"github.com/moonhelm/moonhelm/script"
)

// LuaCommand is the first argument that makes helm run a plugin that is written
// in Lua, behind it come the plugin's file to begin with and its arguments. The plugin so has a
// process of its own: it reads and writes the user's streams, its os.exit ends
// it alone, and what goes wrong in it stays there.
const LuaCommand = "__lua"

// luaPlugins is the runtime of plugins that are written in Lua: this program
// once more.
func (f *Factory) luaPlugins() plugin.Runtime {
	return plugin.Interpreter{Path: f.Settings.Binary, Args: []string{LuaCommand}}
}

// Outside answers what plugins in Lua ask of the world.
func (f *Factory) Outside() script.Outside {
	return script.Outside{
		Lookup: func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
			cluster, err := f.Cluster()
			if err != nil {
				return nil, err
			}
			return cluster.Lookup(ctx, apiVersion, kind, namespace, name)
		},
	}
}
