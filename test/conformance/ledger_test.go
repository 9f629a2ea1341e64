package conformance

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// ledgerCounts are what a provider wrote down of each call, in the order of the messages of the test.
var ledgerCounts = []string{"calls", "input", "output", "cache_read", "cache_write", "reasoning", "cost"}

// ledgerException is what a source does not send of the ledger, or sends wrongly. Nothing else may differ from it.
type ledgerException struct {
	Counts []string
	// Calls are numbers of calls from 0: all calls that have the count, if it is empty.
	Calls []int
	// Sent is the wrong number that the source sends for each of these calls. Without it they are unknown.
	Sent *float64
	// Buried tells that the payload has the numbers, but in a text that is no count of a call: Why says where.
	Buried bool
	Why    string
}

// ledgerCall has the counts of a call. A count that is not known is left out.
type ledgerCall map[string]float64

// TestLedger holds what runs count to what the model provider wrote down when it answered: model calls, tokens of each kind, and
// their cost at the list prices. TestConformance compares each field of each span; here nothing is expected of spans, so that two
// spans of one call, or none, show as a wrong sum.
func TestLedger(t *testing.T) {
	t.Parallel()
	var exceptions map[string][]ledgerException
	readJSON(t, "ledger.json", &exceptions)
	for _, name := range ledgersIn(t, "testdata") {
		of := exceptions[name]
		delete(exceptions, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkLedger(t, filepath.Join("testdata", name), of)
		})
	}
	assert.Empty(t, exceptions, "exceptions of recordings that do not exist")
}

// TestClientLedger does the same with what the newest versions of clients sent a moment ago: make ledger records them into the folder
// LEDGER. Its report.md gets the result.
func TestClientLedger(t *testing.T) {
	folder := os.Getenv("LEDGER")
	if folder == "" {
		t.Skip("make ledger runs it")
	}
	var clients map[string]struct{ Ledger []ledgerException }
	readJSON(t, "clients.json", &clients)
	report := "| client | versions | model calls | result |\n| --- | --- | --- | --- |\n"
	for _, name := range ledgersIn(t, folder) {
		t.Run(name, func(t *testing.T) {
			var versions map[string]string
			readJSON(t, filepath.Join(folder, name, "versions.json"), &versions)
			var list []string
			for _, of := range slices.Sorted(maps.Keys(versions)) {
				list = append(list, of+" "+versions[of])
			}
			calls, result := checkLedger(t, filepath.Join(folder, name), clients[name].Ledger)
			report += fmt.Sprintf("| %s | %s | %v | %s |\n", name, strings.Join(list, ", "), calls, result)
		})
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "report.md"), []byte(report), 0o600))
}

// ledgersIn returns the names of recordings in a folder: those of TestConformance, and in clients those of which only sums are known.
func ledgersIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*", "clients/*"} {
		files, err := fs.Glob(os.DirFS(folder), pattern+"/truth.json")
		require.NoError(t, err)
		for _, file := range files {
			names = append(names, path.Dir(file))
		}
	}
	require.NotEmpty(t, names, "%s has no recordings", folder)
	return names
}

// ledgerOf returns what a provider wrote down.
func ledgerOf(t *testing.T, known *truth) []ledgerCall {
	t.Helper()
	ledger := make([]ledgerCall, len(known.Calls))
	for i := range known.Calls {
		call := &known.Calls[i]
		ledger[i] = ledgerCall{}
		if call.Operation != "embeddings" {
			ledger[i]["calls"] = 1
		}
		if call.Usage == nil {
			continue
		}
		for _, count := range []string{"input", "output", "cache_read", "cache_write", "reasoning"} {
			ledger[i][count] = call.Usage[count]
		}
		ledger[i]["cost"] = ledger[i].cost(t, call.ResponseModel)
	}
	return ledger
}

// cost is what the known tokens of a call cost: tokens that are not known to be cached have the price of those that are not.
func (c ledgerCall) cost(t *testing.T, model string) float64 {
	t.Helper()
	price, ok := priceOf(model)
	require.True(t, ok, "cost_test.go has no list price of %s", model)
	return price.usd(c["input"], c["output"], c["cache_read"], c["cache_write"])
}

// checkLedger compares the runs of a recording with its ledger. It returns the number of model calls and what it found.
func checkLedger(t *testing.T, folder string, exceptions []ledgerException) (calls any, result string) {
	t.Helper()
	var known truth
	readJSON(t, filepath.Join(folder, "truth.json"), &known)
	ledger := ledgerOf(t, &known)
	p := readPayload(t, filepath.Join(folder, "traces.json"), filepath.Join(folder, "logs.json"))
	var sent strings.Builder
	for _, text := range rawSpans(t, p) {
		sent.WriteString(text)
	}
	expected := make([]ledgerCall, len(ledger))
	for i := range ledger {
		expected[i] = maps.Clone(ledger[i])
	}
	for _, e := range exceptions {
		for _, count := range e.Counts {
			e.apply(t, count, expected, sent.String())
		}
	}
	for i := range expected {
		// A wrong or missing count has a wrong or missing cost, unless an exception says what the source sends for it.
		if ledger[i]["cost"] == 0 || expected[i]["cost"] != ledger[i]["cost"] {
			continue
		}
		if _, ok := expected[i]["input"]; !ok {
			delete(expected[i], "cost")
			continue
		}
		expected[i]["cost"] = expected[i].cost(t, known.Calls[i].ResponseModel)
	}
	apart := piecesOf(p) // first: processing changes a payload
	got := countedBy(t, p)
	assert.Equal(t, got, countedBy(t, apart...), "other counts if each span and record arrives alone, the last one first")
	var differ []string
	for _, count := range ledgerCounts {
		want, wrote := sumOf(expected, count), sumOf(ledger, count)
		if wrote == nil { // no call was made
			want, wrote = 0.0, 0.0
		}
		isRight := sameCount(wrote, got[count])
		switch {
		case isRight && !sameCount(want, got[count]):
			t.Errorf("%s is right, %v: an exception is no longer needed", count, wrote)
		case isRight:
		case sameCount(want, got[count]):
			differ = append(differ, fmt.Sprintf("%s %s of %s", count, shown(got[count]), shown(wrote)))
		default:
			t.Errorf("the runs count %v of %s; the provider wrote down %v, of which the source says %v", got[count], count, wrote, want)
			differ = append(differ, fmt.Sprintf("WRONG: %s %s of %s", count, shown(got[count]), shown(wrote)))
		}
	}
	if len(differ) == 0 {
		return sumOf(ledger, "calls"), "right"
	}
	return sumOf(ledger, "calls"), strings.Join(differ, ", ")
}

// countedBy returns what the runs of payloads count.
func countedBy(t *testing.T, payloads ...payload) map[string]any {
	t.Helper()
	received, _ := receive(t, payloads...)
	got := map[string]any{}
	cost := 0.0
	for _, run := range received {
		got["calls"] = plus(got["calls"], float64(run.totals.LLMCallCount))
		if usd := run.totals.CostUSD; usd != nil {
			cost += *usd
			got["cost"] = runmodel.RoundUSD(cost, 12) // runs come in any order
		}
		usage := usageOf(&run.totals)
		for field, count := range usageKeys {
			got[count] = plus(got[count], usage[field])
		}
	}
	return got
}

// piecesOf returns a payload as many: each span and log record alone, from the last to the first.
func piecesOf(p payload) (pieces []payload) {
	for _, rs := range p.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				piece := payload{traces: ptrace.NewTraces(), logs: plog.NewLogs()}
				resource := piece.traces.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(resource.Resource())
				scope := resource.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(scope.Scope())
				span.CopyTo(scope.Spans().AppendEmpty())
				pieces = append(pieces, piece)
			}
		}
	}
	for _, rl := range p.logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				piece := payload{traces: ptrace.NewTraces(), logs: plog.NewLogs()}
				resource := piece.logs.ResourceLogs().AppendEmpty()
				rl.Resource().CopyTo(resource.Resource())
				scope := resource.ScopeLogs().AppendEmpty()
				sl.Scope().CopyTo(scope.Scope())
				record.CopyTo(scope.LogRecords().AppendEmpty())
				pieces = append(pieces, piece)
			}
		}
	}
	slices.Reverse(pieces)
	return pieces
}

// shown formats a count for the report.
func shown(n any) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.6g", n)
}

// apply takes what a source does not send out of the ledger, and puts what it sends wrongly into it.
func (e *ledgerException) apply(t *testing.T, count string, ledger []ledgerCall, sent string) {
	t.Helper()
	require.NotEmpty(t, e.Why, "an exception of %s needs a reason", count)
	calls := e.Calls
	for i := range ledger {
		if len(e.Calls) == 0 && ledger[i][count] != 0 {
			calls = append(calls, i)
		}
	}
	require.NotEmpty(t, calls, "no call has %s: its exception is not needed", count)
	for _, i := range calls {
		require.Less(t, i, len(ledger), "%s has an exception of a call that was not made", count)
		was := ledger[i][count]
		if e.Sent != nil {
			assert.NotEqual(t, was, *e.Sent, "%s of call %d is right: its exception is not needed", count, i)
			assert.True(t, holdsNumber(*e.Sent).MatchString(sent), "nothing in the payload says %v, as %s of call %d", *e.Sent, count, i)
			ledger[i][count] = *e.Sent
			continue
		}
		assert.NotZero(t, was, "%s of call %d is 0: its exception is not needed", count, i)
		// Small numbers are in every payload.
		const smallest = 10
		if count != "calls" && was >= smallest {
			found := holdsNumber(was).MatchString(sent)
			assert.Equal(t, e.Buried, found, "whether the payload has %s of call %d, %v, somewhere", count, i, was)
		}
		delete(ledger[i], count)
	}
}

func holdsNumber(n float64) *regexp.Regexp {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(fmt.Sprint(n)) + `\b`)
}

// sumOf returns the sum of a count, nil if no call has it.
func sumOf(ledger []ledgerCall, count string) (sum any) {
	for _, call := range ledger {
		if n, ok := call[count]; ok {
			sum = plus(sum, n)
		}
	}
	return sum
}

// sameCount reports whether a run's count is that of the ledger. Sources often leave out a count of 0.
func sameCount(ledger, run any) bool {
	if run == nil {
		return isZero(ledger)
	}
	return ledger != nil && math.Abs(ledger.(float64)-run.(float64)) < 1e-9
}

// TestFailingLedger holds failed runs to what their script answered: the program asked for all of it.
func TestFailingLedger(t *testing.T) {
	t.Parallel()
	var scripts struct {
		Failing map[string][]scriptedReply
	}
	readJSON(t, filepath.Join("record", "scripts.json"), &scripts)
	var programs map[string]struct {
		Scripts map[string][]scriptedReply
	}
	readJSON(t, "failing.json", &programs)
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		for _, mode := range failingModes {
			file := filepath.Join("testdata", "failing", name, mode.name+".json")
			if _, err := os.Stat(file); err != nil {
				continue // the framework does not have it
			}
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				t.Parallel()
				replies, own := programs[name].Scripts[mode.name]
				if !own {
					replies = scripts.Failing[mode.name]
				}
				var input, output any
				for _, reply := range replies {
					if reply.Usage != nil {
						input, output = plus(input, reply.Usage["input"]), plus(output, reply.Usage["output"])
					}
				}
				received, _ := receive(t, readPayload(t, file, ""))
				got := map[string]any{}
				for _, run := range received {
					for field, value := range usageOf(&run.totals) {
						got[field] = plus(got[field], value)
					}
				}
				assert.True(t, sameCount(input, got[fieldInputTokens]), "input: %v, not %v", got[fieldInputTokens], input)
				assert.True(t, sameCount(output, got[fieldOutputTokens]), "output: %v, not %v", got[fieldOutputTokens], output)
			})
		}
	}
}

type scriptedReply struct{ Usage map[string]float64 }
