// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// debian returns a directory with a minimal Debian, made by debootstrap, or a copy of the one that
// MOONHELM_DEBIAN names.
func debian(t *testing.T) string {
	t.Helper()
	needs(t, "debootstrap")
	if os.Getuid() != 0 {
		t.Skip("debootstrap and chroot need root")
	}
	root := filepath.Join(t.TempDir(), "debian")
	if made := os.Getenv("MOONHELM_DEBIAN"); made != "" {
		run(t, "cp", "-a", made, root)
	} else {
		run(t, "debootstrap", "--variant=minbase", "stable", root)
	}
	// Programs find themselves by /proc, and helm starts itself again for the scripts of a chart.
	run(t, "mount", "-t", "proc", "proc", filepath.Join(root, "proc"))
	t.Cleanup(func() {
		if out, err := exec.Command("umount", filepath.Join(root, "proc")).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return root
}

// A bare Debian with nothing but the package, and then with nothing but the archive: each is installed,
// works, and is gone after it was removed.
func TestDistDebian(t *testing.T) {
	dir, version := dist(t)
	root := debian(t)
	chroot := func(t *testing.T, args ...string) string {
		t.Helper()
		return run(t, "chroot", append([]string{root}, args...)...)
	}
	give := func(name string) {
		must(os.WriteFile(filepath.Join(root, "tmp", name), readDist(t, dir, name), 0o644))
	}
	works := func(t *testing.T, helm string) {
		t.Helper()
		checkHelm(t, version, "chroot", root, helm)
		chroot(t, helm, "create", "/tmp/web")
		defer chroot(t, "rm", "-r", "/tmp/web")
		chroot(t, helm, "lint", "--strict", "/tmp/web")
		if out := chroot(t, helm, "template", "web", "/tmp/web"); !strings.Contains(out, "kind: Deployment") {
			t.Errorf("template: got:\n%s", out)
		}
		must(os.MkdirAll(filepath.Join(root, "tmp/web/ext/lua"), 0o755))
		writeFile(t, filepath.Join(root, "tmp/web/ext/lua/chart.lua"),
			`events.on("pre-render", function(ctx) ctx.values.replicaCount = 7 end)`, 0o644)
		if out := chroot(t, helm, "template", "web", "/tmp/web"); !strings.Contains(out, "replicas: 7") {
			t.Errorf("template with a script: got:\n%s", out)
		}
	}
	gone := func(t *testing.T) {
		t.Helper()
		out, err := exec.Command("chroot", root, "sh", "-c", "command -v helm; find / -xdev -name '*helm*' -not -path '/tmp/*'").Output()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || strings.TrimSpace(string(out)) != "" {
			t.Errorf("after it was removed there are still:\n%s%v", out, err)
		}
	}
	t.Run("deb", func(t *testing.T) {
		name := "moonhelm_" + version + "_" + runtime.GOARCH + ".deb"
		give(name)
		chroot(t, "dpkg", "--install", "/tmp/"+name)
		works(t, "helm")
		if out := chroot(t, "dpkg", "--verify", "moonhelm"); strings.Contains(out, "usr/bin") {
			t.Errorf("dpkg --verify: %s", out)
		}
		chroot(t, "rm", "-rf", "/root/.cache", "/root/.config", "/root/.local")
		chroot(t, "dpkg", "--purge", "moonhelm")
		gone(t)
	})
	t.Run("archive", func(t *testing.T) {
		platform := "linux-" + runtime.GOARCH
		name := "helm-v" + version + "-" + platform + ".tar.gz"
		give(name)
		give(name + ".sha256sum")
		chroot(t, "sh", "-c", "cd /tmp && sha256sum --check "+name+".sha256sum")
		chroot(t, "tar", "-C", "/opt", "-xzf", "/tmp/"+name)
		works(t, "/opt/"+platform+"/helm")
		chroot(t, "rm", "-r", "/opt/"+platform)
		gone(t)
	})
	t.Run("installer", func(t *testing.T) {
		script, err := os.ReadFile("../../get-moonhelm")
		must(err)
		writeFile(t, filepath.Join(root, "tmp", "get-moonhelm"), string(script), 0o644)
		out, err := exec.Command("chroot", root, "sh", "/tmp/get-moonhelm", "--version", "v"+version).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "curl") {
			t.Errorf("the installer where there is neither curl nor wget: got %v\n%s", err, out)
		}
		gone(t)
	})
}
