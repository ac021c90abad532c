// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import "os"

func signalTo(pid int) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	return err
}
