// Package derive updates stored runs that an earlier version derived otherwise.
package derive

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptrace/looptrace/internal/clickhouse"
)

// New returns the command.
func New() *cobra.Command {
	return &cobra.Command{
		Use:   "derive",
		Short: "Update runs that an earlier version stored",
		Long: `Updates failed runs whose fingerprints an earlier version of Looptrace computed, so that they are grouped with new
failures, and runs that it stored without saying how far they can be replayed. It may be stopped at any time and run
again. Needs CLICKHOUSE_URL.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			url := os.Getenv("CLICKHOUSE_URL")
			if url == "" {
				return errors.New("CLICKHOUSE_URL is not set; it is an address such as clickhouse://127.0.0.1:7085/looptrace")
			}
			conn, err := clickhouse.Open(url)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }() // nothing is buffered in it
			writer, err := clickhouse.NewWriter(ctx, url)
			if err != nil {
				return err
			}
			defer writer.Close()
			n, err := clickhouse.DeriveStale(ctx, conn, writer, func(hour time.Time, runs int) {
				_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s: %d runs\n", hour.UTC().Format("2006-01-02 15:04"), runs) // a hint
			})
			_, printed := fmt.Fprintf(c.OutOrStdout(), "%d runs updated\n", n)
			return errors.Join(err, printed)
		},
	}
}
