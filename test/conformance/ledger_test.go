package conformance

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
// spans of one call, or none, show as a wrong sum. LEDGER names a folder of fresh recordings to read instead.
func TestLedger(t *testing.T) {
	t.Parallel()
	folder, exceptionsFile := "testdata", "ledger.json"
	if fresh := os.Getenv("LEDGER"); fresh != "" {
		folder, exceptionsFile = fresh, "record/clients-ledger.json"
	}
	var exceptions map[string][]ledgerException
	readJSON(t, exceptionsFile, &exceptions)
	files, err := filepath.Glob(filepath.Join(folder, "*", "truth.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s has no recordings", folder)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		of := exceptions[name]
		delete(exceptions, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known truth
			readJSON(t, file, &known)
			checkLedger(t, filepath.Dir(file), &known, of)
		})
	}
	assert.Empty(t, exceptions, "%s has exceptions of recordings that do not exist", exceptionsFile)
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

// checkLedger compares the runs of a recording with its ledger.
func checkLedger(t *testing.T, folder string, known *truth, exceptions []ledgerException) {
	t.Helper()
	ledger := ledgerOf(t, known)
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
	received, _ := receive(t, p)
	got := map[string]any{}
	for _, run := range received {
		for what, value := range map[string]any{
			"calls": float64(run.totals.LLMCallCount), "cost": count(run.totals.CostUSD),
		} {
			got[what] = plus(got[what], value)
		}
		usage := usageOf(&run.totals)
		for field, key := range usageKeys {
			got[key] = plus(got[key], usage[field])
		}
	}
	for _, count := range ledgerCounts {
		want, wrote := sumOf(expected, count), sumOf(ledger, count)
		switch {
		case sameCount(want, got[count]):
		case wrote == nil && isZero(got[count]):
		case sameCount(wrote, got[count]):
			t.Errorf("%s is right, %v: an exception is no longer needed", count, wrote)
		default:
			t.Errorf("the runs count %v of %s; the provider wrote down %v, of which the source says %v", got[count], count, wrote, want)
		}
	}
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

// sameCount reports whether a run's count is that of the ledger. What is not known is not 0, but a provider that counts nothing
// cached often does not say so.
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
