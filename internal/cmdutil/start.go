// SPDX-License-Identifier: Apache-2.0

package cmdutil

import (
	"flag"
	"fmt"
	"strconv"

	"k8s.io/klog/v2"
)

// Start validates the settings after flags are parsed, and configures the logging of client-go.
func (f *Factory) Start() error {
	if err := f.Settings.Check(); err != nil {
		return err
	}
	f.Color = f.Settings.Color
	if f.Settings.Verbosity == 0 {
		return nil
	}
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	for name, value := range map[string]string{"v": strconv.Itoa(f.Settings.Verbosity), "logtostderr": "true"} {
		if err := fs.Set(name, value); err != nil {
			return fmt.Errorf("-v: %w", err)
		}
	}
	return nil
}
