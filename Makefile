# All commands for developers and CI. `make` without a target lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
# npm scripts find the project's own Node.js first; recipes that call node directly must use the same one.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
INSTALLED := node_modules/.package-lock.json
SOURCES := $(shell find core authoring runtime kube probe push llm sidecar operator webhook control-plane dashboard reporter cli examples scripts/build.mjs scripts/build-dashboard.mjs scripts/node-guard.mjs scripts/small-tables.mjs scripts/third-party-notices.ts scripts/release -type f 2>/dev/null)

.PHONY: help install demo test check unit integration e2e soak bench cluster-binaries images cluster-up cluster-shell cluster-down build package release generate format docs clean

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 22.19 or newer with npm"; exit 1; }
	@echo "installing packages (once)"
	@# npm's cached metadata may be older than the lock file; the second attempt requests it again.
	@npm ci --prefer-offline --no-fund --no-audit --loglevel=silent || npm ci --no-fund --no-audit --loglevel=error
	@node -p 'process.version' | awk -F '[v.]' '$$2 < 22 || ($$2 == 22 && $$3 < 19) { print "Node.js 22.19 or newer is required, found " $$0 "; npm has no Node.js package for this machine"; exit 1 }'
	@touch $@

install: $(INSTALLED) ## Install the dependencies into node_modules

dist/.built: $(INSTALLED) $(SOURCES)
	@npm run --silent build
	@touch $@

build: dist/.built ## Bundle every process, the CLI and the reporter into dist/

package: dist/.built ## Pack the npm package: the CLI, the reporter, the sidecar and the control plane
	@node scripts/pack.ts

release: dist/.built ## Create the release files except images in dist/release (docs/release.md)
	@node scripts/release.ts

demo: dist/.built ## Run six agents behind sidecars with a control plane, without a cluster (ONCE=1: exit when done)
	@npm run --silent demo

test: ## Run all checks and tests: lint, types, layers, unit, integration, real cluster
	@$(MAKE) --no-print-directory $(INSTALLED)
	@node scripts/test-all.mjs

check: $(INSTALLED) ## Run the fast checks: format, lint, types, layers, dead code, generated files, words, commit messages
	@node scripts/test-all.mjs --only=check

unit: $(INSTALLED) ## Run the unit tests
	@node scripts/test-all.mjs --only=unit

integration: dist/.built ## Run the tests against real OPA, API server, bundles and the demo
	@node scripts/test-all.mjs --only=integration

# Each run of the random tests uses a new seed; SEED= repeats a run. SOAK=1 selects the long versions of tests and enforces the
# time limits that the product promises (CONTRIBUTING.md).
soak: export SEED := $(or $(SEED),$(shell date +%s))
soak: export SOAK := 1
soak: dist/.built ## Run the long versions of the tests, with the promised times as limits: fault injection in the unit tests (FAULTS_LATE=), 500,000 pairs through both policy engines (PAIRS=), 100 rotations of certificates (ROTATIONS=), ten minutes of churn in a cluster (CHURN_SECONDS=), 10,000 heartbeats while the control plane and PostgreSQL are killed, outages, scale, all clients and frameworks; about an hour
	@echo "SEED=$$SEED"
	@e2e/cluster/build.sh && e2e/images/build.sh
	@npm run --silent test:unit -- --findRelatedTests testing/random/seed.ts
	@FAULTS=$$SEED FAULTS_LATE=$${FAULTS_LATE:-0.3} NODE_OPTIONS='--require "$(CURDIR)/testing/fault-injection.cjs"' npm run --silent test:unit
	@PAIRS=$${PAIRS:-500000} REQUESTS=$${REQUESTS:-5000} STREAMS=$${STREAMS:-1000} BODY_MEGABYTES=$${BODY_MEGABYTES:-100} npm run --silent test:integration
	@ROTATIONS=$${ROTATIONS:-100} STARTS=$${STARTS:-20} npm run --silent test:apiserver -- --testPathPatterns 'webhook/(any-pod|certificates/rotation|replicas)'
	@scripts/python-package.sh || [ $$? = 3 ]
	@npm run --silent test:realtime
	@CHURN_SECONDS=$${CHURN_SECONDS:-600} npm run --silent test:e2e

bench: dist/.built ## Compare speed and memory of the sidecar's proxy with other proxies; about a quarter of an hour (SAVE=1: save the results and renew the chart and the tables; bench/README.md)
	@npm run --silent bench -- $(if $(SAVE),--save)
	@$(if $(SAVE),npm run --silent generate && npm run --silent format)

e2e: dist/.built ## Run the suite in a real cluster (a new one, or the one of E2E_KUBECONFIG)
	@node scripts/test-all.mjs --only=e2e

cluster-binaries: ## Build Kubernetes and related tools from Go modules (about ten minutes, cached)
	@e2e/cluster/build.sh

images: dist/.built ## Build the container images without Docker
	@e2e/images/build.sh

cluster-up: cluster-binaries images ## Start a throwaway cluster
	@e2e/cluster/up.sh

cluster-shell: ## Open a shell in the cluster, with kubectl and helm
	@in="$${CLUSTER_CACHE:-$$HOME/.cache/agent-compliance/k8s}/run-e2e/in"; \
	test -x "$$in" || { echo "no cluster is running: make cluster-up"; exit 1; }; exec "$$in" bash

cluster-down: ## Remove the cluster completely
	@e2e/cluster/down.sh

generate: $(INSTALLED) ## Regenerate generated code and reference pages
	@npm run --silent generate

format: $(INSTALLED) ## Format every file
	@npm run --silent format

docs: ## Build the documentation site into dist/docs (DOCS_SOURCE_URL= for links to source files, DOCS_BASE= for its path)
	@# Not npm ci, which requires that the lock file has the binaries of every platform.
	@npm install --prefix docs/site --no-save --no-fund --no-audit --loglevel=error
	@npm run --silent --prefix docs/site build

clean: ## Remove build results and installed packages
	rm -rf dist node_modules coverage
