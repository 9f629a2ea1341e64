package importing

import (
	"fmt"
	"io"
	"strings"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
)

// report is PromptImportReport of the API.
type report struct {
	Format   string           `json:"format"`
	DryRun   bool             `json:"dry_run"`
	Imported []importedPrompt `json:"imported"`
	Rejected []rejectedPrompt `json:"rejected"`
}

type importedPrompt struct {
	Name        string   `json:"name"`
	SourceName  string   `json:"source_name"`
	Change      string   `json:"change"`
	Version     int      `json:"version"`
	Aliases     []string `json:"aliases"`
	Conversions []struct {
		Path string `json:"path"`
		Line int    `json:"line"`
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"conversions"`
	LeftOut []string `json:"left_out"`
}

type rejectedPrompt struct {
	SourceName string  `json:"source_name"`
	Path       *string `json:"path"`
	Line       *int    `json:"line"`
	Reason     string  `json:"reason"`
}

// changes are the words for what became of a prompt.
var changes = map[string]string{"created": "created", "new_version": "new version", "unchanged": "unchanged"}

// print prints what became of each prompt, and then the numbers.
func (r *report) print(out io.Writer) error {
	var b strings.Builder
	counts := map[string]int{}
	for _, p := range r.Imported {
		counts[p.Change]++
		fmt.Fprintf(&b, "%-12s %s, version %d", changes[p.Change], rest.Printable(p.Name), p.Version)
		if p.SourceName != p.Name {
			fmt.Fprintf(&b, ", from %s", rest.Printable(p.SourceName))
		}
		if len(p.Aliases) > 0 {
			fmt.Fprintf(&b, ", aliases %s", rest.Printable(strings.Join(p.Aliases, ", ")))
		}
		b.WriteByte('\n')
		for _, c := range p.Conversions {
			fmt.Fprintf(&b, "  %s, line %d: %s → %s\n", rest.Printable(c.Path), c.Line, rest.Printable(c.From), rest.Printable(c.To))
		}
		for _, left := range p.LeftOut {
			fmt.Fprintf(&b, "  left out: %s\n", rest.Printable(left))
		}
	}
	for _, p := range r.Rejected {
		fmt.Fprintf(&b, "%-12s %s\n  ", "rejected", rest.Printable(p.SourceName))
		if p.Path != nil {
			b.WriteString(rest.Printable(*p.Path))
			if p.Line != nil {
				fmt.Fprintf(&b, ", line %d", *p.Line)
			}
			b.WriteString(": ")
		}
		b.WriteString(rest.Printable(p.Reason) + "\n")
	}
	if r.DryRun {
		b.WriteString("Nothing was saved. An import without --dry-run would report:\n")
	}
	fmt.Fprintf(&b, "%s: %d created, %d with a new version, %d unchanged, %d rejected\n",
		rest.Printable(r.Format), counts["created"], counts["new_version"], counts["unchanged"], len(r.Rejected))
	_, err := io.WriteString(out, b.String())
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
