# `make` alone lists the targets. Node 24 comes from the lockfile; any Node from 20 on with npm can start them.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: help demo test verify generate bench postgres test-cluster e2e images
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: node_modules/.installed ## Index this repository, ask two questions, show why fairness matters
	node scripts/demo.ts

test: node_modules/.installed ## Run the tests: no cluster, no Docker, no network beyond package registries
	npm test

verify: node_modules/.installed ## Before a push: generated files, format, lint, types, import directions
	node scripts/generate.ts --check
	biome check . --diagnostic-level=error
	tsc --noEmit
	tsc --noEmit --project operator/dashboard/page
	node scripts/imports.ts

generate: node_modules/.installed ## Write the generated files anew
	node scripts/generate.ts

bench: node_modules/.installed ## Run the benchmarks and print their figures
	npm run -s bench

postgres: node_modules/.installed ## Run a PostgreSQL with pgvector on a socket, until Ctrl-C (DIR=/tmp/fairlead-postgres)
	node scripts/postgres.ts run $(or $(DIR),/tmp/fairlead-postgres)

test-cluster: node_modules/.installed ## Run the tests that need a real API server (KUBEBUILDER_ASSETS, or setup-envtest)
	KUBEBUILDER_ASSETS="$$(scripts/cluster-assets)" vitest run --config vitest.cluster.config.ts

e2e: node_modules/.installed ## Install into a kind cluster and run the scenarios (kind, kubectl, helm, docker)
	scripts/e2e

images: node_modules/.installed ## Build the container image fairlead:dev (docker; BASE_IMAGE names another base)
	scripts/images
