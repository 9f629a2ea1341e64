package loadgen

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// ErrNoRecords means that there are no recorded runs to make Agents from.
var ErrNoRecords = errors.New("no recorded runs")

// runsPerRequest results in requests of about a hundred spans.
const runsPerRequest = 5

// Agents returns the load of an agent's recorded runs (OTLP JSON files in the folder), five a request, each time with
// new ids. The records have only new messages at each model call. An agent sends its whole history and its
// instructions with every call, and so does the load. Tokens were not recorded: they are set to a quarter of the
// bytes.
func Agents(folder string) (*Load, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list the recorded runs: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%w in %s", ErrNoRecords, folder)
	}
	load := newLoad("agents", identify{
		trace: func(uint64, int) (id pcommon.TraceID) {
			binary.BigEndian.PutUint64(id[:8], rand.Uint64())
			binary.BigEndian.PutUint64(id[8:], rand.Uint64())
			return id
		},
		span: func(uint64, int) (id pcommon.SpanID) {
			binary.BigEndian.PutUint64(id[:], rand.Uint64())
			return id
		},
	})
	var runs []ptrace.Traces
	for _, file := range files {
		recorded, err := readRuns(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
		}
		runs = append(runs, recorded...)
	}
	// Whole rounds of the connections only, each of which has its own templates.
	for len(load.templates)+Connections <= len(runs)/runsPerRequest {
		for range Connections {
			at := len(load.templates) * runsPerRequest
			s, err := newTemplate(join(runs[at : at+runsPerRequest]))
			if err != nil {
				return nil, err
			}
			load.templates = append(load.templates, s)
		}
	}
	if len(load.templates) == 0 {
		return nil, fmt.Errorf("%w: %d are too few", ErrNoRecords, len(runs))
	}
	return load, nil
}

// join returns one request of runs.
func join(runs []ptrace.Traces) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, run := range runs {
		run.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	return td
}

// readRuns reads the runs of a file, each with its complete history.
func readRuns(file string) ([]ptrace.Traces, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	recorded, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(text)
	if err != nil {
		return nil, err
	}
	var order []pcommon.TraceID
	runs := map[pcommon.TraceID]ptrace.Traces{}
	for _, resource := range recorded.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				id := span.TraceID()
				if _, ok := runs[id]; !ok {
					order = append(order, id)
					runs[id] = ptrace.NewTraces()
					part := runs[id].ResourceSpans().AppendEmpty()
					resource.Resource().CopyTo(part.Resource())
					scope.Scope().CopyTo(part.ScopeSpans().AppendEmpty().Scope())
				}
				span.CopyTo(runs[id].ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty())
			}
		}
	}
	all := make([]ptrace.Traces, len(order))
	for i, id := range order {
		if err := addHistory(runs[id]); err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		all[i] = runs[id]
	}
	return all, nil
}

// addHistory adds to each model call of a run what an agent sends with it: the instructions, all messages so far,
// and the tokens used.
func addHistory(run ptrace.Traces) error {
	var (
		history      []json.RawMessage
		instructions string
	)
	for _, span := range spansOf(run) {
		attributes := span.Attributes()
		if given, ok := attributes.Get(runmodel.KeySystemInstructions); ok {
			instructions = given.Str()
		}
		input, ok := attributes.Get(runmodel.KeyInputMessages)
		if !ok {
			continue
		}
		var messages []json.RawMessage
		if err := json.Unmarshal([]byte(input.Str()), &messages); err != nil {
			return fmt.Errorf("read the messages: %w", err)
		}
		history = append(history, messages...)
		whole := marshal(history)
		input.SetStr(whole)
		attributes.PutStr(runmodel.KeySystemInstructions, instructions)
		var answer string
		if output, ok := attributes.Get(runmodel.KeyOutputMessages); ok {
			answer = output.Str()
			messages = nil
			if err := json.Unmarshal([]byte(answer), &messages); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			history = append(history, messages...)
		}
		const bytesPerToken = 4
		attributes.PutInt(runmodel.KeyInputTokens, int64((len(instructions)+len(whole))/bytesPerToken))
		attributes.PutInt(runmodel.KeyOutputTokens, int64(len(answer)/bytesPerToken))
	}
	return nil
}
