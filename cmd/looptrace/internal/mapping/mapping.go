// Package mapping tests the mapping of spans to the GenAI conventions on a file: it prints the result for each span
// and the sources of its fields.
package mapping

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.yaml.in/yaml/v3"

	"github.com/looptrace/looptrace/components/genaisemconvprocessor"
	"github.com/looptrace/looptrace/internal/genailogs"
	"github.com/looptrace/looptrace/internal/genaispans"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// New returns the command.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "mapping",
		Short: "Test the mapping of spans to the GenAI conventions",
	}
	c.AddCommand(newTest())
	return c
}

func newTest() *cobra.Command {
	var config string
	c := &cobra.Command{
		Use:   "test FILE",
		Short: "Print how the collector maps each span in a file",
		Long: "Print how the collector maps each span in a file.\n\n" +
			"FILE is one OTLP request for traces, as JSON or protobuf, or one for logs as JSON.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := readConfig(config)
			if err != nil {
				return err
			}
			td, err := readSpans(args[0])
			if err != nil {
				return err
			}
			return report(c.OutOrStdout(), genaispans.NewMapper(cfg.Rules).Explain(td))
		},
	}
	c.Flags().StringVar(&config, "config", "", "a collector's configuration whose genaisemconv rules to use (default: no rules)")
	return c
}

const processor = "genaisemconv"

// readConfig reads the processor's settings from a collector's configuration.
func readConfig(file string) (*genaisemconvprocessor.Config, error) {
	cfg := genaisemconvprocessor.NewFactory().CreateDefaultConfig().(*genaisemconvprocessor.Config)
	if file == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Processors map[string]map[string]any `yaml:"processors"`
	}
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var found []string
	for id := range parsed.Processors {
		if id == processor || strings.HasPrefix(id, processor+"/") {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s has no processor %s: name the configuration of the collector that has it", file, processor)
	case 1:
	default:
		return nil, fmt.Errorf("%s has several: %s: remove all but the one to test", file, strings.Join(found, ", "))
	}
	path := file + ": processors." + found[0]
	if err := confmap.NewFromStringMap(parsed.Processors[found[0]]).Unmarshal(cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cfg, nil
}

var errNoSpans = errors.New("the file has no spans, and no log records of one: give it one OTLP request, as an exporter sends it")

// readSpans reads a request in any supported format.
func readSpans(file string) (ptrace.Traces, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return ptrace.Traces{}, err
	}
	td, err := decode(body)
	if err == nil && td.SpanCount() == 0 {
		err = errNoSpans
	}
	if err != nil {
		return ptrace.Traces{}, fmt.Errorf("read %s: %w", file, err)
	}
	return td, nil
}

func decode(body []byte) (ptrace.Traces, error) {
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' {
		return (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	}
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	if err != nil || td.SpanCount() > 0 {
		return td, err
	}
	ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(body)
	if err != nil {
		return td, err
	}
	td, _ = genailogs.ToSpans(ld)
	return td, nil
}

const maxValue = 100

func report(out io.Writer, explanations []genaispans.Explanation) error {
	var b strings.Builder
	for i, e := range explanations {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "span %s %s\n", e.Span.SpanID(), printable(e.Span.Name()))
		fmt.Fprintf(&b, "  scope   %s\n", printable(e.Scope))
		if len(e.Dialects) == 0 {
			b.WriteString("  dialect none: it is not GenAI and stays unchanged\n")
		} else {
			fmt.Fprintf(&b, "  dialect %s\n", strings.Join(e.Dialects, ", also "))
		}
		for _, f := range e.Fields {
			fmt.Fprintf(&b, "  %s = %s", printable(f.Key), printable(f.Value))
			switch f.From {
			case "":
			case f.Key:
				b.WriteString("  (unchanged)")
			default:
				fmt.Fprintf(&b, "  ← %s", printable(f.From))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// printable returns recorded text escaped and shortened for a terminal.
func printable(text string) string {
	cut := ""
	if len(text) > maxValue {
		cut = fmt.Sprintf("… (%d bytes)", len(text))
		text = utf8text.Bytes(text, maxValue)
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + cut
}
