// Package deadletters lists, shows and redrives records that could not be stored: kafkabatchreceiver moves them to
// the dead-letter topic with the reason.
package deadletters

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/broker"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/credentials"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
	"github.com/looptrace/looptrace/cmd/looptrace/internal/migrate"
	"github.com/looptrace/looptrace/internal/kafkaclient"
)

// New returns the command.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "deadletters",
		Short: "List, show and redrive records that could not be stored",
	}
	var brokers string
	c.PersistentFlags().StringVar(&brokers, "brokers", "",
		"addresses of the queue, host:port,host:port (default: KAFKA_BROKERS, else the queue of this machine)")
	// with runs an action on the queue. An interrupt cancels it.
	with := func(action func(ctx context.Context, c *cobra.Command, q *queue, args []string) error) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			q, err := openQueue(ctx, cmp.Or(brokers, os.Getenv("KAFKA_BROKERS")))
			if err != nil {
				return err
			}
			defer q.close()
			return action(ctx, c, q, args)
		}
	}
	c.AddCommand(newList(with), newShow(with), newRedrive(with))
	return c
}

// openQueue opens the queue at these addresses, or by default that of this machine.
func openQueue(ctx context.Context, brokers string) (*queue, error) {
	if brokers != "" {
		security, err := kafkaclient.FromEnvironment()
		if err != nil {
			return nil, err
		}
		return open(ctx, strings.Split(brokers, ","), security)
	}
	dir, err := layout.DataDir("")
	if err != nil {
		return nil, err
	}
	passwords, err := credentials.Read(dir)
	if err != nil {
		return nil, fmt.Errorf("find the queue of this machine (or name a queue with --brokers): %w", err)
	}
	return open(ctx, []string{layout.NewPorts(0).Broker.Addr()}, kafkaclient.Security{SASL: broker.Login(passwords.Queue)})
}

// runner turns an action on the queue into a cobra function.
type runner func(action func(context.Context, *cobra.Command, *queue, []string) error) func(*cobra.Command, []string) error

func newList(with runner) *cobra.Command {
	var (
		limit  int
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "list",
		Short: "List the dead letters, newest first",
		Args:  cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if limit < 1 {
				return errors.New("--limit must be 1 or more")
			}
			return nil
		},
		RunE: with(func(ctx context.Context, c *cobra.Command, q *queue, _ []string) error {
			summaries, total, err := q.list(ctx, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(c.OutOrStdout(), summaries)
			}
			if total == 0 {
				_, _ = fmt.Fprintln(c.ErrOrStderr(), "There are no dead letters.") // a hint
				return nil
			}
			if err := printTable(c.OutOrStdout(), summaries); err != nil {
				return err
			}
			if more := total - int64(len(summaries)); more > 0 {
				_, _ = fmt.Fprintf(c.ErrOrStderr(), "%d older ones are not shown; use --limit.\n", more) // a hint
			}
			return nil
		}),
	}
	c.Flags().IntVar(&limit, "limit", 50, "how many to list")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return c
}

// list returns the newest letters, and the number of all.
func (q *queue) list(ctx context.Context, limit int) ([]summary, int64, error) {
	bounds, err := q.bounds(ctx)
	if err != nil {
		return nil, 0, err
	}
	redriven, err := q.redriven(ctx)
	if err != nil {
		return nil, 0, err
	}
	var total int64
	newest := map[int32]span{}
	for partition, b := range bounds {
		total += b.end - b.first
		newest[partition] = span{max(b.first, b.end-int64(limit)), b.end}
	}
	var summaries []summary
	err = q.read(ctx, newest, func(l deadLetter) error {
		d := redriven[l.partition]
		summaries = append(summaries, summarize(l, d != nil && d.has(l.offset)))
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(summaries, func(a, b summary) int {
		return cmp.Or(b.written.Compare(a.written), cmp.Compare(a.partition, b.partition), cmp.Compare(b.offset, a.offset))
	})
	return summaries[:min(limit, len(summaries))], total, nil
}

func newShow(with runner) *cobra.Command {
	return &cobra.Command{
		Use:   "show PARTITION:OFFSET",
		Short: "Show one dead letter: its error, headers and spans",
		Args:  cobra.ExactArgs(1),
		RunE: with(func(ctx context.Context, c *cobra.Command, q *queue, args []string) error {
			at, err := parseLocation(args[0])
			if err != nil {
				return err
			}
			l, err := q.find(ctx, at)
			if err != nil {
				return err
			}
			redriven, err := q.redriven(ctx)
			if err != nil {
				return err
			}
			d := redriven[at.partition]
			return printDeadLetter(c.OutOrStdout(), l, d != nil && d.has(at.offset))
		}),
	}
}

func newRedrive(with runner) *cobra.Command {
	var (
		s                selection
		all, dryRun, yes bool
	)
	c := &cobra.Command{
		Use:   "redrive PARTITION:OFFSET... | --all | --reason REASON",
		Short: "Put dead letters back into the queue, once their cause is fixed",
		Long: "Put dead letters back into the queue, once their cause is fixed. They keep their content and their time of\n" +
			"arrival, and stay in the topic of dead letters. --all and --reason leave out letters that were redriven\n" +
			"before; to redrive a dead letter again, name it. A span that is sent twice is stored once.",
		PreRunE: func(_ *cobra.Command, args []string) error {
			for _, text := range args {
				at, err := parseLocation(text)
				if err != nil {
					return err
				}
				s.locations = append(s.locations, at)
			}
			if ways := len(slices.DeleteFunc([]bool{len(args) > 0, all, s.reason != ""}, func(way bool) bool { return !way })); ways != 1 {
				return errors.New("name the dead letters: PARTITION:OFFSET..., --all or --reason REASON")
			}
			return nil
		},
		RunE: with(func(ctx context.Context, c *cobra.Command, q *queue, _ []string) error {
			p, err := q.plan(ctx, s)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("%s, %d bytes", count(len(p.locations)), p.bytes)
			if p.before > 0 {
				what += fmt.Sprintf(" (%d redriven before are left out)", p.before)
			}
			out := c.OutOrStdout()
			switch {
			case len(p.locations) == 0 || dryRun:
				_, err := fmt.Fprintf(out, "To redrive: %s.\n", what)
				return err
			case !yes:
				if err := confirm(c.InOrStdin(), c.ErrOrStderr(), fmt.Sprintf("Redrive %s, to %s?", what, migrate.SpansTopic)); err != nil {
					return err
				}
			}
			redriven, err := q.redrive(ctx, p, func(n int) {
				_, _ = fmt.Fprintf(out, "%d of %d\n", n, len(p.locations)) // a closed output is no reason to stop
			})
			if err != nil {
				return fmt.Errorf("%s of %d redriven, then: %w", count(redriven), len(p.locations), err)
			}
			_, err = fmt.Fprintf(out, "Redrove %s.\n", count(redriven))
			return err
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "redrive all that were not redriven before")
	c.Flags().StringVar(&s.reason, "reason", "", "redrive those with a reason: undecodable, rejected or retries_exhausted")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only print their number")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func count(n int) string {
	if n == 1 {
		return "1 dead letter"
	}
	return fmt.Sprintf("%d dead letters", n)
}

// confirm asks on a terminal. It returns an error if the input is not a terminal.
func confirm(in io.Reader, out io.Writer, question string) error {
	if file, ok := in.(*os.File); ok {
		if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return errors.New("the input is not a terminal, so nobody can confirm; use --yes")
		}
	}
	_, _ = fmt.Fprint(out, question+" [y/N] ")        // what is not seen is not confirmed
	answer, _ := bufio.NewReader(in).ReadString('\n') // an end of the input is a no
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was redriven")
	}
	return nil
}
