// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"context"

	"github.com/moonhelm/moonhelm/plugin"
	"github.com/moonhelm/moonhelm/script"
)

// LuaCommand is the internal command that runs a plugin written in Lua. Its arguments are the
// plugin's file and the plugin's arguments. A process of its own lets the plugin use the user's
// streams and call os.exit, and isolates its failures.
const LuaCommand = "__lua"

// luaPlugins returns the runtime of Lua plugins: this program with [LuaCommand].
func (f *Factory) luaPlugins() plugin.Runtime {
	return plugin.Interpreter{Path: f.Settings.Binary, Args: []string{LuaCommand}}
}

// Outside returns the functions that give Lua plugins access to the cluster.
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
