# `make` alone lists the targets. Node 24 comes from the lockfile; any Node from 20 on with npm can start them.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
.DEFAULT_GOAL := help

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

.PHONY: help test verify
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

test: node_modules/.installed ## Run the tests: no cluster, no Docker, no network beyond package registries
	npm test

verify: node_modules/.installed ## Format, lint, types
	biome check . --diagnostic-level=error
	tsc --noEmit
