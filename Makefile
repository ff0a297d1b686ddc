# Every verb prints what it does not cover. Only `race` needs a C compiler.

SMOKE    ?= Fetch|Commit
SEEDS    ?= 1-20
FUZZTIME ?= 60s
SOAK     ?= 600
CHAOS    ?= 60
CHAOSSEED ?= 1
SIMSEEDS ?= 1-2000
SIMTIME  ?= 1h
PARALLEL ?= 2
RACED    := ./checker/... ./impl/core/... ./impl/node/... ./impl/wire/... ./traces/...
MODULES  := $(dir $(shell find . -name go.mod -not -path './tools/*' -not -path './out/*'))

.DEFAULT_GOAL := help
.PHONY: help build check check-deep chaos crash test race bench trace simulate demo five soak walk defects interop tla peers lint gofmt vet staticcheck govulncheck fuzz clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the commands into bin/
	go build -o bin/ ./cmd/...

check: build ## Check models, bugs and recorded runs, and smoke the hot paths: some 4 minutes
	bin/quorate check
	bin/quorate bugs
	bin/quorate prove
	bin/quorate trace check -hidden 0 traces/recorded
	bin/quorate history check traces/recorded
	go test -run '^$$' -bench '$(SMOKE)' -benchtime 0.5s ./bench
	@echo 'check: models, bugs, proofs, recorded runs and their histories are all as they should be.'
	@echo 'check: not covered: larger models (make check-deep), fresh runs (make simulate trace), and docs/architecture.md, "What is not here".'

check-deep: build ## As check, with the large models, an hour of simulated runs (SIMTIME), a soak, and fuzzing
	bin/quorate check -deep
	bin/quorate bugs
	bin/quorate prove -deep
	$(MAKE) simulate SIMFLAGS='-for $(SIMTIME)'
	$(MAKE) walk
	$(MAKE) crash
	$(MAKE) soak
	$(MAKE) chaos CHAOS=300
	$(MAKE) fuzz

# Every operation of every case, with any part of what was not flushed left behind.
crash: ## Crash what keeps files at every operation, and the removal of two segments at once too
	@go test -count=1 -v -timeout 30m -run 'TestEvery(Crash|Flush|Failure)' ./impl/log -segments && \
	go test -count=1 -v -timeout 30m -run 'TestEvery(Crash|Flush|Failure)' ./impl/snapshot ./impl/driver ./impl/quorumstate ./impl/metaprops

walk: ## Have the replica take every step of models of the specification, larger ones than make test
	go test -count=1 -v -timeout 30m -run TestWalk ./traces/modelbased -modelbased.large

soak: build ## Kill three processes under load for SOAK seconds, with snapshots, and judge all that they did
	rm -rf out/soak
	bin/tracegen -nodes 3 -seconds $(SOAK) -crashes $$(($(SOAK) / 4)) -workers 6 -snapshot-bytes 16000 -out out/soak
	bin/quorate trace check -hidden 0 out/soak
	bin/quorate history check out/soak

chaos: build ## Kill, stop, cut off, slow down three processes and fill their disks for CHAOS seconds, and judge all that they did
	rm -rf out/chaos
	bin/tracegen -nodes 3 -seconds $(CHAOS) -crashes $(CHAOS) -faults all -workers 6 -snapshot-bytes 16000 -seed $(CHAOSSEED) -out out/chaos
	bin/quorate trace check -hidden 0 out/chaos
	bin/quorate history check out/chaos

test: ## Run the tests of every module (TESTFLAGS=-v, say)
	@rc=0; for m in $(MODULES); do (cd $$m && go test $(TESTFLAGS) ./...) || rc=1; done; exit $$rc

race: ## Run the tests of what runs concurrently under the race detector
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then go test -race -short $(TESTFLAGS) $(RACED); \
	else echo 'race: SKIPPED: the race detector needs cgo and a C compiler'; fi

bench: ## Run all benchmarks
	go test -run '^$$' -bench . -benchmem ./bench/...

trace: build ## Record fresh runs, simulated (SEEDS=1-20) and of real processes, and check them
	rm -rf out/sim out/real
	bin/tracegen -sim -quiet -seeds $(SEEDS) -out out/sim
	bin/tracegen -nodes 3 -crashes 3 -seconds 10 -out out/real
	bin/quorate trace check -hidden 0 out/sim
	bin/quorate trace check out/real
	bin/quorate history check out/sim
	bin/quorate history check out/real

simulate: build ## Make simulated runs (SIMSEEDS=1-2000), and hold each against the specification at once
	rm -rf out/simulated
	bin/tracegen -sim -check -seeds $(SIMSEEDS) -twice 50 -all-met -parallel $(PARALLEL) $(SIMFLAGS) -out out/simulated
	bin/tracegen -sim -check -members -seeds 1-300 -twice 50 -all-met -parallel $(PARALLEL) -out out/simulated

demo: build ## Three nodes on loopback: a failover, a snapshot, a disk that is lost, and the verdict on their traces
	go build -o bin/ ./examples/configs
	examples/quickstart.sh

five: ## Election, commit, bootstrap, snapshot and cluster-id discovery in one run of real processes, and the verdict on it
	go test -count=1 -v -run TestFiveConcerns ./cmd/kraftd/scenarios

defects: build ## Leave out each flush and break each rule of the core: which check notices
	bin/quorate defects

# Kafka's jars come by Maven into a cache (docs/interop.md). What cannot be had is said.
interop: ## Hold files and nodes against Apache Kafka itself (needs Java and Maven)
	go vet -tags interop ./interop
	go test -tags interop -count=1 -timeout 8m -v ./interop

# TLC is given as TLA2TOOLS=/path/to/tla2tools.jar.
tla: build ## Hold the specification to its twin in TLA+ by TLC (TLA2TOOLS=jar, TLAFLAGS)
	go run ./bench/tla -jar "$(TLA2TOOLS)" $(TLAFLAGS)

peers: build ## Compare with Spin, rumur and TLC on small protocols (PEERFLAGS=-quick)
	go run ./bench/peers -install -jar "$(TLA2TOOLS)" $(PEERFLAGS)

lint: gofmt vet staticcheck govulncheck ## Run gofmt, go vet, staticcheck and govulncheck

gofmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt: not formatted:"; echo "$$out"; exit 1; fi

vet:
	@for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done

staticcheck: bin/tools/staticcheck
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/tools/staticcheck ./...) || exit 1; done
	@bin/tools/staticcheck -tags interop ./interop

# The database, or where it cannot be reached the same reports from a module proxy.
# Without either nothing is known, and nothing is claimed. What only concerns the
# standard library is a matter of the Go that builds, and is told, not failed on.
govulncheck: bin/tools/govulncheck
	@db=https://vuln.go.dev; out=$$(bin/tools/govulncheck ./... 2>&1); rc=$$?; \
	case "$$rc $$out" in 0*) ;; *'fetching vulnerabilities'*) \
		dir=$$(GOWORK=off GOFLAGS=-mod=mod go mod download -json golang.org/x/vulndb@latest 2>/dev/null | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); \
		if [ -z "$$dir" ]; then echo 'govulncheck: SKIPPED: no vulnerability database'; exit 0; fi; \
		rm -rf out/vulndb; GOWORK=off go -C tools run ./vulndb "$$dir" "$(CURDIR)/out/vulndb" || exit 1; \
		out=$$(bin/tools/govulncheck -db "file://$(CURDIR)/out/vulndb" ./... 2>&1); rc=$$? ;; esac; \
	case "$$rc $$out" in 0*) echo "$$out" ;; \
	*'vulnerabilities from the Go standard library.'* | *'vulnerability from the Go standard library.'*) \
		echo "$$out" | grep -E '^Vulnerability|Found in|Fixed in'; echo "govulncheck: $$(go version) has these; a newer Go has not" ;; \
	*) echo "$$out"; exit $$rc ;; esac

bin/tools/%: tools/go.mod tools/go.sum
	GOWORK=off go -C tools build -o ../bin/tools/ tool

fuzz: ## Fuzz every target of every decoder for FUZZTIME each, and go on after a failure
	@rc=0; for d in $$(for m in $(MODULES); do (cd $$m && go list -f '{{.Dir}}' ./...); done); do \
		for f in $$(grep -shoE '^func Fuzz[[:alnum:]]+' $$d/*_test.go | sed 's/^func //'); do \
		echo "fuzz: $${d#$(CURDIR)/} $$f"; \
		(cd $$d && go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) .) || rc=1; done; done; exit $$rc

clean: ## Remove what was built and recorded
	rm -rf bin out
