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

	"golang.org/x/net/netutil"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/wiring"
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
	conn, err := clickhouse.Open(cfg.clickhouseURL)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the process ends

	services, err := wiring.New(pool, conn, cfg.services, time.Now, log)
	if err != nil {
		return err
	}
	defer services.Runs.Close()
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
			services.Work.Run(working)
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
	return serve(ctx, cfg, services.Services, log)
}

// serve serves the API until the context ends.
func serve(ctx context.Context, cfg config, services httpapi.Services, log *slog.Logger) error {
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

	api, err := httpapi.New(services, rateLimits(limiter, cfg.limits), cfg.addresses, log) //nolint:contextcheck // handlers use the context of their request
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

	beside, stopBeside := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { services.Prompts.Run(beside) })
	for _, one := range maintenance(services) {
		running.Go(func() { one.run(beside, log) })
	}
	defer func() {
		stopBeside()
		running.Wait()
	}()

	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(listener, maxConnections)) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "control plane is stopping")
	services.Runs.Close() // ends streams, as the end of Prompts.Run does
	// Active requests finish within shutdownTimeout.
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		return errors.Join(fmt.Errorf("shut down: %w", err), server.Close())
	}
	return nil
}

// task is maintenance that is done periodically.
type task struct {
	name     string
	interval time.Duration
	do       func(context.Context) error
}

// maintenance removes what is no longer needed. Several processes may do it at once.
func maintenance(s httpapi.Services) []task {
	const seldom = 10 * time.Minute
	return []task{
		{"remove expired responses", seldom, s.Idempotency.RemoveExpired},
		{"remove the files of imports", seldom, s.Datasets.RemoveLeftovers},
		{"encrypt API keys of providers with the new secret", seldom, s.Providers.Reencrypt},
		{"delete the runs of deleted projects", 10 * time.Second, func(ctx context.Context) error { return s.Projects.Purge(ctx, s.Runs.DeleteProject) }},
	}
}

// run does the task at once, and each interval until the context ends.
func (t task) run(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := t.do(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "maintenance failed; will retry", "task", t.name, "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}
