#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# systems.sh: checks what this machine does not run by itself. go vet looks at the code as each
# other system sees it, what computes is tested with 32 bits, and MOONHELM_SYSTEMS_TESTS=1 compiles all their tests too.
# The archives of Linux that make release-snapshot left in dist/ are run by qemu-user: version,
# create, lint, template, and a chart with scripts. Those need the kernel to start helm again for
# their process, under another name (flag P): it is taught how in a user namespace of its own, so
# that nothing of the machine changes.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${MOONHELM_SYSTEMS_INSIDE:-}" ]; then
	echo "== go build for linux/386"
	CGO_ENABLED=0 GOARCH=386 go build ./... # some tests have constants of 64 bits
	for system in windows/amd64 darwin/arm64; do
		echo "== go vet for $system"
		CGO_ENABLED=0 GOOS=${system%/*} GOARCH=${system#*/} go vet ./...
		if [ -n "${MOONHELM_SYSTEMS_TESTS:-}" ]; then
			echo "== compile the tests for $system"
			CGO_ENABLED=0 GOOS=${system%/*} GOARCH=${system#*/} go test -vet=off -exec true ./... >/dev/null
		fi
	done
	if [ "$(go env GOHOSTARCH)" = amd64 ]; then # which runs programs of 386 as they are
		echo "== tests as linux/386"
		CGO_ENABLED=0 GOARCH=386 go test -short ./engine ./script/engine
	fi
	if ! compgen -G 'dist/helm-v*-linux-*.tar.gz' >/dev/null; then
		echo "systems.sh: skipped the other machines: dist/ has no archives: make release-snapshot" >&2
		exit 0
	fi
	if ! command -v qemu-aarch64 >/dev/null; then
		echo "systems.sh: skipped the other machines: qemu-user is not installed: test/deps.sh systems" >&2
		exit 0
	fi
	export MOONHELM_SYSTEMS_INSIDE=plain
	if unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
		export MOONHELM_SYSTEMS_INSIDE=namespace
		exec unshare --user --map-root-user --mount "$0"
	fi
	exec "$0"
fi

# The first 20 bytes of a program: ELF, its class and byte order, its machine.
declare -A qemu=([amd64]=x86_64 [386]=i386 [arm]=arm [arm64]=aarch64 [ppc64le]=ppc64le [s390x]=s390x [riscv64]=riscv64)
declare -A elf=([arm]='\x01\x01 \x28\x00' [arm64]='\x02\x01 \xb7\x00' [ppc64le]='\x02\x01 \x15\x00'
	[s390x]='\x02\x02 \x00\x16' [riscv64]='\x02\x01 \xf3\x00')
if [ "$MOONHELM_SYSTEMS_INSIDE" = namespace ]; then
	mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
	for arch in "${!elf[@]}"; do
		read -r class machine <<<"${elf[$arch]}"
		zeros=$(printf '\\x00%.0s' {1..12})
		printf ':moonhelm-%s:M::\\x7fELF%s%s%s:\\xff\\xff\\xff\\xff\\xff\\xff%s\\xff\\xff:%s:PF' "$arch" "$class" "$zeros" \
			"$machine" "$zeros" "$(command -v "qemu-${qemu[$arch]}")" >/proc/sys/fs/binfmt_misc/register
	done
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/moonhelm-systems.XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOME=$work/home KUBECONFIG=/nonexistent
version=$(cat dist/helm-latest-version)
failed=
fail() { echo "   $1: $2" >&2; failed=yes; }
for arch in amd64 386 arm arm64 ppc64le s390x riscv64; do
	echo "== linux/$arch"
	mkdir "$work/$arch"
	tar -xzf "dist/helm-$version-linux-$arch.tar.gz" -C "$work"
	binary=$work/linux-$arch/helm
	helm=("$binary")
	if [ -n "${elf[$arch]:-}" ] && [ "$MOONHELM_SYSTEMS_INSIDE" = plain ]; then
		helm=("qemu-${qemu[$arch]}" "$binary")
	fi
	got=$("${helm[@]}" version --template '{{.Version}}') || fail "$arch" "helm version fails"
	[ "${got#*+moonhelm.}" = "${version#v}" ] || fail "$arch" "helm version: got $got, want $version"
	"${helm[@]}" create "$work/$arch/web" >/dev/null || fail "$arch" "helm create fails"
	"${helm[@]}" lint "$work/$arch/web" >/dev/null || fail "$arch" "helm lint fails"
	"${helm[@]}" template web "$work/$arch/web" >"$work/$arch/web.yaml" || fail "$arch" "helm template fails"
	cmp "$work/amd64/web.yaml" "$work/$arch/web.yaml" || fail "$arch" "helm template differs from that of amd64"
	if [ "$MOONHELM_SYSTEMS_INSIDE" = plain ] && [ -n "${elf[$arch]:-}" ]; then
		echo "   scripts: skipped, the kernel cannot start programs of $arch"
		continue
	fi
	"${helm[@]}" template web examples/sidecar >"$work/$arch/sidecar.yaml" || fail "$arch" "a chart with scripts fails"
	cmp "$work/amd64/sidecar.yaml" "$work/$arch/sidecar.yaml" || fail "$arch" "scripts differ from amd64"
done
[ -z "$failed" ] || exit 1
echo "systems.sh: seven machines of Linux render the same"
