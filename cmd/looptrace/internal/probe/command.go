package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	defaultInterval = 30 * time.Second
	minInterval     = time.Second
)

// NewCommand returns `looptrace probe`. serve serves handler at addr until ctx ends.
func NewCommand(serve func(ctx context.Context, addr string, handler http.Handler, log *slog.Logger) error) *cobra.Command {
	var (
		c        Config
		once     bool
		interval time.Duration
		addr     string
	)
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Send a small run every interval and measure until it can be read (LOOPTRACE_KEY: scopes ingest:write, runs:read)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Key = os.Getenv("LOOPTRACE_KEY")
			if c.Key == "" {
				return errors.New("set LOOPTRACE_KEY to a key with the scopes ingest:write and runs:read, preferably of a separate project")
			}
			if interval < minInterval {
				return fmt.Errorf("--interval must be at least %s", minInterval)
			}
			c.Ingest, c.API = strings.TrimSuffix(c.Ingest, "/"), strings.TrimSuffix(c.API, "/")
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			p := New(c)
			if once {
				return runOnce(ctx, cmd, p)
			}
			return watch(ctx, p, interval, addr, serve)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Ingest, "ingest-url", cmp.Or(os.Getenv("INGEST_URL"), "http://127.0.0.1:7080"), "where runs are sent to (default: INGEST_URL)")
	flags.StringVar(&c.API, "api-url", cmp.Or(os.Getenv("API_URL"), "http://127.0.0.1:7081"), "where runs are read (default: API_URL)")
	flags.BoolVar(&once, "once", false, "probe once, print the result in one line, and exit with 1 if it failed")
	flags.DurationVar(&interval, "interval", defaultInterval, "time from one run to the next")
	flags.StringVar(&addr, "metrics-addr", "127.0.0.1:7091", "address of /metrics")
	return cmd
}

func runOnce(ctx context.Context, cmd *cobra.Command, p *Probe) error {
	result, err := p.Once(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok: run %s was accepted in %.3f s and visible %.3f s later\n",
		result.RunID, result.Accepted.Seconds(), result.Visible.Seconds())
	return err
}

// watch probes and serves the metrics until ctx ends.
func watch(
	ctx context.Context, p *Probe, interval time.Duration, addr string,
	serve func(context.Context, string, http.Handler, *slog.Logger) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	metrics := NewMetrics()
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, addr, metrics.Handler(), log)
		stop() // without metrics the probes are useless
	}()
	p.Run(ctx, interval, metrics, log)
	stop()
	return <-served
}
