// Package gate decides in CI whether an eval-run is worse than a baseline.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
)

// Exit statuses. An interrupt and whatever else goes wrong is exitIncomplete, never that of a decision.
const (
	exitRegression   = 1
	exitIncomplete   = 2
	exitInconclusive = 3
)

// exitError is an error with the status of the process.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// ExitCode returns the status of the process.
func (e *exitError) ExitCode() int { return e.status }

// broken is the error of whatever prevents a decision.
func broken(err error) error {
	var coded *exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return &exitError{exitIncomplete, err}
}

// options are the flags of the command.
type options struct {
	candidate, baseline, name      string
	branch, commit, baselineBranch string
	project, onInconclusive        string
	groupBy                        string
	format, output                 string
	metrics                        []string
	margin                         float64
	thresholds                     []threshold
	hasMargin, isWarning           bool
}

// threshold is a metric with how much worse it may be: nil for what its items support, which the server decides.
type threshold struct {
	metric string
	margin *float64
}

// New returns the command.
func New() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "gate",
		Short: "Decide whether an eval-run is worse than a baseline, for CI (LOOPTRACE_API_KEY: scope evals:read)",
		Long: "Decide whether an eval-run is worse than a baseline, for CI.\n\n" +
			"A metric passes if the whole 95 % interval of its difference is above minus the margin, and is a regression if all\n" +
			"of it is below. Otherwise it is inconclusive. It is incomplete if the candidate lacks results. Without a margin of\n" +
			"yours it is the one that the items support, at most 5 points.\n\n" +
			"The candidate is the newest eval-run of --name with the commit of this checkout, the baseline the newest of the same\n" +
			"name that succeeded on the branch which the change is for. Commit and branches come from the variables of GitHub\n" +
			"Actions or GitLab CI, else from git and main.\n\n" +
			"Exit status: 0 pass, 1 regression, 2 incomplete or no decision (no server, no baseline, wrong flags),\n" +
			"3 inconclusive.\n\n" +
			"The key comes from LOOPTRACE_API_KEY and needs the scope evals:read. The address comes from LOOPTRACE_ENDPOINT\n" +
			"(default: http://127.0.0.1:7090).",
		Example: "  looptrace gate --name support-agent --metric correct=0.02 --metric cost_usd=0.001\n" +
			"  looptrace gate --candidate 01985f6e-… --baseline 01985f6e-… --metric correct --margin 0.02 --format markdown",
		Args: func(c *cobra.Command, args []string) error { return broken(cobra.NoArgs(c, args)) },
		RunE: func(c *cobra.Command, _ []string) error {
			o.hasMargin = c.Flags().Changed("margin")
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return broken(o.run(ctx, c))
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return broken(err) })
	f := c.Flags()
	f.StringVar(&o.candidate, "candidate", "", "id of the eval-run (default: the newest of --name with the commit)")
	f.StringVar(&o.baseline, "baseline", "", "id of the eval-run (default: the newest of the candidate's name and dataset on --baseline-branch)")
	f.StringVar(&o.name, "name", "", "name of the eval-runs, if --candidate is not given")
	f.StringVar(&o.commit, "commit", "", "of the candidate (default: that of the CI job, else of git)")
	f.StringVar(&o.branch, "branch", "", "of the candidate (default: any)")
	f.StringVar(&o.baselineBranch, "baseline-branch", "", "branch of the baseline (default: that which the change is for, else main)")
	f.StringArrayVar(&o.metrics, "metric", nil, "METRIC or METRIC=MARGIN: a score, or cost_usd, output_tokens or failures; can be repeated")
	f.Float64Var(&o.margin, "margin", 0, "how much worse the candidate may be, in units of the metric, for metrics without a margin of their own (default: what the items support)")
	f.StringVar(&o.groupBy, "group-by", "", "path in an item, such as metadata.customer, by whose value items belong together (default: that of the candidate)")
	f.StringVar(&o.onInconclusive, "on-inconclusive", "fail", "fail ends with status 3, warn with 0")
	f.StringVar(&o.format, "format", "text", "text, json, markdown or junit")
	f.StringVar(&o.output, "output", "", "write the report to this file, and text to the standard output")
	f.StringVar(&o.project, "project", "", "id of the project (default: LOOPTRACE_PROJECT, else that of the key)")
	return c
}

// check reads the flags.
func (o *options) check() error {
	if len(o.metrics) == 0 {
		return errors.New("name at least one metric: --metric correct")
	}
	for _, metric := range o.metrics {
		t, err := o.threshold(metric)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(o.thresholds, func(other threshold) bool { return other.metric == t.metric }) {
			return fmt.Errorf("--metric %s is given twice", t.metric)
		}
		o.thresholds = append(o.thresholds, t)
	}
	switch o.onInconclusive {
	case "fail", "warn":
		o.isWarning = o.onInconclusive == "warn"
	case "extend":
		return errors.New(`--on-inconclusive extend runs the task again, which only the Python SDK can do: looptrace.gate(…, on_inconclusive="extend")`)
	default:
		return fmt.Errorf("--on-inconclusive is %q and must be fail or warn", o.onInconclusive)
	}
	if _, known := formats[o.format]; !known {
		return fmt.Errorf("--format is %q and must be text, json, markdown or junit", o.format)
	}
	for flag, id := range map[string]string{"candidate": o.candidate, "baseline": o.baseline} {
		if id != "" && uuid.Validate(id) != nil {
			return fmt.Errorf("--%s is %q and must be the id of an eval-run", flag, id)
		}
	}
	if o.candidate == "" && o.name == "" {
		return errors.New("say what is evaluated: --name support-agent, or --candidate ID")
	}
	if o.candidate != "" && (o.name != "" || o.commit != "" || o.branch != "") {
		return errors.New("--candidate is the eval-run: leave out --name, --commit and --branch")
	}
	if o.baseline != "" && o.baselineBranch != "" {
		return errors.New("--baseline is the eval-run: leave out --baseline-branch")
	}
	return nil
}

func (o *options) threshold(flag string) (threshold, error) {
	metric, text := flag, ""
	if i := strings.LastIndexByte(flag, '='); i >= 0 {
		metric, text = flag[:i], flag[i+1:]
	}
	t := threshold{metric: metric}
	switch {
	case metric == "":
		return t, fmt.Errorf("--metric is %q and must be METRIC or METRIC=MARGIN", flag)
	case text != "":
		margin, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return t, fmt.Errorf("--metric %s: the margin %q is no number", flag, text)
		}
		t.margin = &margin
	case o.hasMargin:
		t.margin = &o.margin
	}
	if t.margin != nil && (*t.margin < 0 || math.IsNaN(*t.margin) || math.IsInf(*t.margin, 0)) {
		return t, fmt.Errorf("--metric %s: the margin must be a number from 0 on", flag)
	}
	return t, nil
}

func (o *options) run(ctx context.Context, c *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	client, err := rest.New("the scope evals:read")
	if err != nil {
		return err
	}
	o.project = cmp.Or(o.project, os.Getenv("LOOPTRACE_PROJECT"))
	r := &report{isWarning: o.isWarning}
	if err := o.decide(ctx, client, r); err != nil {
		return err
	}
	if err := o.print(r, c.OutOrStdout()); err != nil {
		return err
	}
	if status := r.status(); status != 0 {
		return &exitError{status, errors.New(r.conclusion())}
	}
	return nil
}
