# Every verb prints what it does not cover. Only `race` needs a C compiler.

SMOKE    ?= Fetch|Commit
FUZZTIME ?= 60s
RACED    := ./checker/... ./impl/core/... ./impl/node/... ./impl/wire/... ./traces/...
MODULES  := $(dir $(shell find . -name go.mod -not -path './tools/*' -not -path './out/*'))

.DEFAULT_GOAL := help
.PHONY: help build check check-deep test race bench trace defects lint gofmt vet staticcheck govulncheck fuzz clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the commands into bin/
	go build -o bin/ ./cmd/...

check: build ## Check models, bugs and recorded runs, and smoke the hot paths: under 3 minutes
	bin/quorate check
	bin/quorate bugs
	bin/quorate trace check -hidden 0 traces/recorded
	bin/quorate history check traces/recorded
	go test -run '^$$' -bench '$(SMOKE)' -benchtime 0.5s ./bench

check-deep: build ## As check, with the large models, more simulated runs, and fuzzing
	bin/quorate check -deep
	bin/quorate bugs
	rm -rf out/deep
	bin/tracegen -sim -seeds 1-1000 -out out/deep
	bin/quorate trace check -hidden 0 out/deep
	bin/quorate history check out/deep
	$(MAKE) fuzz

test: ## Run the tests of every module (TESTFLAGS=-v, say)
	@rc=0; for m in $(MODULES); do (cd $$m && go test $(TESTFLAGS) ./...) || rc=1; done; exit $$rc

race: ## Run the tests of what runs concurrently under the race detector
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then go test -race $(TESTFLAGS) $(RACED); \
	else echo 'race: SKIPPED: the race detector needs cgo and a C compiler'; fi

bench: ## Run all benchmarks
	go test -run '^$$' -bench . -benchmem ./bench/...

trace: build ## Record fresh runs, simulated and of real processes, and check them
	rm -rf out/sim out/real
	bin/tracegen -sim -seeds 1-20 -out out/sim
	bin/tracegen -nodes 3 -crashes 3 -seconds 10 -out out/real
	bin/quorate trace check out/sim
	bin/quorate trace check out/real
	bin/quorate history check out/sim
	bin/quorate history check out/real

defects: build ## Leave out each flush and break each rule of the core: which check notices
	bin/quorate defects

lint: gofmt vet staticcheck govulncheck ## Run gofmt, go vet, staticcheck and govulncheck

gofmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt: not formatted:"; echo "$$out"; exit 1; fi

vet:
	@for m in $(MODULES); do (cd $$m && go vet ./...) || exit 1; done

staticcheck: bin/tools/staticcheck
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/tools/staticcheck ./...) || exit 1; done

# Without the vulnerability database nothing is known, and nothing is claimed.
govulncheck: bin/tools/govulncheck
	@out=$$(bin/tools/govulncheck ./... 2>&1); rc=$$?; echo "$$out"; \
	case "$$rc $$out" in 0*) ;; *'fetching vulnerabilities'*) echo 'govulncheck: SKIPPED: no vulnerability database' ;; *) exit $$rc ;; esac

bin/tools/%: tools/go.mod tools/go.sum
	GOWORK=off go -C tools build -o ../bin/tools/ tool

fuzz: ## Fuzz every target for FUZZTIME
	@for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

clean: ## Remove what was built and recorded
	rm -rf bin out
