# Everything a person or CI types. `make` alone lists it.
SHELL := /bin/sh
.DEFAULT_GOAL := help
# npm scripts find the project's own Node.js first; recipes that call node directly use it too.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
INSTALLED := node_modules/.package-lock.json
SOURCES := $(shell find core runtime kube probe push sidecar operator webhook control-plane reporter cli examples scripts/build.mjs scripts/node-guard.mjs scripts/third-party-notices.ts scripts/release -type f 2>/dev/null)

.PHONY: help install demo test check unit integration e2e soak bench cluster-binaries images cluster-up cluster-shell cluster-down build package release generate format clean

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): package.json package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 22.19 or newer with npm"; exit 1; }
	@echo "installing packages (once)"
	@# Metadata that npm has in its cache may be older than the lock: then it is requested again.
	@npm ci --prefer-offline --no-fund --no-audit --loglevel=silent || npm ci --no-fund --no-audit --loglevel=error
	@node -p 'process.version' | awk -F '[v.]' '$$2 < 22 || ($$2 == 22 && $$3 < 19) { print "Node.js 22.19 or newer is needed, this is " $$0 ", and npm has none for this machine"; exit 1 }'
	@touch $@

install: $(INSTALLED) ## Install what the project needs into node_modules

dist/.built: $(INSTALLED) $(SOURCES)
	@npm run --silent build
	@touch $@

build: dist/.built ## Bundle every process, the CLI and the reporter into dist/

package: dist/.built ## Pack what is published to npm: the CLI, the reporter, the sidecar and the control plane
	@node scripts/pack.ts

release: dist/.built ## Make what a release consists of, the images aside, in dist/release (docs/release.md)
	@node scripts/release.ts

demo: dist/.built ## Run five agents behind sidecars with a control plane, without a cluster (ONCE=1: end by itself)
	@npm run --silent demo

test: ## Everything: lint, types, layers, unit, integration, real cluster
	@$(MAKE) --no-print-directory $(INSTALLED)
	@node scripts/test-all.mjs

check: $(INSTALLED) ## The fast checks: format, lint, types, layers, dead code, generated files
	@node scripts/test-all.mjs --only=check

unit: $(INSTALLED) ## Unit tests
	@node scripts/test-all.mjs --only=unit

integration: dist/.built ## Tests against real OPA, API server, bundles and the demo
	@node scripts/test-all.mjs --only=integration

# Random tests begin at a new seed each time; SEED= repeats one. SOAK=1: long forms of tests, and the times that the product
# promises as limits (CONTRIBUTING.md).
soak: export SEED := $(or $(SEED),$(shell date +%s))
soak: export SOAK := 1
soak: dist/.built ## The long forms of tests, with the promised times as limits: fault injection in the unit tests (FAULTS_LATE=), 500,000 pairs through both policy engines (PAIRS=), 100 rotations of certificates (ROTATIONS=), ten minutes of churn in a cluster (CHURN_SECONDS=), outages, scale, memory, all clients and frameworks; about an hour
	@echo "SEED=$$SEED"
	@e2e/cluster/build.sh && e2e/images/build.sh
	@npm run --silent test:unit -- --findRelatedTests testing/seed.ts
	@FAULTS=$$SEED FAULTS_LATE=$${FAULTS_LATE:-0.3} NODE_OPTIONS='--require "$(CURDIR)/testing/fault-injection.cjs"' npm run --silent test:unit
	@PAIRS=$${PAIRS:-500000} REQUESTS=$${REQUESTS:-5000} STREAMS=$${STREAMS:-1000} BODY_MEGABYTES=$${BODY_MEGABYTES:-100} npm run --silent test:integration
	@ROTATIONS=$${ROTATIONS:-100} STARTS=$${STARTS:-20} npm run --silent test:apiserver -- --testPathPatterns 'webhook/(certificates/rotation|replicas)'
	@npm run --silent test:realtime
	@CHURN_SECONDS=$${CHURN_SECONDS:-600} npm run --silent test:e2e
	@node bench/soak.ts

bench: dist/.built ## Speed and memory of the sidecar's proxy beside others, as ratios; about three minutes (bench/README.md)
	@npm run --silent bench

e2e: dist/.built ## The suite in a real cluster (own, or the one of E2E_KUBECONFIG)
	@node scripts/test-all.mjs --only=e2e

cluster-binaries: ## Build Kubernetes and its friends from Go modules (about ten minutes, cached)
	@e2e/cluster/build.sh

images: dist/.built ## Build the container images without Docker
	@e2e/images/build.sh

cluster-up: cluster-binaries images ## Start a throwaway cluster
	@e2e/cluster/up.sh

cluster-shell: ## Open a shell in it, with kubectl and helm
	@in="$${CLUSTER_CACHE:-$$HOME/.cache/agent-compliance/k8s}/run-e2e/in"; \
	test -x "$$in" || { echo "no cluster is up: make cluster-up"; exit 1; }; exec "$$in" bash

cluster-down: ## End it, without a trace
	@e2e/cluster/down.sh

generate: $(INSTALLED) ## Renew generated code and reference pages
	@npm run --silent generate

format: $(INSTALLED) ## Format every file
	@npm run --silent format

clean: ## Remove what was built and installed
	rm -rf dist node_modules coverage
