// Package pricing shows the price table, finds the price of a model, and recomputes the costs of stored spans.
package pricing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/prices"
)

// New returns the command.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "prices",
		Short: "Show prices of tokens, and recompute the costs of stored spans",
	}
	c.AddCommand(newList(), newCheck(), newReprice())
	return c
}

func newList() *cobra.Command {
	var search string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the price table",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			table := prices.Default()
			var found []*prices.Price
			for _, p := range table.Prices {
				if strings.Contains(p.Provider+" "+p.Pattern, strings.ToLower(search)) {
					found = append(found, p)
				}
			}
			if len(found) == 0 {
				return errors.New("the price table " + table.Version + " has no such model")
			}
			return printPrices(c.OutOrStdout(), found)
		},
	}
	c.Flags().StringVar(&search, "search", "", "only models whose provider or name contains this")
	return c
}

func newCheck() *cobra.Command {
	var provider, at, project string
	c := &cobra.Command{
		Use:   "check MODEL",
		Short: "Show the price of a model that a span names",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			moment := time.Now()
			if at != "" {
				var err error
				if moment, err = parseTime(at); err != nil {
					return fmt.Errorf("--at: %w", err)
				}
			}
			matcher := prices.Default().Matcher()
			if project != "" {
				id, err := uuid.Parse(project)
				if err != nil {
					return errors.New("--project must be a project's id")
				}
				overrides, err := readOverrides(c.Context())
				if err != nil {
					return err
				}
				matcher = prices.Default().WithOverrides(overrides[id.String()])
			}
			price := matcher.Find(provider, args[0], moment)
			if price == nil {
				return fmt.Errorf("no price is known for %q; spans that name it have no cost", args[0])
			}
			if err := printPrices(c.OutOrStdout(), []*prices.Price{price}); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "version %s%s\n", price.Version, listed(price.Source))
			return err
		},
	}
	c.Flags().StringVar(&provider, "provider", "", "the provider that the span names")
	c.Flags().StringVar(&at, "at", "", "when the call began: 2026-01-31 or 2026-01-31T12:00:00Z (default: now)")
	c.Flags().StringVar(&project, "project", "", "id of the project whose own prices to use too (needs DATABASE_URL)")
	return c
}

func listed(source string) string {
	if source == "" {
		return ""
	}
	return ", listed at " + source
}

func newReprice() *cobra.Command {
	var (
		from, to, project string
		dryRun            bool
	)
	c := &cobra.Command{
		Use:   "reprice",
		Short: "Recompute the costs of stored spans and write those that change",
		Long: `Recomputes the costs of the spans that start within a time range with the current prices, and writes those that
change, with the totals of their runs. A cost that a client sent stays. It may be stopped at any time and run again:
only costs that still differ are written. Needs CLICKHOUSE_URL and DATABASE_URL.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			options, err := repriceOptions(from, to, project)
			if err != nil {
				return err
			}
			options.DryRun = dryRun
			options.Progress = progress(c.ErrOrStderr())
			if options.Overrides, err = readOverrides(ctx); err != nil {
				return err
			}
			return reprice(ctx, c.OutOrStdout(), options)
		},
	}
	c.Flags().StringVar(&from, "from", "", "start of the range: 2026-01-31 or 2026-01-31T12:00:00Z")
	c.Flags().StringVar(&to, "to", "", "end of the range, exclusive (default: now)")
	c.Flags().StringVar(&project, "project", "", "id of a project (default: all)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only print what would change")
	_ = c.MarkFlagRequired("from") // the flag exists
	return c
}

func repriceOptions(from, to, project string) (pricing.Options, error) {
	var o pricing.Options
	var err error
	if o.From, err = parseTime(from); err != nil {
		return o, fmt.Errorf("--from: %w", err)
	}
	if o.To = time.Now().UTC(); to != "" {
		if o.To, err = parseTime(to); err != nil {
			return o, fmt.Errorf("--to: %w", err)
		}
	}
	if !o.From.Before(o.To) {
		return o, errors.New("--from must be before --to")
	}
	if project != "" {
		if o.Project, err = uuid.Parse(project); err != nil {
			return o, errors.New("--project must be a project's id")
		}
	}
	return o, nil
}

func reprice(ctx context.Context, out io.Writer, options pricing.Options) error {
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
	sum, err := pricing.Reprice(ctx, conn, writer, options)
	return errors.Join(err, printSummary(out, sum, options.DryRun))
}

// readOverrides reads the projects' own prices. Without them their spans would get the prices of the table.
func readOverrides(ctx context.Context) (map[string][]prices.Override, error) {
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		return nil, errors.New("DATABASE_URL is not set; set it, because PostgreSQL has the projects' own prices")
	}
	pool, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	return postgres.PriceOverrides(ctx, pool)
}

// parseTime parses a date or a time. A date is in UTC.
func parseTime(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("must be a date or a time: 2026-01-31 or 2026-01-31T12:00:00Z")
	}
	return moment.UTC(), nil
}

func printPrices(out io.Writer, list []*prices.Price) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PROVIDER\tMODEL\tFROM\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITE\tWRITE 1H\tREASONING") // Flush reports
	for _, p := range list {
		from := ""
		if !p.From.IsZero() {
			from = p.From.Format(time.DateOnly)
		}
		row(table, cmp.Or(p.Provider, "any"), p.Pattern, from, &p.Rates)
		for i := range p.Tiers {
			row(table, "", "  above "+strconv.FormatInt(p.Tiers[i].Above, 10)+" tokens", "", &p.Tiers[i].Rates)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print prices: %w", err)
	}
	return nil
}

func row(table io.Writer, provider, model, from string, r *prices.Rates) {
	optional := func(rate *float64) string {
		if rate == nil {
			return ""
		}
		return amount(*rate)
	}
	_, _ = fmt.Fprintln(table, strings.Join([]string{ // Flush reports
		provider, model, from, amount(r.Input), amount(r.Output),
		optional(r.CacheRead), optional(r.CacheWrite), optional(r.CacheWrite1h), optional(r.Reasoning),
	}, "\t"))
}

func amount(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }

// progressEvery is the interval of progress reports.
const progressEvery = 2 * time.Second

func progress(out io.Writer) func(uuid.UUID, time.Time, *pricing.Summary) {
	last := time.Now()
	return func(project uuid.UUID, hour time.Time, sum *pricing.Summary) {
		if time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		_, _ = fmt.Fprintf(out, "project %s, %s: %d spans, %d changed\n", // a hint
			project, hour.UTC().Format("2006-01-02 15:04"), sum.Spans, sum.Changed+sum.Withdrawn)
	}
}

func printSummary(out io.Writer, sum *pricing.Summary, dryRun bool) error {
	heading := "Repriced."
	if dryRun {
		heading = "Nothing was written. A run without --dry-run would report:"
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, heading) // Flush reports
	for _, line := range []struct {
		what  string
		count int
	}{
		{"spans with tokens or a cost", sum.Spans},
		{"  changed", sum.Changed},
		{"  cost removed, no price known", sum.Withdrawn},
		{"  unchanged", sum.Unchanged},
		{"  kept as sent", sum.Sent},
		{"  no price known", sum.Unpriced},
		{"  repeat other spans' tokens", sum.NotCounted},
		{"runs updated", sum.Runs},
	} {
		_, _ = fmt.Fprintf(table, "%s\t%d\n", line.what, line.count) // Flush reports
	}
	models := slices.SortedFunc(maps.Keys(sum.Unknown), func(a, b string) int {
		return cmp.Or(sum.Unknown[b]-sum.Unknown[a], strings.Compare(a, b))
	})
	for i, model := range models {
		if i == 0 {
			_, _ = fmt.Fprintln(table, "models without a price, and their spans") // Flush reports
		}
		_, _ = fmt.Fprintf(table, "  %q\t%d\n", model, sum.Unknown[model]) // Flush reports
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}
