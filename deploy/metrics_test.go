package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stock are the metrics of the libraries. test/operations compares every name with a running product.
var stock = []string{
	"otelcol_receiver_accepted_spans", "otelcol_exporter_sent_spans", "otelcol_kafka_exporter_records",
	"otelcol_kafka_exporter_write_latency", "otelcol_process_memory_rss", "otelcol_process_cpu_seconds",
	"process_resident_memory_bytes", "process_cpu_seconds_total",
}

// metric matches names of metrics in an expression.
var metric = regexp.MustCompile(`\b(?:otelcol|looptrace|process)_[a-z0-9_]+\b`)

// known are the metrics in the code: those of components by their documentation, others by their source.
func known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range stock {
		names[name] = true
	}
	documents, err := filepath.Glob(filepath.Join(root, "components", "*", "documentation.md"))
	require.NoError(t, err)
	require.NotEmpty(t, documents)
	for _, source := range append(documents,
		filepath.Join(root, "controlplane", "httpapi", "metrics.go"),
		filepath.Join(root, "cmd", "looptrace", "internal", "broker", "metrics.go"),
		filepath.Join(root, "cmd", "looptrace", "internal", "probe", "metrics.go"),
		filepath.Join(root, "cmd", "looptrace", "internal", "web", "metrics.go")) {
		for _, name := range regexp.MustCompile(`(?m)(?:^### |Name: +")([a-z0-9_]+)`).FindAllStringSubmatch(string(read(t, source)), -1) {
			names[name[1]] = true
		}
	}
	return names
}

// assertKnown checks every name in an expression. A histogram's series have suffixes.
func assertKnown(t *testing.T, names map[string]bool, expression string) {
	t.Helper()
	found := metric.FindAllString(expression, -1)
	for _, name := range found {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		assert.True(t, names[name] || names[base], "no metric %s in %s", name, expression)
	}
	assert.True(t, len(found) > 0 || strings.HasPrefix(expression, "up{"), "no metric in %s", expression)
}

// Prometheus accepts the rules, their metrics exist, and each says what to do.
func TestAlerts(t *testing.T) {
	t.Parallel()
	groups, errs := rulefmt.ParseFile("alerts.yaml", false)
	require.Empty(t, errs)
	runbook := string(read(t, filepath.Join(root, "docs", "operations", "alerts.md")))
	names, rules := known(t), 0
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			rules++
			assertKnown(t, names, rule.Expr)
			assert.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"], rule.Alert)
			assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			assert.Regexp(t, `(?m)^\| [^|]*`+"`"+rule.Alert+"`"+`[^|]* \| [^|]+ \|$`, runbook)
		}
	}
	assert.NotZero(t, rules)
}

func TestDashboardNamesMetricsThatExist(t *testing.T) {
	t.Parallel()
	var file struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(read(t, "dashboard.json"), &file))
	names, ids := known(t), map[int]bool{}
	for _, panel := range file.Panels {
		assert.False(t, ids[panel.ID], panel.Title)
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			assertKnown(t, names, target.Expr)
			_, err := parser.ParseExpr(strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")) // Grafana's own variable
			require.NoError(t, err, panel.Title)
		}
	}
	assert.NotEmpty(t, file.Panels)
}

// The references in descriptions exist.
func TestOperationsNameWhatExists(t *testing.T) {
	t.Parallel()
	docs := filepath.Join(root, "docs")
	pages, err := filepath.Glob(filepath.Join(docs, "operations", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	names := known(t)
	for _, page := range append(pages, filepath.Join(docs, "operations.md")) {
		text := string(read(t, page))
		for _, name := range metric.FindAllString(text, -1) {
			assert.True(t, names[name], "%s: no metric %s", page, name)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(link[1], "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
				require.NoError(t, err, page)
			}
		}
	}
}
