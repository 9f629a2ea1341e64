// Command looptrace-controlplane serves the API under /v1, except the three paths of ingest (POST to /v1/runs,
// /v1/traces and /v1/logs), the MCP server at /mcp, and /llms.txt. It also works on jobs, such as imports.
//
// With the argument serve it only serves, and with work it only works on jobs, so that each runs on machines of its own.
//
// It reads these environment variables:
//
//   - API_ADDR: the address to listen on (127.0.0.1:7081).
//   - DATABASE_URL, CLICKHOUSE_URL: the addresses of PostgreSQL and ClickHouse. Required.
//   - SESSION_SECRET: at least 32 bytes in hexadecimal. Required.
//   - SETUP_TOKEN: what the first user must know to set up Looptrace. Without it, nothing.
//   - INGEST_URL: the address of ingest (http://127.0.0.1:7080), which records the runs that the control plane makes.
//   - PROVIDER_KEYS_SECRET: secrets like SESSION_SECRET with commas between, for the API keys of model providers. The first one
//     encrypts, all decrypt. Without it, SESSION_SECRET encrypts.
//   - PROVIDER_PRIVATE_ADDRESSES: addresses of model providers that are allowed although they are not public: loopback, CIDRs with
//     commas between, or all.
//   - OUTBOUND_PROXY: a proxy (http, https, socks5) through which model providers at public addresses are called.
//   - API_REQUESTS_PER_SECOND (1000), API_BYTES_PER_SECOND (50000000, of request and response bodies): the rate limits
//     of each key and each user. A project has twice as much. The burst is ten seconds. 0 is no limit.
//   - IMPORT_MAX_ROWS (1000000) and IMPORT_MAX_BYTES (2147483648, as JSON): of a file that is imported. DATASET_MAX_ITEMS (1000000).
//     IMPORT_MAX_WAITING_FILES (10) and IMPORT_MAX_WAITING_BYTES (4294967296): of the imports of a project that are not finished.
//   - WEB_URL: the address of web (http://127.0.0.1:7090).
//   - WEB_SECRET: a random text of at least 16 characters that web has too. Then the headers that tell of a client behind a proxy count from web only. Otherwise they
//     count from every program of this machine.
//   - PUBLIC_URL: the public address, for the instrument guide, if web is behind a proxy.
//   - ALLOWED_HOSTS: comma-separated names and addresses. A request without a key must have one of these hosts, the
//     host of WEB_URL or PUBLIC_URL, or a loopback host.
//   - RATELIMIT_BROKERS: addresses of Kafka, through which replicas share their usage. KAFKA_TLS and KAFKA_SASL
//     configure the connection.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/net/netutil"

	"github.com/looptrace/looptrace/controlplane/agents"
	"github.com/looptrace/looptrace/controlplane/causes"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/diagnoses"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/experiments"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/findings"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
	"github.com/looptrace/looptrace/controlplane/organizations"
	"github.com/looptrace/looptrace/controlplane/playground"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/views"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/kafkaclient"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// shutdownTimeout limits the time for active requests to finish.
const shutdownTimeout = 10 * time.Second

// bodyLimits limit the time to receive a request body, which has at most 1 MiB.
var bodyLimits = requestbody.Limits{Idle: 5 * time.Second, Total: 15 * time.Second}

// maxConnections leaves file descriptors for the databases. Further connections wait to be accepted.
const maxConnections = 8192

func main() {
	does, err := parseArgs(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "looptrace-controlplane: "+err.Error())
		os.Exit(2)
	}
	cfg, err := loadConfig(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "looptrace-controlplane: "+err.Error())
		os.Exit(1)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, cfg, does, log)
	stop()
	if err != nil {
		log.Error("control plane failed", "error", err)
		os.Exit(1)
	}
}

// duties are what a process does.
type duties struct{ serve, work bool }

// parseArgs parses the arguments of the command.
func parseArgs(args []string) (duties, error) {
	switch {
	case len(args) == 0:
		return duties{serve: true, work: true}, nil
	case len(args) == 1 && args[0] == "serve":
		return duties{serve: true}, nil
	case len(args) == 1 && args[0] == "work":
		return duties{work: true}, nil
	}
	return duties{}, fmt.Errorf("%q is not a command; it is serve, work, or nothing for both", strings.Join(args, " "))
}

// rateLimits returns the limits of the API. The limits of a project are twice those of a key.
func rateLimits(limiter *ratelimit.Limiter, each ratelimit.Limits) httpapi.RateLimits {
	project := each
	for i := range project {
		project[i].Rate *= 2
		project[i].Burst *= 2
	}
	return httpapi.RateLimits{Limiter: limiter, Key: each, Project: project, User: each}
}

// run does its duties until the context ends. It also starts if PostgreSQL or ClickHouse is not available. Requests that need
// them get status 503 in the meantime, and jobs wait.
func run(ctx context.Context, cfg config, does duties, log *slog.Logger) error {
	pool, err := postgres.Open(ctx, cfg.databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	queue, err := work.New(pool, time.Now, log)
	if err != nil {
		return fmt.Errorf("open the queue of jobs: %w", err)
	}
	conn, err := clickhouse.Open(cfg.clickhouseURL)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the process ends

	reader := runs.NewService(conn, log)
	defer reader.Close()
	services, err := newServices(cfg, pool, queue, reader, log)
	if err != nil {
		return err
	}
	// They end after the last request and job, whose calls and runs they store.
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { services.Providers.Run(background) })
	running.Go(func() { services.Recorder.Run(background) })
	defer func() {
		stopBackground()
		running.Wait()
	}()
	if does.work {
		working, stopWorking := context.WithCancel(ctx)
		worked := make(chan struct{})
		go func() {
			defer close(worked)
			queue.Run(working)
		}()
		defer func() {
			stopWorking()
			<-worked
		}()
	}
	if !does.serve {
		log.InfoContext(ctx, "control plane works on jobs")
		<-ctx.Done()
		return nil
	}
	return serve(ctx, cfg, pool, services, log)
}

// newServices makes what requests and jobs need.
func newServices(cfg config, pool *pgxpool.Pool, queue *work.Queue, reader *runs.Service, log *slog.Logger) (httpapi.Services, error) {
	identities := identity.New(pool, cfg.sessionSecret, identity.PasswordCost, time.Now)
	identities.SetupToken = cfg.setupToken
	keys, err := providers.NewKeyring(cfg.providerSecrets...)
	if err != nil {
		return httpapi.Services{}, fmt.Errorf("open the keyring of API keys of providers: %w", err)
	}
	priced := pricing.New(pool, reader, time.Now)
	models := providers.New(pool, keys, cfg.providerAddresses, priced, time.Now, log)
	recorder := recording.New(cfg.ingestURL, identities, log)
	sets, completed := datasets.New(pool, queue, time.Now), completions.New(models, recorder, time.Now)
	sets.Limit(cfg.datasets)
	evaluated := evaluations.New(pool, queue, sets, models, completed, reader, time.Now, log)
	experiments.New(pool, queue, reader, sets, evaluated, time.Now, log)
	filters, err := httpapi.ReadRuleFilters()
	if err != nil {
		return httpapi.Services{}, err
	}
	replayed, grouped := replays.New(pool, queue, reader, models, recorder, time.Now, log), failures.New(reader, pool, time.Now)
	fenceKey := identities.DeriveKey("marks around recorded text")
	replayed.JudgeWith(httpapi.ReplayJudges(evaluated))
	return httpapi.Services{
		Identity: identities, Pricing: priced, Providers: models, Recorder: recorder, Datasets: sets, Completions: completed, Runs: reader, Work: queue,
		Evaluations: evaluated, Rules: rules.New(pool, queue, reader, evaluated, filters, time.Now, log),
		Replays: replayed, Failures: grouped, FenceKey: fenceKey,
		Diagnoses: diagnoses.New(pool, queue, reader, grouped, replayed, models, completed, fenceKey, time.Now),
	}, nil
}

// serve serves the API until the context ends.
func serve(ctx context.Context, cfg config, pool *pgxpool.Pool, services httpapi.Services, log *slog.Logger) error {
	limiter := ratelimit.New()
	if len(cfg.rateLimitBrokers) > 0 {
		security, err := kafkaclient.FromEnvironment()
		if err != nil {
			return err
		}
		membership, caughtUp, err := limiter.ShareOverKafka(ctx, cfg.rateLimitBrokers, ratelimit.APIUsageTopic, "looptrace-controlplane", "", security.Options()...)
		if err != nil {
			return err
		}
		defer membership.Close(context.WithoutCancel(ctx))
		if !caughtUp {
			log.WarnContext(ctx, "usage of other replicas cannot be read yet; rate limits use this replica's share")
		}
	}

	registry := prompts.New(ctx, pool, time.Now, log)
	defer registry.Close()
	identities, reader := services.Identity, services.Runs
	reader.LinkPrompts(registry)
	answers, err := idempotency.New(pool, identities.DeriveKey("names of retries"), identities.DeriveKey("answers kept for retries"), time.Now)
	if err != nil {
		return fmt.Errorf("open the answers kept for retries: %w", err)
	}
	services.Idempotency, services.Organizations, services.Projects = answers, organizations.New(pool, time.Now), projects.New(pool, time.Now)
	reader.DefineFailures(services.Projects)
	services.Prompts, services.Playground, services.Views = registry, playground.New(pool, time.Now), views.New(pool, time.Now)
	services.Agents = agents.New(reader, time.Now)
	services.Causes = causes.New(reader, time.Now)
	peers := httpapi.PeersOfFindings{Replays: services.Replays, Registry: registry, Sets: services.Datasets, Runs: reader}
	services.Findings = findings.New(pool, reader, peers, peers, peers, time.Now)
	api, err := newAPI(cfg, services, limiter, log) //nolint:contextcheck // handlers use the context of their request
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           requestbody.Bound(ctx, api, bodyLimits),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      60 * time.Second, // API operations have their own timeouts
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.addr, err)
	}
	log.InfoContext(ctx, "control plane started", "address", listener.Addr().String())

	removing, stopRemoving := context.WithCancel(context.WithoutCancel(ctx))
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		removeOld(removing, &services, log)
	}()
	defer func() {
		stopRemoving()
		<-removed
	}()

	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(listener, maxConnections)) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "control plane is stopping")
	reader.Close() // ends streams, as the next line does
	registry.Close()
	// Active requests finish within shutdownTimeout.
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		return errors.Join(fmt.Errorf("shut down: %w", err), server.Close())
	}
	return nil
}

// newAPI connects the services to the API and the MCP server.
func newAPI(cfg config, services httpapi.Services, limiter *ratelimit.Limiter, log *slog.Logger) (http.Handler, error) {
	var err error
	if services.Guides, err = instrument.New(); err != nil {
		return nil, fmt.Errorf("read the instrument guide: %w", err)
	}
	filters, err := httpapi.ReadRunFilters()
	if err != nil {
		return nil, fmt.Errorf("read the filters of runs: %w", err)
	}
	services.Tools, err = mcpserver.New(mcpserver.Config{Runs: services.Runs, Failures: services.Failures, Causes: services.Causes, Prompts: services.Prompts, Replays: services.Replays, Work: services.Work, ReadFilter: filters, FenceKey: services.FenceKey, Log: log})
	if err != nil {
		return nil, fmt.Errorf("create the MCP server: %w", err)
	}
	return httpapi.New(services, rateLimits(limiter, cfg.limits), cfg.addresses, log)
}

// The intervals between removals of expired answers to retries, and of the runs of deleted projects.
const (
	removalInterval = 10 * time.Minute
	purgeInterval   = 10 * time.Second
)

// removeOld removes periodically what is no longer needed until the context ends. Several processes may run it at once.
func removeOld(ctx context.Context, s *httpapi.Services, log *slog.Logger) {
	removal, purge := time.NewTicker(removalInterval), time.NewTicker(purgeInterval)
	defer removal.Stop()
	defer purge.Stop()
	remove := func() {
		if err := s.Idempotency.RemoveExpired(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "remove expired responses; will retry", "error", err)
		}
		if err := s.Datasets.RemoveLeftovers(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "remove the files of imports; will retry", "error", err)
		}
		if err := s.Providers.EncryptAgain(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "encrypt API keys of providers with the new secret; will retry", "error", err)
		}
	}
	remove()
	for {
		select {
		case <-removal.C:
			remove()
		case <-purge.C:
			if err := s.Projects.Purge(ctx, s.Runs.DeleteProject); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "delete the runs of deleted projects; will retry", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
