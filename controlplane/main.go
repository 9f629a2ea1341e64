// Command looptrace-controlplane serves the API under /v1, except the three paths of ingest (POST to /v1/runs, /v1/traces and
// /v1/logs), the MCP server at /mcp, and /llms.txt.
//
// Its environment: API_ADDR (default 127.0.0.1:7081), DATABASE_URL, CLICKHOUSE_URL and SESSION_SECRET, which
// has no default. API_REQUESTS_PER_SECOND (1000) and API_BYTES_PER_SECOND (50000000, of bodies both ways) bound each
// key and each user, and twice as much each project; ten times as much may come at once, and 0 is no limit.
// WEB_URL (http://127.0.0.1:7090) is where web answers. PUBLIC_URL is the address that people and agents use, where a
// proxy stands before web: the instrument guide names it. What is asked without a key must name the host of one of the
// two, a loopback one, or one of ALLOWED_HOSTS (names and addresses, with commas between).
// RATELIMIT_BROKERS are the addresses of Kafka where several of these processes share what they have admitted, and
// KAFKA_TLS and KAFKA_SASL what those ask for.
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

	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/views"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/kafkaclient"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/internal/requestbody"
)

// shutdownTimeout is how long requests that are under way may take to end.
const shutdownTimeout = 10 * time.Second

// bodyLimits bound the arrival of bodies, of which the largest have 1 MiB.
var bodyLimits = requestbody.Limits{Idle: 5 * time.Second, Total: 15 * time.Second}

// maxConnections leaves a process descriptors for its stores. Who comes beyond waits to be accepted.
const maxConnections = 8192

func main() {
	cfg, err := loadConfig(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "looptrace-controlplane: "+err.Error())
		os.Exit(1)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, cfg, log)
	stop()
	if err != nil {
		log.Error("control plane ends", "error", err)
		os.Exit(1)
	}
}

// config is what the environment says.
type config struct {
	addr          string
	databaseURL   string
	clickhouseURL string
	sessionSecret []byte
	// limits are those of each key and each user.
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
		missing = append(missing, errors.New("DATABASE_URL is not set; it is an address such as postgres://user:password@127.0.0.1:7087/looptrace"))
	}
	if cfg.clickhouseURL == "" {
		missing = append(missing, errors.New("CLICKHOUSE_URL is not set; it is an address such as clickhouse://127.0.0.1:7085/looptrace"))
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
		return "", fmt.Errorf("%s is %q and must be an address like https://looptrace.example.com", name, text)
	}
	return address, nil
}

// burstSeconds is how much may come at once after a rest.
const burstSeconds = 10

// parseLimit reads a rate.
func parseLimit(name, text string, otherwise float64) (ratelimit.Limit, error) {
	rate := otherwise
	if text != "" {
		var err error
		if rate, err = strconv.ParseFloat(text, 64); err != nil || !(rate >= 0 && rate <= ratelimit.MaxRate) {
			return ratelimit.Limit{}, fmt.Errorf("%s is %q and must be a number between 0, which is no limit, and %.0f", name, text, ratelimit.MaxRate)
		}
	}
	return ratelimit.Limit{Rate: rate, Burst: math.Ceil(burstSeconds * rate)}, nil
}

// rateLimits are the limits of the API: a project may take what two of its keys may.
func rateLimits(limiter *ratelimit.Limiter, each ratelimit.Limits) httpapi.RateLimits {
	project := each
	for i := range project {
		project[i].Rate *= 2
		project[i].Burst *= 2
	}
	return httpapi.RateLimits{Limiter: limiter, Key: each, Project: project, User: each}
}

// parseSecret never repeats the secret in its error.
func parseSecret(text string) ([]byte, error) {
	const advice = "make one with: openssl rand -hex 32"
	if text == "" {
		return nil, errors.New("SESSION_SECRET is not set; " + advice)
	}
	secret, err := hex.DecodeString(text)
	if err != nil {
		return nil, errors.New("SESSION_SECRET is not hexadecimal; " + advice)
	}
	if len(secret) < minSecretBytes {
		return nil, fmt.Errorf("SESSION_SECRET has %d bytes and needs %d; %s", len(secret), minSecretBytes, advice)
	}
	return secret, nil
}

// run serves until the context ends. It starts also while PostgreSQL or ClickHouse are away: what needs them
// answers 503 until they are back.
func run(ctx context.Context, cfg config, log *slog.Logger) error {
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
			log.WarnContext(ctx, "the usage of other replicas cannot be read yet; limiting by this one's share")
		}
	}

	reader := runs.NewService(conn, log)
	defer reader.Close()
	api, answers, err := newAPI(cfg, pool, reader, limiter, log) //nolint:contextcheck // a handler has the context of its request
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           requestbody.Bound(ctx, api, bodyLimits),
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      60 * time.Second, // of what is no operation of the API; those have their own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.addr, err)
	}
	log.InfoContext(ctx, "control plane serves", "address", listener.Addr().String())

	removing, stopRemoving := context.WithCancel(ctx)
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		removeExpired(removing, answers, log)
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
	log.InfoContext(ctx, "control plane stops")
	reader.Close() // streams would last
	// What was asked for is still answered, with its own deadline.
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		return errors.Join(fmt.Errorf("shut down: %w", err), server.Close())
	}
	return nil
}

// newAPI wires the services to the API and to the MCP server.
func newAPI(cfg config, pool *pgxpool.Pool, reader *runs.Service, limiter *ratelimit.Limiter, log *slog.Logger) (http.Handler, *idempotency.Service, error) {
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
	tools, err := mcpserver.New(mcpserver.Config{Runs: reader, FenceKey: fenceKey, Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("make the MCP server: %w", err)
	}
	api, err := httpapi.New(httpapi.Services{
		Identity: identities, Idempotency: answers, Projects: projects.New(pool, time.Now), Pricing: pricing.New(pool, reader, time.Now),
		Views: views.New(pool, time.Now), Runs: reader, Failures: failures.New(reader), Guides: guides, Tools: tools, FenceKey: fenceKey,
	}, rateLimits(limiter, cfg.limits), cfg.addresses, log)
	return api, answers, err
}

// removalInterval is how often answers that no retry gets any more are removed.
const removalInterval = 10 * time.Minute

// removeExpired removes them until the context ends. Several processes may do so at once.
func removeExpired(ctx context.Context, answers *idempotency.Service, log *slog.Logger) {
	ticker := time.NewTicker(removalInterval)
	defer ticker.Stop()
	for {
		if err := answers.RemoveExpired(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "answers that have expired could not be removed; tried again later", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
