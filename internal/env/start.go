// SPDX-License-Identifier: Apache-2.0

package env

import (
	"flag"
	"fmt"
	"strconv"

	"k8s.io/klog/v2"
)

// Start checks the settings once flags are parsed, and applies those that
// reach beyond this program's own code.
func (e *Env) Start() error {
	if err := e.Settings.Check(); err != nil {
		return err
	}
	e.Color = e.Settings.Color
	if e.Settings.Verbosity == 0 {
		return nil
	}
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	for name, value := range map[string]string{"v": strconv.Itoa(e.Settings.Verbosity), "logtostderr": "true"} {
		if err := fs.Set(name, value); err != nil {
			return fmt.Errorf("-v: %w", err)
		}
	}
	return nil
}
