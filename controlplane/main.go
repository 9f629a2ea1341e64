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
//   - API_REQUESTS_PER_SECOND (1000), API_BYTES_PER_SECOND (50000000, of request and response bodies): the rate limits
//     of each key and each user. A project has twice as much. The burst is ten seconds. 0 is no limit.
//   - WEB_URL: the address of web (http://127.0.0.1:7090).
//   - PUBLIC_URL: the public address, for the instrument guide, if web is behind a proxy.
//   - ALLOWED_HOSTS: comma-separated names and addresses. A request without a key must have one of these hosts, the
//     host of WEB_URL or PUBLIC_URL, or a loopback host.
//   - RATELIMIT_BROKERS: addresses of Kafka, through which replicas share their usage. KAFKA_TLS and KAFKA_SASL
//     configure the connection.
package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/net/netutil"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/jobs"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
	"github.com/looptrace/looptrace/controlplane/organizations"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/views"
	"github.com/looptrace/looptrace/internal/allowedhost"
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

// config is the configuration from the environment.
type config struct {
	addr          string
	databaseURL   string
	clickhouseURL string
	sessionSecret []byte
	// limits apply to each key and each user.
	limits           ratelimit.Limits
	addresses        httpapi.Addresses
	rateLimitBrokers []string
}

const minSecretBytes = 32

func loadConfig(getenv func(string) string) (config, error) {
	cfg := config{addr: getenv("API_ADDR"), databaseURL: getenv("DATABASE_URL"), clickhouseURL: getenv("CLICKHOUSE_URL")}
	if cfg.addr == "" {
		cfg.addr = "127.0.0.1:7081"
	}
	var missing []error
	if cfg.databaseURL == "" {
		missing = append(missing, errors.New("DATABASE_URL is not set; set it to an address such as postgres://user:password@127.0.0.1:7087/looptrace"))
	}
	if cfg.clickhouseURL == "" {
		missing = append(missing, errors.New("CLICKHOUSE_URL is not set; set it to an address such as clickhouse://127.0.0.1:7085/looptrace"))
	}
	var err error
	if cfg.sessionSecret, err = parseSecret(getenv("SESSION_SECRET")); err != nil {
		missing = append(missing, err)
	}
	if cfg.limits[ratelimit.Requests], err = parseLimit("API_REQUESTS_PER_SECOND", getenv("API_REQUESTS_PER_SECOND"), 1000); err != nil {
		missing = append(missing, err)
	}
	if cfg.limits[ratelimit.Bytes], err = parseLimit("API_BYTES_PER_SECOND", getenv("API_BYTES_PER_SECOND"), 50_000_000); err != nil {
		missing = append(missing, err)
	}
	if cfg.addresses.Web, err = parseAddress("WEB_URL", cmp.Or(getenv("WEB_URL"), "http://127.0.0.1:7090")); err != nil {
		missing = append(missing, err)
	}
	if public := getenv("PUBLIC_URL"); public != "" {
		if cfg.addresses.Public, err = parseAddress("PUBLIC_URL", public); err != nil {
			missing = append(missing, err)
		}
	}
	if cfg.addresses.Hosts, err = allowedhost.FromEnvironment(getenv); err != nil {
		missing = append(missing, err)
	}
	if brokers := getenv("RATELIMIT_BROKERS"); brokers != "" {
		cfg.rateLimitBrokers = strings.Split(brokers, ",")
	}
	return cfg, errors.Join(missing...)
}

func parseAddress(name, text string) (string, error) {
	address, ok := instrument.ValidEndpoint(text)
	if !ok {
		return "", fmt.Errorf("%s is %q; it must be an address such as https://looptrace.example.com", name, text)
	}
	return address, nil
}

// burstSeconds is the size of a burst, in seconds of the rate.
const burstSeconds = 10

// parseLimit parses a rate in units per second. Empty text gives the default.
func parseLimit(name, text string, defaultRate float64) (ratelimit.Limit, error) {
	rate := defaultRate
	if text != "" {
		var err error
		if rate, err = strconv.ParseFloat(text, 64); err != nil || !(rate >= 0 && rate <= ratelimit.MaxRate) {
			return ratelimit.Limit{}, fmt.Errorf("%s is %q; it must be a number between 0 (no limit) and %.0f", name, text, ratelimit.MaxRate)
		}
	}
	return ratelimit.Limit{Rate: rate, Burst: math.Ceil(burstSeconds * rate)}, nil
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

// parseSecret parses the session secret. Its errors do not contain the secret.
func parseSecret(text string) ([]byte, error) {
	const advice = "generate one with: openssl rand -hex 32"
	if text == "" {
		return nil, errors.New("SESSION_SECRET is not set; " + advice)
	}
	secret, err := hex.DecodeString(text)
	if err != nil {
		return nil, errors.New("SESSION_SECRET is not hexadecimal; " + advice)
	}
	if len(secret) < minSecretBytes {
		return nil, fmt.Errorf("SESSION_SECRET has %d bytes and needs at least %d; %s", len(secret), minSecretBytes, advice)
	}
	return secret, nil
}

// run does its duties until the context ends. It also starts if PostgreSQL or ClickHouse is not available. Requests that need
// them get status 503 in the meantime, and jobs wait.
func run(ctx context.Context, cfg config, does duties, log *slog.Logger) error {
	pool, err := postgres.Open(ctx, cfg.databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	queue, err := jobs.New(pool, log)
	if err != nil {
		return fmt.Errorf("open the queue of jobs: %w", err)
	}
	sets := datasets.New(pool, queue, time.Now)
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
	return serve(ctx, cfg, pool, sets, log)
}

// serve serves the API until the context ends.
func serve(ctx context.Context, cfg config, pool *pgxpool.Pool, sets *datasets.Service, log *slog.Logger) error {
	conn, err := clickhouse.Open(cfg.clickhouseURL)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the process ends

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
	reader := runs.NewService(conn, log)
	reader.LinkPrompts(registry)
	defer reader.Close()
	owned := projects.New(pool, time.Now)
	api, answers, err := newAPI(cfg, pool, owned, registry, sets, reader, limiter, log) //nolint:contextcheck // handlers use the context of their request
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

	removing, stopRemoving := context.WithCancel(ctx)
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		removeOld(removing, answers, owned, sets, reader, log)
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
func newAPI(cfg config, pool *pgxpool.Pool, owned *projects.Service, registry *prompts.Service, sets *datasets.Service, reader *runs.Service, limiter *ratelimit.Limiter, log *slog.Logger) (http.Handler, *idempotency.Service, error) {
	identities := identity.New(pool, cfg.sessionSecret, time.Now)
	answers, err := idempotency.New(pool, identities.DeriveKey("names of retries"), identities.DeriveKey("answers kept for retries"), time.Now)
	if err != nil {
		return nil, nil, err
	}
	guides, err := instrument.New()
	if err != nil {
		return nil, nil, fmt.Errorf("read the instrument guide: %w", err)
	}
	fenceKey := identities.DeriveKey("marks around recorded text")
	tools, err := mcpserver.New(mcpserver.Config{Runs: reader, Prompts: registry, FenceKey: fenceKey, Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("create the MCP server: %w", err)
	}
	api, err := httpapi.New(httpapi.Services{
		Identity: identities, Idempotency: answers, Organizations: organizations.New(pool, time.Now), Projects: owned, Prompts: registry, Datasets: sets,
		Pricing: pricing.New(pool, reader, time.Now),
		Views:   views.New(pool, time.Now), Runs: reader, Failures: failures.New(reader), Guides: guides, Tools: tools, FenceKey: fenceKey,
	}, rateLimits(limiter, cfg.limits), cfg.addresses, log)
	return api, answers, err
}

// The intervals between removals of expired answers to retries, and of the runs of deleted projects.
const (
	removalInterval = 10 * time.Minute
	purgeInterval   = 10 * time.Second
)

// removeOld removes periodically what is no longer needed until the context ends. Several processes may run it at once.
func removeOld(ctx context.Context, answers *idempotency.Service, owned *projects.Service, sets *datasets.Service, reader *runs.Service, log *slog.Logger) {
	removal, purge := time.NewTicker(removalInterval), time.NewTicker(purgeInterval)
	defer removal.Stop()
	defer purge.Stop()
	remove := func() {
		if err := answers.RemoveExpired(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "remove expired responses; will retry", "error", err)
		}
		if err := sets.RemoveLeftovers(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "remove the files of imports; will retry", "error", err)
		}
	}
	remove()
	for {
		select {
		case <-removal.C:
			remove()
		case <-purge.C:
			if err := owned.Purge(ctx, reader.DeleteProject); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "delete the runs of deleted projects; will retry", "error", err)
			}
			if err := sets.RequeueImports(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "find imports without a job; will retry", "error", err)
			}
			if err := sets.RequeueChecks(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "find checks for near-duplicates without a job; will retry", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
