# SPDX-License-Identifier: Apache-2.0
#
# make        explains the targets
# Everything a target needs beyond Go, git, make and gcc comes through the Go
# module proxy.

SHELL := /bin/bash
.DEFAULT_GOAL := help

RELEASE ?=
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
STATE := $(shell test -z "$$(git status --porcelain 2>/dev/null)" && echo clean || echo dirty)
BUILD := github.com/moonhelm/moonhelm/internal/build
LDFLAGS := -s -w -X $(BUILD).gitCommit=$(COMMIT) -X $(BUILD).gitState=$(STATE) $(if $(RELEASE),-X $(BUILD).release=$(RELEASE))

.PHONY: help build demo deps callers-deps site-deps test check unit tests race cluster cluster-tests faults compat callers sdk registry bench docs docs-serve docs-content site-tests clean

help: ## explain the targets
	@echo "Moonhelm: make TARGET"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r target what; do printf '  %-14s %s\n' "$$target" "$$what"; done

# make test builds both once, and sets BUILT for its lanes.
ifndef BUILT
build: ## build bin/helm
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o bin/helm ./cmd/helm

cluster: ## build bin/cluster, the local Kubernetes control plane (minutes the first time)
	@test/cluster/build.sh
endif

.PHONY: policy policy-tests
policy: ## build bin/policy, the plugin that evaluates ValidatingAdmissionPolicies (helm plugin install bin/policy)
	@mkdir -p bin/policy
	cp plugins/policy/plugin.yaml bin/policy
	cd plugins/policy && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o ../../bin/policy/policy .

policy-tests: build cluster ## the plugin policy, beside the API server
	@echo "== the plugin policy"
	cd plugins/policy && go vet ./... && ../../test/with-cluster.sh go test -count=1 ./...

demo: build ## install an example chart into a real API server and remove it again
	@examples/demo.sh

deps: ## install the programs that tests need and Go does not bring (as root)
	@test/deps.sh

callers-deps: ## install those of make callers (as root)
	@test/deps.sh callers

site-deps: ## install the browser of make site-tests (as root)
	@test/deps.sh site

# The lanes of make test: the parts on the control plane, which mostly wait, and the others. The
# control plane starts before both, as its API server ends if it cannot create its first objects
# within half a minute. When one lane has ended, the other runs two parts at a time: the longest come
# first. LANES=1 runs one part at a time. The output of a part is printed when it ends, with the time
# that it took.
CLUSTERED_PARTS = faults compat cluster-tests sdk policy-tests
OTHER_PARTS = check tests race registry release-tests
LANES ?= 2

test: build cluster ## run everything but callers and the site: what CI runs
	@test/with-cluster.sh $(MAKE) --no-print-directory -j$(LANES) --output-sync=target BUILT=1 clustered-lane other-lane

.PHONY: clustered-lane other-lane
clustered-lane:
	@$(MAKE) $(CLUSTERED_PARTS:%=timed-%)

other-lane:
	@env -u MOONHELM_TEST_KUBECONFIG -u MOONHELM_TEST_RESTRICTED_KUBECONFIG $(MAKE) $(OTHER_PARTS:%=timed-%)

timed-%:
	@$(MAKE) $*; code=$$?; echo "== $* took $$SECONDS seconds"; exit $$code

check: ## formatting, vet, golangci-lint, actionlint, the exported API
	@echo "== formatting, vet, golangci-lint, actionlint, the exported API"
	@bad=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); if [ -n "$$bad" ]; then echo "not gofmt'ed (run gofmt -w on them):"; echo "$$bad"; exit 1; fi
	go vet ./...
	go tool -modfile=tools/go.mod golangci-lint run ./...
	go tool -modfile=tools/actionlint/go.mod actionlint
	cd tools/actionlint && go vet ./... && go test -count=1 ./...
	go test ./internal/api

unit: build ## the tests that take no longer than a second each, without a cluster
	@echo "== short tests"
	go test -short ./...

# The packages that cluster-tests runs, with and without a cluster.
CLUSTERED = ./kube/... ./storage/... ./internal/cli/...

tests: build ## all tests without a cluster, but for those that cluster-tests runs too
	@echo "== unit and command tests"
	go test $$(go list ./... | grep -vxF "$$(go list $(CLUSTERED))")

# All tests of the packages that run things concurrently; of those that do so in few places, the
# short tests, and of the Lua engine, which is a process with one script at a time, the tests of
# what another goroutine does. Tests of limits measure time and memory, and those of large records
# and of the corpus are long for their data: compression and rendering run in one goroutine.
RACE = go test -race -skip 'Bomb|Bounded|SizeLimit|PluginLimit|Corpus|TooLargeRecord|/many_megabytes|//many_megabytes'

race: ## the packages that run things concurrently, under the race detector
	@echo "== race detector"
	$(RACE) ./fetch ./repo ./registry ./plugin/... ./action ./event ./storage ./storage/lock ./kube/... ./internal/ui ./script ./script/wire
	$(RACE) -short ./engine ./repo/index ./chart/loader ./script/engine/bridge ./script/engine/modules
	$(RACE) -run 'Share|Serve|Stream' ./script/engine

cluster-tests: build cluster ## tests on the local control plane
	@echo "== tests on the control plane"
	test/with-cluster.sh go test -count=1 -p 1 -parallel 6 -timeout 30m $(CLUSTERED) # they mostly wait
	cd test/cluster && go vet ./... && go test -count=1 ./...

faults: build cluster ## kill, crowd and spoil the program's work on the control plane (minutes)
	@echo "== faults"
	cd test/faults && go vet ./... && ../with-cluster.sh go test -count=1 -parallel 8 -timeout 60m ./... # they mostly wait

compat: build cluster ## side by side with Helm's binary; the corpus where it is there
	@echo "== compatibility"
	cd test/compat/helm4 && go vet ./...
	cd test/compat && go vet ./... && ../with-cluster.sh go test -count=1 -parallel 4 -timeout 60m ./... # some wait for controllers

callers: build cluster ## helmfile, kustomize, Ansible, plugins and shells with our binary and Helm's
	@echo "== callers"
	cd test/callers && go vet ./... && ../with-cluster.sh go test -count=1 -parallel 3 -timeout 60m ./...

sdk: cluster ## a program that embeds this and one that embeds Helm's SDK: memory
	@echo "== embedded"
	cd test/sdk && go vet ./... && ../with-cluster.sh go test -count=1 -timeout 30m ./...

registry: build ## push to and pull from a real registry, together with Helm's binaries
	@echo "== registries"
	cd test/registry && go vet ./... && go test -count=1 ./...

.PHONY: release-tests changelog release-deps release-snapshot release-check release-again images systems

release-tests: ## what a release is made of: the changelog's fragments, the installer, names
	@echo "== releases"
	cd tools/changelog && go vet ./... && go test -count=1 ./...
	cd tools/dist && go vet ./... && go test -count=1 ./...
	cd tools/screen && go vet ./... && go test -count=1 ./...
	cd test/release && go vet ./... && go test -count=1 ./...

changelog: ## show the next release's section; with RELEASE=0.1.0 write it into CHANGELOG.md
	@cd tools/changelog && go run . -C ../.. $(if $(RELEASE),release $(RELEASE) $(or $(DATE),$(shell date -u +%F)),preview)

release-deps: ## build bin/goreleaser (minutes), and install what release-check needs (as root)
	@test/deps.sh release
	nice go build -C tools/goreleaser -trimpath -o $(CURDIR)/bin/goreleaser github.com/goreleaser/goreleaser/v2

bin/goreleaser:
	$(MAKE) release-deps

release-snapshot: bin/goreleaser ## make all files of a release in dist/, signed with a key for the day; publish nothing
	@test/release/snapshot.sh "$(RELEASE)" dist

release-check: ## check what release-snapshot made, as users take it: layout, sums, signatures, packages, installer
	cd test/release && MOONHELM_DIST=$(CURDIR)/dist go test -count=1 -v -run TestDist ./...

release-again: bin/goreleaser ## make the files of a release once more from a clone elsewhere, and compare with dist/
	@test/release/again.sh

images: ## make container images, as OCI layouts in dist/images, from what release-snapshot made, and try them
	cd tools/images && go vet ./...
	cd tools/images && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run . build $(CURDIR)/dist $(CURDIR)/dist/images
	@mkdir -p bin
	cd tools/images && MOONHELM_DIST=$(CURDIR)/dist MOONHELM_IMAGE_HELM=$(CURDIR)/bin/helm-argocd go test -count=1 ./...
	if [ -e bin/helm-argocd ]; then cd test/compat && MOONHELM_TEST_HELM=$(CURDIR)/bin/helm-argocd go test -count=1 -run TestArgoCDCorpus .; fi

systems: ## vet for other systems, and run what release-snapshot made for other machines of Linux in qemu-user
	@echo "== other systems and machines"
	test/release/systems.sh

.PHONY: picture
picture: build ## make docs/wait.svg, the picture in README.md, from a real install in a terminal (needs tmux)
	$(if $(KUBECONFIG),,test/with-cluster.sh )tools/screen/wait.sh

bench: build ## measure against Helm's binary (see bench/README.md)
	cd bench && go run . $(BENCH)

# The standard edition, which needs no C compiler; Go keeps what it has compiled.
HUGO = CGO_ENABLED=0 go tool -modfile=../tools/hugo/go.mod hugo

docs: docs-content ## build the site of docs/ into bin/site/public (minutes the first time: it compiles Hugo)
	@rm -rf bin/site/public
	cd site && $(HUGO) build --noBuildLock --quiet --panicOnWarning

docs-serve: docs-content ## show the site, and follow changes
	cd site && $(HUGO) server --noBuildLock --disableFastRender

# The pages that the program writes: none of them is committed.
docs-content: build
	@rm -rf bin/site/content
	@site/commands.sh bin/helm bin/site/content/commands

site-tests: docs ## the site in a headless browser: links, search, width, light and dark
	@echo "== the site in a browser"
	cd test/site && go vet ./... && go test -count=1 ./...

.PHONY: schemas
schemas: ## write the schemas of Kubernetes' kinds that helm lint has (downloads k8s.io/kubernetes in 13 versions)
	cd tools/schemas && go vet ./... && go run . ../../openapi/builtin/schemas.json.gz

clean: ## remove what was built
	rm -rf bin
