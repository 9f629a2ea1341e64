// Package wiring constructs the services of the control plane: each once, after those that its constructor takes. Subjects that are
// peers know each other by interfaces; what connects them is in httpapi.
//
// The constructors of services that work on jobs also register the jobs with the queue. Nothing runs until [work.Queue.Run],
// [prompts.Service.Run], [providers.Service.Run] and [recording.Recorder.Run].
package wiring

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/looptrace/looptrace/controlplane/agents"
	"github.com/looptrace/looptrace/controlplane/causes"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/datasets/duplicates"
	"github.com/looptrace/looptrace/controlplane/diagnoses"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/evaluations/report"
	"github.com/looptrace/looptrace/controlplane/evaluations/results"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/experiments"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/findings"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
	"github.com/looptrace/looptrace/controlplane/organizations"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/controlplane/playground"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/views"
	"github.com/looptrace/looptrace/controlplane/work"
)

// Config is what services take from the environment.
type Config struct {
	Identity identity.Config
	// ProviderSecrets encrypt the API keys of model providers. ProviderAddresses are those that may be called.
	ProviderSecrets   [][]byte
	ProviderAddresses outbound.Policy
	// IngestURL is where the runs go that the control plane makes.
	IngestURL string
	Datasets  datasets.Limits
}

// Services are those behind the API, and those that only work on jobs.
type Services struct {
	httpapi.Services
	Experiments *experiments.Service
}

// New constructs the services on the databases. now is the clock. The caller closes Runs.
func New(pool *pgxpool.Pool, conn driver.Conn, c Config, now func() time.Time, log *slog.Logger) (Services, error) {
	var s Services
	var err error
	s.Identity = identity.New(pool, c.Identity, now)
	s.Idempotency, err = idempotency.New(pool, s.Identity.DeriveKey("names of retries"), s.Identity.DeriveKey("answers kept for retries"), now)
	if err != nil {
		return s, fmt.Errorf("open the answers kept for retries: %w", err)
	}
	s.FenceKey = s.Identity.DeriveKey("marks around recorded text")
	if s.Work, err = work.New(pool, now, log); err != nil {
		return s, fmt.Errorf("open the queue of jobs: %w", err)
	}
	s.Organizations = organizations.New(pool, now)
	s.Projects = projects.New(pool, now)
	s.Views = views.New(pool, now)

	s.Prompts = prompts.New(pool, now, log)
	s.Runs = runs.NewService(conn, s.Prompts, s.Projects, log)
	s.Failures = failures.New(s.Runs, pool, now)
	s.Causes = causes.New(s.Runs, now)
	s.Agents = agents.New(s.Runs, now)

	s.Pricing = pricing.New(pool, s.Runs, now)
	keys, err := providers.NewKeyring(c.ProviderSecrets...)
	if err != nil {
		return s, fmt.Errorf("open the keyring of API keys of providers: %w", err)
	}
	s.Providers = providers.New(pool, keys, c.ProviderAddresses, s.Pricing, now, log)
	s.Recorder = recording.New(c.IngestURL, s.Identity, log)
	s.Completions = completions.New(s.Providers, s.Recorder, now)
	s.Playground = playground.New(pool, now)

	s.Datasets = datasets.New(pool, s.Work, c.Datasets, now)
	s.Duplicates = duplicates.New(pool, s.Work, s.Datasets, now)
	stored := evaluations.New(pool, s.Work, s.Datasets, s.Providers, now)
	read := results.New(pool, stored, s.Datasets)
	s.Evaluations = httpapi.EvaluationServices{
		Service:  stored,
		Starter:  start.New(pool, s.Work, stored, read, s.Datasets, s.Providers, now),
		Worker:   execute.New(pool, s.Work, stored, read, s.Datasets, s.Providers, s.Completions, s.Runs, now),
		Reporter: report.New(pool, stored, read),
	}
	s.Experiments = experiments.New(pool, s.Work, s.Runs, s.Datasets, stored, s.Evaluations.Starter, now, log)
	s.Replays = replays.New(pool, s.Work, s.Runs, s.Providers, s.Recorder, httpapi.ReplayJudges(s.Evaluations.Worker), now, log)
	s.ReplayBatches = batches.New(pool, s.Work, s.Replays, s.Runs, s.Providers, now)
	s.Diagnoses = diagnoses.New(pool, s.Work, s.Runs, s.Failures, s.Replays, s.Providers, s.Completions, s.FenceKey, now)
	peers := httpapi.PeersOfFindings{Replays: s.ReplayBatches, Registry: s.Prompts, Sets: s.Datasets, Runs: s.Runs}
	s.Findings = findings.New(pool, s.Runs, peers, peers, peers, now)
	ruleFilters, err := httpapi.ReadRuleFilters()
	if err != nil {
		return s, fmt.Errorf("read the filters of rules: %w", err)
	}
	s.Rules = rules.New(pool, s.Work, s.Runs, s.Evaluations.Worker, ruleFilters, now, log)

	if s.Guides, err = instrument.New(); err != nil {
		return s, fmt.Errorf("read the instrument guide: %w", err)
	}
	runFilters, err := httpapi.ReadRunFilters()
	if err != nil {
		return s, fmt.Errorf("read the filters of runs: %w", err)
	}
	s.Tools, err = mcpserver.New(mcpserver.Config{
		Runs: s.Runs, Failures: s.Failures, Causes: s.Causes, Prompts: s.Prompts, Replays: s.Replays, Batches: s.ReplayBatches, Work: s.Work, ReadFilter: runFilters, FenceKey: s.FenceKey, Log: log,
	})
	if err != nil {
		return s, fmt.Errorf("create the MCP server: %w", err)
	}
	return s, nil
}
