package up

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/broker"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/credentials"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/journal"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/supervisor"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/kafkaclient"
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

// plan describes how to run each process.
type plan struct {
	self          string
	tree          layout.Tree
	data          string
	ports         layout.Ports
	log           *journal.Journal
	sessionSecret string
	// collectorConfigs are read after the collector's own.
	collectorConfigs []string
	// webSecret proves to the API and the collector that requests come from web. It changes with each start.
	webSecret string
	postgres  engine.Postgres
	stores    migrate.Stores
	passwords credentials.Credentials
}

func newPlan(o Options, log *journal.Journal) (*plan, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own executable: %w", err)
	}
	passwords, err := credentials.Open(o.DataDir)
	if err != nil {
		return nil, err
	}
	p := &plan{
		self: self, tree: o.Tree, data: o.DataDir, ports: o.Ports, log: log, passwords: passwords,
		sessionSecret: cmp.Or(os.Getenv("SESSION_SECRET"), passwords.SessionSecret), webSecret: rand.Text(),
		postgres: engine.Postgres{
			Home:     engine.Folder(o.Tree.Engines()).Postgres(),
			DataDir:  filepath.Join(o.DataDir, "postgres"),
			Port:     o.Ports.Postgres.Number,
			Password: passwords.Postgres,
		},
		stores: Stores(o.Ports, passwords),
	}
	p.stores.TextIndex = o.TextIndex
	p.collectorConfigs = o.CollectorConfigs
	if p.postgres.User, err = engine.Unprivileged(p.postgres.Home, p.data); err != nil {
		return nil, err
	}
	return p, nil
}

// Stores returns the addresses of the stores of an instance on this machine.
func Stores(ports layout.Ports, passwords credentials.Credentials) migrate.Stores {
	database := engine.Postgres{Port: ports.Postgres.Number, Password: passwords.Postgres}
	return migrate.Stores{
		DatabaseURL: database.URL(), DatabaseAdminURL: database.AdminURL(),
		ClickHouseURL: engine.ClickHouse{Addr: ports.ClickHouse.Addr(), Password: passwords.ClickHouse, Database: engine.Database}.URL(),
		KafkaBrokers:  ports.Broker.Addr(),
		KafkaSecurity: kafkaclient.Security{SASL: broker.Login(passwords.Queue)},
	}
}

func (p *plan) postgresProcess() supervisor.Process {
	path, args := p.postgres.Command()
	return supervisor.Process{
		Name: postgresName, Output: p.log.Writer(postgresName),
		Path: path, Args: args, Env: engine.PostgresEnv(), Attr: p.postgres.User.Attr,
		Prepare: p.postgres.Prepare, Ready: p.postgres.Ready,
		StopSignal: syscall.SIGINT, StopTimeout: 10 * time.Second, // fast shutdown: does not wait for clients
		// Immediate shutdown: after SIGKILL the children of a postmaster live on for a moment.
		DeathSignal: syscall.SIGQUIT,
	}
}

func (p *plan) clickhouseProcess() supervisor.Process {
	return supervisor.Process{
		Name: clickhouseName, Output: p.log.Writer(clickhouseName),
		Path: p.self, Args: []string{
			"looptrace", "clickhouse", "--data", filepath.Join(p.data, "clickhouse"),
			"--addr", p.ports.ClickHouse.Addr(),
		},
		Env:         append(engineEnv("64MiB"), "CLICKHOUSE_PASSWORD="+p.passwords.ClickHouse),
		Ready:       clickhouseAnswers(p.stores.ClickHouseURL),
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
		// It has a live heap of a few MB, and everything that it reads and answers is garbage at once: with Go's default
		// it takes a tenth more processor time. With a long queue it holds more, and the memory limit applies.
		Env:         append(engineEnv("128MiB"), "GOGC=300", "QUEUE_PASSWORD="+p.passwords.Queue),
		Ready:       brokerAnswers(p.stores),
		StopTimeout: 10 * time.Second,
	}
}

// checkCollector checks the files that are read after the collector's own configuration: with a faulty one the collector
// would end at once, again and again.
func (p *plan) checkCollector(ctx context.Context) error {
	if len(p.collectorConfigs) == 0 {
		return nil
	}
	collector := p.collectorProcess()
	validate := exec.CommandContext(ctx, collector.Path, append([]string{"validate"}, collector.Args[1:]...)...) //nolint:gosec // our own executable
	validate.Env = collector.Env
	if out, err := validate.CombinedOutput(); err != nil {
		return fmt.Errorf("the collector cannot use --collector-config %s: %w\n%s", strings.Join(p.collectorConfigs, ", "), err, bytes.TrimSpace(out))
	}
	return nil
}

func (p *plan) collectorProcess() supervisor.Process {
	args := []string{"looptrace-collector", "--config", p.tree.CollectorConfig()}
	for _, file := range p.collectorConfigs {
		args = append(args, "--config", file)
	}
	return supervisor.Process{
		Name: collectorName, Output: p.log.Writer(collectorName),
		Path: p.tree.Collector(), Args: args,
		Env: serviceEnv(
			"INGEST_ADDR="+p.ports.Ingest.Addr(),
			"OTLP_GRPC_ADDR="+p.ports.OTLPGRPC.Addr(),
			"OTLP_HTTP_ADDR="+p.ports.OTLPHTTP.Addr(),
			"HEALTH_ADDR="+p.ports.CollectorHealth.Addr(),
			"WEB_SECRET="+p.webSecret,
			"METRICS_HOST=127.0.0.1",
			"METRICS_PORT="+strconv.Itoa(p.ports.CollectorMetrics.Number),
			"KAFKA_BROKERS="+p.stores.KafkaBrokers,
			// The embedded queue has no TLS, whatever the environment says.
			"KAFKA_TLS=", "KAFKA_SASL="+p.stores.KafkaSecurity.SASL.YAML(),
			// After a kill the collector gets its partitions back at once, without waiting for the group's session timeout.
			"KAFKA_INSTANCE_ID=looptrace-up",
			"CLICKHOUSE_URL="+p.stores.ClickHouseURL,
			"DATABASE_URL="+p.stores.DatabaseURL,
			// For queues of exporters that --collector-config adds.
			"COLLECTOR_DATA="+orUnset("COLLECTOR_DATA", filepath.Join(p.data, "collector")),
			// The highest load needs this much. GOGC=200 within 400 MiB saved no measurable time, for 50 MB more.
			"GOMEMLIMIT=350MiB",
		),
		Ready:       answers("http://" + p.ports.CollectorHealth.Addr() + "/readyz"),
		StopTimeout: 15 * time.Second, // it finishes its batches
	}
}

// orUnset returns a variable of the environment, or the default if it is not set.
func orUnset(name, otherwise string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	return otherwise
}

func (p *plan) controlPlaneProcess() supervisor.Process {
	return supervisor.Process{
		Name: controlPlaneName, Output: p.log.Writer(controlPlaneName),
		Path: p.tree.ControlPlane(), Args: []string{"looptrace-controlplane"},
		Env: serviceEnv(
			"API_ADDR="+p.ports.API.Addr(),
			"WEB_URL=http://"+p.ports.Web.Addr(),
			"DATABASE_URL="+p.stores.DatabaseURL,
			"CLICKHOUSE_URL="+p.stores.ClickHouseURL,
			"SESSION_SECRET="+p.sessionSecret,
			"SETUP_TOKEN="+os.Getenv("SETUP_TOKEN"),
			"WEB_SECRET="+p.webSecret,
			"INGEST_URL=http://"+p.ports.Ingest.Addr(),
			// A model server of one's own is usually on the same machine.
			"PROVIDER_PRIVATE_ADDRESSES="+orUnset("PROVIDER_PRIVATE_ADDRESSES", "loopback"),
			"PROVIDER_KEYS_SECRET="+os.Getenv("PROVIDER_KEYS_SECRET"),
			"OUTBOUND_PROXY="+os.Getenv("OUTBOUND_PROXY"),
			// 320 MiB saved no time in comparisons, votes and imports, for up to 100 MB more.
			"GOMEMLIMIT=220MiB",
			// A response is garbage once it is sent: less frequent collection saves two fifths for a run of 1,000 spans.
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
			"WEB_SECRET="+p.webSecret, "WEB_TRUSTED_PROXIES="+os.Getenv("WEB_TRUSTED_PROXIES"),
			// The same values as the control plane's, from our own environment.
			"PUBLIC_URL="+os.Getenv("PUBLIC_URL"), "ALLOWED_HOSTS="+os.Getenv("ALLOWED_HOSTS"),
		),
		Ready:       answers("http://" + p.ports.Web.Addr() + "/healthz"),
		StopTimeout: 4 * time.Second,
	}
}

// engineEnv is the environment of processes that need no other settings.
func engineEnv(memory string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "GOMEMLIMIT=" + memory}
}

// serviceEnv is our own environment, which may have proxies and keys of model providers, overridden by the settings
// of the service. Only the service that gets them explicitly has the session secret, the token of setup and the proxy's password.
func serviceEnv(settings ...string) []string {
	set := map[string]bool{"SESSION_SECRET": true, "SETUP_TOKEN": true, "OUTBOUND_PROXY": true}
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

// answers returns a function that asks an HTTP address for readiness.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("ask for readiness: %w", err)
		}
		request.Close = true // no idle connections
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("ask for readiness: %w", err)
		}
		defer func() { _ = response.Body.Close() }() // only the status matters
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("ask for readiness: it answered %s", response.Status)
		}
		return nil
	}
}

// brokerAnswers returns a function that asks the queue for readiness. Its port is open before its log is read.
func brokerAnswers(stores migrate.Stores) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(stores.KafkaBrokers), stores.KafkaSecurity.SASL.Option())
		if err != nil {
			return fmt.Errorf("connect to the queue: %w", err)
		}
		defer client.Close()
		return client.Ping(ctx)
	}
}

// clickhouseAnswers returns a function that asks ClickHouse for readiness.
func clickhouseAnswers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := clickhouse.Open(url)
		if err != nil {
			return err
		}
		return errors.Join(conn.Ping(ctx), conn.Close())
	}
}
