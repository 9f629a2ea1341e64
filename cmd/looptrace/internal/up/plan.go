package up

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/journal"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/supervisor"
	"github.com/looptrace/looptrace/internal/clickhouse"
)

// Names of the processes in the log, in the order of their start.
const (
	postgresName     = "postgres"
	clickhouseName   = "clickhouse"
	brokerName       = "broker"
	collectorName    = "collector"
	controlPlaneName = "controlplane"
	webName          = "web"
)

var processNames = []string{postgresName, clickhouseName, brokerName, collectorName, controlPlaneName, webName}

// plan knows how each process is to be run.
type plan struct {
	self          string
	tree          layout.Tree
	data          string
	ports         layout.Ports
	log           *journal.Journal
	sessionSecret string
	textIndex     clickhouse.TextIndex
	postgres      engine.Postgres
}

func newPlan(o Options, log *journal.Journal) (*plan, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own executable: %w", err)
	}
	p := &plan{self: self, tree: o.Tree, data: o.DataDir, ports: o.Ports, log: log, sessionSecret: os.Getenv("SESSION_SECRET"), textIndex: o.TextIndex}
	if p.sessionSecret == "" {
		if p.sessionSecret, err = secret(p.data, "session-secret"); err != nil {
			return nil, err
		}
	}
	password, err := secret(p.data, "postgres-password")
	if err != nil {
		return nil, err
	}
	p.postgres = engine.Postgres{
		Home:     engine.Folder(p.tree.Engines()).Postgres(),
		DataDir:  filepath.Join(p.data, "postgres"),
		Port:     p.ports.Postgres.Number,
		Password: password,
	}
	if p.postgres.User, err = engine.Unprivileged(p.postgres.Home, p.data); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *plan) stores() migrate.Stores {
	return migrate.Stores{
		DatabaseURL:   p.postgres.URL(),
		ClickHouseURL: "clickhouse://" + p.ports.ClickHouse.Addr() + "/looptrace",
		KafkaBrokers:  p.ports.Broker.Addr(),
		TextIndex:     p.textIndex,
	}
}

func (p *plan) postgresProcess() supervisor.Process {
	path, args := p.postgres.Command()
	return supervisor.Process{
		Name: postgresName, Output: p.log.Writer(postgresName),
		Path: path, Args: args, Env: engine.PostgresEnv(), Attr: p.postgres.User.Attr,
		Prepare: p.postgres.Prepare, Ready: p.postgres.Ready,
		StopSignal: syscall.SIGINT, StopTimeout: 10 * time.Second, // fast shutdown: does not wait for clients
		// Immediate shutdown: a postmaster that is killed would leave its children for a moment.
		DeathSignal: syscall.SIGQUIT,
	}
}

func (p *plan) clickhouseProcess() supervisor.Process {
	return supervisor.Process{
		Name: clickhouseName, Output: p.log.Writer(clickhouseName),
		Path: p.self, Args: []string{
			"looptrace", "clickhouse", "--data", filepath.Join(p.data, "clickhouse"),
			"--tcp-addr", p.ports.ClickHouse.Addr(), "--http-addr", p.ports.ClickHouseHTTP.Addr(),
		},
		Env:         engineEnv("64MiB"),
		Ready:       answers("http://" + p.ports.ClickHouseHTTP.Addr() + "/ping"),
		StopTimeout: 5 * time.Second,
	}
}

func (p *plan) brokerProcess() supervisor.Process {
	return supervisor.Process{
		Name: brokerName, Output: p.log.Writer(brokerName),
		Path: p.self, Args: []string{
			"looptrace", "broker", "--data", filepath.Join(p.data, "queue"), "--addr", p.ports.Broker.Addr(),
			"--metrics-addr", p.ports.BrokerMetrics.Addr(),
		},
		// It holds a few MB, and what it reads and answers is garbage at once: collected as often as Go does by itself, it
		// takes a tenth more processor time. With a long queue to hand out it holds more, and the limit counts.
		Env:         append(engineEnv("128MiB"), "GOGC=300"),
		Ready:       brokerAnswers(p.ports.Broker.Addr()),
		StopTimeout: 10 * time.Second,
	}
}

func (p *plan) collectorProcess() supervisor.Process {
	stores := p.stores()
	return supervisor.Process{
		Name: collectorName, Output: p.log.Writer(collectorName),
		Path: p.tree.Collector(), Args: []string{"looptrace-collector", "--config", p.tree.CollectorConfig()},
		Env: serviceEnv(
			"INGEST_ADDR="+p.ports.Ingest.Addr(),
			"OTLP_GRPC_ADDR="+p.ports.OTLPGRPC.Addr(),
			"OTLP_HTTP_ADDR="+p.ports.OTLPHTTP.Addr(),
			"HEALTH_ADDR="+p.ports.CollectorHealth.Addr(),
			"METRICS_HOST=127.0.0.1",
			"METRICS_PORT="+strconv.Itoa(p.ports.CollectorMetrics.Number),
			"KAFKA_BROKERS="+stores.KafkaBrokers,
			// The embedded queue asks for neither, whatever the shell at hand is set up for.
			"KAFKA_TLS=", "KAFKA_SASL=",
			// After a kill the collector takes its partitions back at once, not when its group has missed it.
			"KAFKA_INSTANCE_ID=looptrace-up",
			"CLICKHOUSE_URL="+stores.ClickHouseURL,
			"DATABASE_URL="+stores.DatabaseURL,
			// A flood takes this much. GOGC=200 within 400 MiB spared nothing that could be told, for 50 MB more.
			"GOMEMLIMIT=350MiB",
		),
		Ready:       answers("http://" + p.ports.CollectorHealth.Addr() + "/readyz"),
		StopTimeout: 15 * time.Second, // it finishes the batches under way
	}
}

func (p *plan) controlPlaneProcess() supervisor.Process {
	stores := p.stores()
	return supervisor.Process{
		Name: controlPlaneName, Output: p.log.Writer(controlPlaneName),
		Path: p.tree.ControlPlane(), Args: []string{"looptrace-controlplane"},
		Env: serviceEnv(
			"API_ADDR="+p.ports.API.Addr(),
			"WEB_URL=http://"+p.ports.Web.Addr(),
			"DATABASE_URL="+stores.DatabaseURL,
			"CLICKHOUSE_URL="+stores.ClickHouseURL,
			"SESSION_SECRET="+p.sessionSecret,
			"GOMEMLIMIT=512MiB",
			// An answer is garbage once it is sent: a run of 1,000 spans costs two fifths less when it is collected later.
			"GOGC=300",
		),
		Ready:       answers("http://" + p.ports.API.Addr() + "/readyz"),
		StopTimeout: 10 * time.Second,
	}
}

func (p *plan) webProcess() supervisor.Process {
	return supervisor.Process{
		Name: webName, Output: p.log.Writer(webName),
		Path: p.self, Args: []string{"looptrace", "web"},
		Env: append(engineEnv("64MiB"),
			"WEB_ADDR="+p.ports.Web.Addr(),
			"API_URL=http://"+p.ports.API.Addr(),
			"INGEST_URL=http://"+p.ports.Ingest.Addr(),
			"COLLECTOR_HEALTH_URL=http://"+p.ports.CollectorHealth.Addr(),
			"UI_DIR="+p.tree.UI(),
		),
		Ready:       answers("http://" + p.ports.Web.Addr() + "/healthz"),
		StopTimeout: 4 * time.Second,
	}
}

// engineEnv is the environment of what needs nothing from outside.
func engineEnv(memory string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "GOMEMLIMIT=" + memory}
}

// serviceEnv is our own environment, which may hold proxies and keys of model providers, with what the
// service is configured by put over it. The session secret is for the one who gets it explicitly.
func serviceEnv(settings ...string) []string {
	set := map[string]bool{"SESSION_SECRET": true}
	for _, setting := range settings {
		name, _, _ := strings.Cut(setting, "=")
		set[name] = true
	}
	var env []string
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !set[name] {
			env = append(env, variable)
		}
	}
	return append(env, settings...)
}

// answers asks an HTTP address whether it is ready.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("ask for readiness: %w", err)
		}
		request.Close = true // a probe leaves nothing behind
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("ask for readiness: %w", err)
		}
		defer func() { _ = response.Body.Close() }() // only the status counts
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("ask for readiness: it answered %s", response.Status)
		}
		return nil
	}
}

// brokerAnswers asks the queue whether it serves: its port is open before its log is read.
func brokerAnswers(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(addr))
		if err != nil {
			return fmt.Errorf("connect to the queue: %w", err)
		}
		defer client.Close()
		return client.Ping(ctx) //nolint:wrapcheck // it names the broker
	}
}
