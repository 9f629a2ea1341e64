package gate

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
)

// Decisions of the API.
const (
	pass         = "pass"
	regression   = "regression"
	incomplete   = "incomplete"
	inconclusive = "inconclusive"
)

// report is what the command prints.
type report struct {
	candidate, baseline side
	decisions           []decision
	isWarning           bool
}

// side is an eval-run in a report.
type side struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Branch *string `json:"branch"`
	Commit *string `json:"commit"`
	URL    string  `json:"url"`
}

func newSide(client *rest.Client, e *evalRun) side {
	return side{e.ID, e.Name, e.Branch, e.Commit, client.URL("p", e.ProjectID, "eval-runs", e.ID)}
}

// decision returns the worst of the decisions.
func (r *report) decision() string {
	for _, worst := range []string{regression, incomplete, inconclusive} {
		if r.count(worst) > 0 {
			return worst
		}
	}
	return pass
}

func (r *report) count(of string) int {
	n := 0
	for i := range r.decisions {
		if r.decisions[i].Decision == of {
			n++
		}
	}
	return n
}

func (r *report) status() int {
	switch r.decision() {
	case pass:
		return 0
	case regression:
		return exitRegression
	case inconclusive:
		if r.isWarning {
			return 0
		}
		return exitInconclusive
	default:
		return exitIncomplete
	}
}

// conclusion is the decision in a line.
func (r *report) conclusion() string {
	worst := r.decision()
	return fmt.Sprintf("%s: %d of %d metrics", worst, r.count(worst), len(r.decisions))
}

// formats are the writers by the name of the format.
var formats = map[string]func(*report) (string, error){
	"text": (*report).text, "json": (*report).json, "markdown": (*report).markdown, "junit": (*report).junit,
}

// print writes the report in the format, and text too if the report goes to a file.
func (o *options) print(r *report, out io.Writer) error {
	content, err := formats[o.format](r)
	if err != nil {
		return err
	}
	if o.output != "" {
		if err := os.WriteFile(o.output, []byte(content), 0o644); err != nil { //nolint:gosec // a report is for others too
			return fmt.Errorf("write the report: %w", err)
		}
		if content, err = r.text(); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, content); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

func (r *report) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "candidate  %s  %s\nbaseline   %s  %s\n", r.candidate.label(), r.candidate.URL, r.baseline.label(), r.baseline.URL)
	for i := range r.decisions {
		b.WriteString(rest.Printable(r.decisions[i].Sentence) + "\n")
	}
	if r.isWarning && r.decision() == inconclusive {
		b.WriteString("warning: it is not decided whether the candidate is worse\n")
	}
	return b.String(), nil
}

// label returns the name of an eval-run with its branch and commit.
func (s side) label() string {
	parts := []string{s.Name}
	for _, part := range []*string{s.Branch, s.Commit} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	return rest.Printable(strings.Join(parts, " "))
}

func (r *report) json() (string, error) {
	metrics := make([]json.RawMessage, len(r.decisions))
	for i := range r.decisions {
		metrics[i] = r.decisions[i].raw
	}
	content, err := json.MarshalIndent(map[string]any{
		"decision": r.decision(), "exit_status": r.status(), "candidate": r.candidate, "baseline": r.baseline, "metrics": metrics,
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return string(content) + "\n", nil
}

func (r *report) markdown() (string, error) {
	var b strings.Builder
	// A bot finds its comment by the first line.
	fmt.Fprintf(&b, "<!-- looptrace-gate %s -->\n### %s: %s\n\n", strings.ReplaceAll(escaped(r.candidate.Name), "--", "- -"), escaped(r.candidate.Name), r.decision())
	b.WriteString("| metric | baseline | candidate | difference | 95 % interval | margin | decision |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.decisions {
		d := &r.decisions[i]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", escaped(d.Metric), number(d.Baseline.Mean), number(d.Candidate.Mean),
			signed(d.Difference.Estimate), interval(d.Difference.CI), number(&d.Margin), d.Decision)
	}
	b.WriteString("\n")
	for i := range r.decisions {
		b.WriteString("- " + escaped(r.decisions[i].Sentence) + "\n")
	}
	fmt.Fprintf(&b, "\n[candidate](%s) %s, [baseline](%s) %s\n", r.candidate.URL, escaped(r.candidate.label()), r.baseline.URL, escaped(r.baseline.label()))
	return b.String(), nil
}

// escaped returns text of others for a cell of a Markdown table.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range strings.Join(strings.Fields(text), " ") {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~@&", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func number(value *float64) string {
	if value == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*value, 'g', 4, 64)
}

func signed(value *float64) string {
	if value != nil && *value > 0 {
		return "+" + number(value)
	}
	return number(value)
}

func interval(ci *[]float64) string {
	if ci == nil || len(*ci) != 2 {
		return "unknown"
	}
	return signed(&(*ci)[0]) + " to " + signed(&(*ci)[1])
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
}

func (r *report) junit() (string, error) {
	suite := junitSuite{Name: "looptrace gate " + r.candidate.Name, Tests: len(r.decisions)}
	for i := range r.decisions {
		d := &r.decisions[i]
		one := junitCase{Class: r.candidate.Name, Name: d.Metric, Output: d.Sentence + "\n" + r.candidate.URL + "\n" + r.baseline.URL}
		message := &junitMessage{d.Sentence}
		switch {
		case d.Decision == pass:
		case d.Decision == inconclusive && r.isWarning:
			one.Skipped = message
			suite.Skipped++
		case slices.Contains([]string{regression, inconclusive}, d.Decision):
			one.Failure = message
			suite.Failures++
		default:
			one.Error = message
			suite.Errors++
		}
		suite.Cases = append(suite.Cases, one)
	}
	content, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return xml.Header + string(content) + "\n", nil
}
