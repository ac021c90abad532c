// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/moonhelm/moonhelm/script/wire"
)

// What helm was started with, and hands on to plugins, ends at the scripts'
// process: not even what it may start itself has it.
func TestInheritedDescriptorsAreClosed(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, from := range []int{3, 63, 200} {
		// A descriptor as a shell hands on: it stays open when a program starts.
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, from)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
	}
	p := begin(t, wire.DefaultLimits())
	said, err := p.do("descriptors", "")
	if err != nil || !strings.Contains(said, "pipe:") {
		t.Fatalf("got %q, %v", said, err)
	}
	if strings.Contains(said, secret) {
		t.Errorf("the process has %s", said)
	}
	said, err = p.confined([]string{"os"}, "run", "ls -l /proc/self/fd")
	if err != nil || !strings.Contains(said, "null") {
		t.Fatalf("got %q, %v", said, err)
	}
	if strings.Contains(said, secret) {
		t.Errorf("what it starts sees\n%s", said)
	}
}
