// Package command is the command line of looptrace.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/broker"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/credentials"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/deadletters"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/demo"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/derive"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/doctor"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/engine"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/gate"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/importing"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/mapping"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/mcpstdio"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/pricing"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/probe"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/up"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/web"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/kafkaclient"
)

// New returns the root command.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:           "looptrace",
		Short:         "Record, store and inspect runs of AI agents",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newUp(), newDoctor(), newEnv(), newMigrate(), newBroker(), newClickHouse(), newWeb(), deadletters.New(), demo.New(), derive.New(), gate.New(), importing.New(), mapping.New(), mcpstdio.NewCommand(), pricing.New(), probe.NewCommand(web.Serve))
	return root
}

// machine holds the flags that select the instance.
type machine struct {
	data   string
	offset int
}

func (m *machine) flags(c *cobra.Command) {
	c.Flags().StringVar(&m.data, "data", "", "data folder (default: LOOPTRACE_DATA, else ~/.looptrace)")
	c.Flags().IntVar(&m.offset, "port-offset", 0, "number to add to every port")
}

func (m *machine) resolve() (layout.Tree, string, layout.Ports, error) {
	if m.offset < 0 || m.offset > 50000 {
		return layout.Tree{}, "", layout.Ports{}, errors.New("--port-offset must be between 0 and 50000")
	}
	tree, err := layout.FindTree()
	if err != nil {
		return layout.Tree{}, "", layout.Ports{}, err
	}
	data, err := layout.DataDir(m.data)
	return tree, data, layout.NewPorts(m.offset), err
}

func newUp() *cobra.Command {
	var (
		m         machine
		verbose   bool
		configs   []string
		textIndex clickhouse.TextIndex
	)
	c := &cobra.Command{
		Use:   "up",
		Short: "Start everything on this machine and keep it running",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			tree, data, ports, err := m.resolve()
			if err != nil {
				return err
			}
			stopped, killed, release := twoSignals(c.Context())
			defer release()
			return up.Run(stopped, killed, up.Options{
				Tree: tree, DataDir: data, Ports: ports, CollectorConfigs: configs, TextIndex: textIndex, Verbose: verbose, Terminal: os.Stdout,
			})
		},
	}
	m.flags(c)
	textIndexFlag(c, &textIndex)
	c.Flags().StringArrayVar(&configs, "collector-config", nil, "a file that the collector reads after its own configuration, to forward what it receives, for example; may be repeated")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "show all lines of all processes, not only warnings and errors")
	return c
}

// twoSignals returns a context that ends with the first interrupt and one that ends with the second.
func twoSignals(ctx context.Context) (stopped, killed context.Context, release func()) {
	stopped, stop := context.WithCancel(ctx)
	killed, kill := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for _, end := range []context.CancelFunc{stop, kill} {
			select {
			case <-signals:
				end()
			case <-killed.Done():
				return
			}
		}
	}()
	return stopped, killed, func() {
		signal.Stop(signals)
		stop()
		kill()
	}
}

func newDoctor() *cobra.Command {
	var m machine
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine and say how to fix each problem",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			tree, data, ports, err := m.resolve()
			if err != nil {
				return err
			}
			healthy, err := doctor.Examine(c.Context(), c.OutOrStdout(), doctor.Options{Tree: tree, DataDir: data, Ports: ports})
			if err == nil && !healthy {
				err = errors.New("there are problems")
			}
			return err
		},
	}
	m.flags(c)
	return c
}

func newEnv() *cobra.Command {
	var m machine
	c := &cobra.Command{
		Use:   "env",
		Short: "Print the addresses of this machine's stores, with passwords, for: eval \"$(looptrace env)\"",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, data, ports, err := m.resolve()
			if err != nil {
				return err
			}
			passwords, err := credentials.Read(data)
			if err != nil {
				return err
			}
			stores := up.Stores(ports, passwords)
			_, err = fmt.Fprintf(c.OutOrStdout(), "export DATABASE_URL='%s'\nexport CLICKHOUSE_URL='%s'\nexport KAFKA_BROKERS='%s'\nexport KAFKA_SASL='%s'\n",
				stores.DatabaseURL, stores.ClickHouseURL, stores.KafkaBrokers, stores.KafkaSecurity.SASL.YAML())
			return err
		},
	}
	m.flags(c)
	return c
}

func textIndexFlag(c *cobra.Command, index *clickhouse.TextIndex) {
	c.Flags().Var(index, "text-index", "on or off: text indexes speed up searches and cost disk space and processor time (default: unchanged, at first on)")
}

func newMigrate() *cobra.Command {
	var textIndex clickhouse.TextIndex
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the stores at DATABASE_URL, CLICKHOUSE_URL and KAFKA_BROKERS to this version; DATABASE_ADMIN_URL makes the database and its role",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			stores := migrate.Stores{
				DatabaseURL:   os.Getenv("DATABASE_URL"),
				ClickHouseURL: os.Getenv("CLICKHOUSE_URL"),
				KafkaBrokers:  os.Getenv("KAFKA_BROKERS"),
			}
			if stores == (migrate.Stores{}) {
				return errors.New("set at least one of DATABASE_URL, CLICKHOUSE_URL and KAFKA_BROKERS")
			}
			stores.DatabaseAdminURL = os.Getenv("DATABASE_ADMIN_URL")
			stores.TextIndex = textIndex
			ctx, stop := untilStopped(c.Context())
			defer stop()
			var err error
			if stores.KafkaSecurity, err = kafkaclient.FromEnvironment(); err != nil {
				return err
			}
			return migrate.Run(ctx, stores)
		},
	}
	textIndexFlag(c, &textIndex)
	return c
}

func newBroker() *cobra.Command {
	registry := prometheus.NewRegistry()
	config := broker.Config{
		KeepBytes: 64 << 20, MinFree: 256 << 20, Group: migrate.StoreGroup, Topic: migrate.SpansTopic,
		DeadLetterTopic: migrate.DeadLetterTopic, DeadLetterBytes: 256 << 20, DeadLetterAge: 30 * 24 * time.Hour,
		Registry: registry,
	}
	var metricsAddr string
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run the queue of one machine (QUEUE_PASSWORD: password of its user, looptrace)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// Segments kept for replay count, and the newest segment of each partition too: with less the log would stay
			// full.
			if minBytes := 2 * config.KeepBytes; config.MaxBytes < minBytes {
				return fmt.Errorf("--max-bytes must be at least %d: %d are kept for replay", minBytes, config.KeepBytes)
			}
			if config.Password = os.Getenv("QUEUE_PASSWORD"); config.Password == "" {
				return errors.New("QUEUE_PASSWORD is not set: set it to the password of the queue's clients")
			}
			ctx, stop := untilStopped(c.Context())
			defer stop()
			registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
			log := newLogger()
			b, err := broker.Start(config, log)
			if err != nil {
				return err
			}
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error { return b.Run(ctx) })
			group.Go(func() error {
				metrics := http.NewServeMux()
				metrics.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
				return web.Serve(ctx, metricsAddr, metrics, log)
			})
			return group.Wait()
		},
	}
	c.Flags().StringVar(&config.DataDir, "data", "", "folder of the log")
	c.Flags().StringVar(&config.Addr, "addr", "127.0.0.1:7084", "address to listen on")
	c.Flags().StringVar(&metricsAddr, "metrics-addr", "127.0.0.1:7088", "address for metrics")
	c.Flags().Int64Var(&config.MaxBytes, "max-bytes", 4<<30, "size of the log, without dead letters, at which records are refused")
	_ = c.MarkFlagRequired("data") // the flag exists
	return c
}

func newClickHouse() *cobra.Command {
	server := engine.ClickHouse{MaxMemory: engine.MemoryCap()}
	c := &cobra.Command{
		Use:   "clickhouse",
		Short: "Run the ClickHouse engine of one machine (CLICKHOUSE_PASSWORD: password of its user, looptrace)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			tree, err := layout.FindTree()
			if err != nil {
				return err
			}
			if server.Password = os.Getenv("CLICKHOUSE_PASSWORD"); server.Password == "" {
				return errors.New("CLICKHOUSE_PASSWORD is not set: set it to the password of ClickHouse's clients")
			}
			server.Library = engine.Folder(tree.Engines()).ClickHouse()
			ctx, stop := untilStopped(c.Context())
			defer stop()
			return server.Serve(ctx)
		},
	}
	c.Flags().StringVar(&server.DataDir, "data", "", "folder of the databases")
	c.Flags().StringVar(&server.Addr, "addr", "127.0.0.1:7085", "address to listen on for the native protocol")
	c.Flags().StringVar(&server.Database, "database", engine.Database, "database to create, the only one that the user looptrace may use; * for all")
	_ = c.MarkFlagRequired("data") // the flag exists
	return c
}

func newWeb() *cobra.Command {
	return &cobra.Command{
		Use:   "web",
		Short: "Serve the UI and forward to the API and ingest (WEB_ADDR, UI_DIR, API_URL, INGEST_URL, COLLECTOR_HEALTH_URL, WEB_TRUSTED_PROXIES, WEB_SECRET, PUBLIC_URL, ALLOWED_HOSTS)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := parseURL("API_URL")
			if err != nil {
				return err
			}
			ingest, err := parseURL("INGEST_URL")
			if err != nil {
				return err
			}
			var collector *url.URL
			if os.Getenv("COLLECTOR_HEALTH_URL") != "" {
				if collector, err = parseURL("COLLECTOR_HEALTH_URL"); err != nil {
					return err
				}
			}
			ctx, stop := untilStopped(c.Context())
			defer stop()
			proxies, err := web.ParseTrustedProxies(os.Getenv("WEB_TRUSTED_PROXIES"))
			if err != nil {
				return fmt.Errorf("read WEB_TRUSTED_PROXIES: %w", err)
			}
			hosts, err := allowedhost.FromEnvironment(os.Getenv)
			if err != nil {
				return err
			}
			handler := web.NewHandler(web.Config{
				API: api, Ingest: ingest, Collector: collector, UI: os.Getenv("UI_DIR"), TrustedProxies: proxies,
				Secret: os.Getenv("WEB_SECRET"), Hosts: hosts,
			})
			log := newLogger()
			if proxies.LackProxy(os.Getenv("PUBLIC_URL")) {
				log.WarnContext(ctx, "PUBLIC_URL is https, but WEB_TRUSTED_PROXIES names no proxy: all people seem to have one address, so that "+
					"wrong passwords of some delay the logins of others, and the session cookie is not marked Secure. Set it to the addresses that the proxy connects from")
			}
			return web.Serve(ctx, os.Getenv("WEB_ADDR"), handler, log)
		},
	}
}

func parseURL(name string) (*url.URL, error) {
	parsed, err := url.Parse(os.Getenv(name))
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("%s must be an address like http://127.0.0.1:7081", name)
	}
	return parsed, nil
}

func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

func newLogger() *slog.Logger { return slog.New(slog.NewJSONHandler(os.Stderr, nil)) }
