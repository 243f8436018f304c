# make help lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# Where a built binary goes, and what a target works on.
OUT   ?= bin
P     ?= ./...
COUNT ?= 200
SEED  ?= 1
N     ?= 1000
TIME  ?= 30s
# Rounds of each test of chaos: a few in CI, hundreds for `make chaos`.
ROUNDS ?= 300
# Checkpoints that a table lives through: a few hundred in CI, thousands for `make life`.
CHECKPOINTS ?= 5000
# Which integration tests run.
RUN   ?= .

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help build demo check test integration bench bench-peers fuzz stress life chaos rewrite ci clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## the binary, static, in bin/sink
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(OUT)/sink ./cmd/sink

demo: ## the main job without anything to install: change events, tables, a changelog that adds up
	go run ./cmd/sink demo

check: ## format, vet, layout, tidiness, lint
	.ci/check

test: ## unit tests under the race detector; no service needed
	go test -race ./...
	go test -tags synctests ./integration/simulation

integration: ## the binary against a real Kafka, S3 server and Paimon; RUN=TestReplay picks
	go test -tags integration -count=1 -v -timeout 30m -parallel 4 -run '$(RUN)' ./integration

bench: ## events/s, CPU and memory from a real Kafka to local disk, beside the floors of the same run; BASE=rev compares the Go benchmarks with another commit's
	$(if $(BASE),bench/compare $(BASE),bench/run)

bench-peers: ## the sink beside Paimon's Java writer and Flink, with the ratios; needs Maven and Java 17
	bench/run -peers paimon,flink-sql,flink-action

fuzz: ## every fuzz target for TIME=30s
	.ci/fuzz $(TIME)

stress: ## SEED=1 N=1000: the simulation from that seed on; or P=./commit COUNT=200: one package's tests many times
	$(if $(filter ./...,$(P)),go test -tags synctests -timeout 2h ./integration/simulation -run 'TestSimulation$$' -seed $(SEED) -seeds $(N),go test -race -count=$(COUNT) -failfast $(P))

life: ## a table's life: CHECKPOINTS=5000 small checkpoints with compaction and expiry, at flat cost; then the real Paimon checks it
	rm -rf out/life && mkdir -p out/life
	SINK_LIFE_DIR=$(CURDIR)/out/life SINK_CHECKPOINTS=$(CHECKPOINTS) go test -count=1 -v -timeout 1h -run '^TestLife$$' ./connector/upkeep
	java -jar "$$(integration/verify/build.sh java)" fsck --warehouse file://$(CURDIR)/out/life --table db.t --strict

chaos: ## kill -9, broken connections, sleepers, churn and restarts, ROUNDS=300 of each; exactly once is proved after each few. SINK_SEED=n repeats a seed that the log tells; RUN=TestCrash picks
	SINK_ROUNDS=$(ROUNDS) go test -tags integration -count=1 -v -timeout 24h -parallel 4 -run '$(if $(filter .,$(RUN)),^Test(Crash|Chaos),$(RUN))' ./integration

rewrite: ## regenerate golden files; read the diff
	go test $$(grep -rl '"rewrite"' --include=*_test.go . | xargs -n1 dirname | sort -u) -args -rewrite

ci: ## all of the above that a change must pass, services included; what CI runs
	.ci/run

clean: ## built files; the cache of services stays
	rm -rf bin out
