package collector

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/looptrace/looptrace/test/product"
)

// The configuration that samples keeps every failed and every expensive trace, and of the others a share, which its trace
// state names.
func TestSamplingKeepsFailures(t *testing.T) {
	t.Parallel()
	const traces = 2000
	kept := &keeper{states: map[uint32]string{}}
	server := httptest.NewServer(kept)
	t.Cleanup(server.Close)
	ports, err := product.FreePorts()
	require.NoError(t, err)
	config, err := filepath.Abs("../../deploy/collector/sampling.yaml")
	require.NoError(t, err)
	collector := startCollector(t, "collector-full/looptrace-collector-full", ports,
		[]string{"--feature-gates=processor.tailsamplingprocessor.usetracestate", "--config", config},
		"LOOPTRACE_ENDPOINT="+server.URL, "LOOPTRACE_KEY=any", "DECISION_WAIT=1s")
	wait(t, func(ctx context.Context) error {
		if err := collector.Ended(); err != nil {
			return product.Permanent(err)
		}
		_, err := product.Do(ctx, http.MethodGet, ports.URL(product.OTLPHTTP), nil, nil)
		return err
	})

	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	isFailed := func(i uint32) bool { return i%20 == 1 }
	isExpensive := func(i uint32) bool { return i%20 == 2 }
	for i := range uint32(traces) {
		for n := range 2 {
			span := spans.AppendEmpty()
			var id pcommon.TraceID
			binary.BigEndian.PutUint32(id[:], i)
			id[15] = 1
			span.SetTraceID(id)
			span.SetSpanID(pcommon.SpanID{byte(n + 1)})
			span.SetName("chat")
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now()))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
			switch {
			case n == 0:
			case isFailed(i):
				span.Status().SetCode(ptrace.StatusCodeError)
			case isExpensive(i):
				span.Attributes().PutStr("gen_ai.operation.name", "chat")
				span.Attributes().PutStr("gen_ai.provider.name", "openai")
				span.Attributes().PutStr("gen_ai.request.model", "gpt-4o")
				span.Attributes().PutInt("gen_ai.usage.input_tokens", 1_000_000)
			}
		}
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	require.NoError(t, err)
	answer, err := product.Post(t.Context(), ports.URL(product.OTLPHTTP)+"/v1/traces", "", product.Protobuf, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)

	// The trace with the largest number that must be kept is decided with the others.
	wait(t, func(context.Context) error {
		if n := kept.spans(); n < 2*traces/10 {
			return fmt.Errorf("%d spans are kept", n)
		}
		return nil
	})
	require.NoError(t, collector.Stop(patience)) // it sends what it has decided
	kept.mu.Lock()
	defer kept.mu.Unlock()
	shared := 0
	for i := range uint32(traces) {
		state, isKept := kept.states[i]
		switch {
		case isFailed(i), isExpensive(i):
			assert.True(t, isKept, "trace %d", i)
			assert.Contains(t, []string{"", "ot=th:0"}, state, "it stands for itself")
		case isKept:
			shared++
			assert.True(t, strings.HasPrefix(state, "ot=th:e6"), "trace %d stands for ten: %q", i, state)
		}
	}
	assert.InDelta(t, traces*9/10/10, shared, 60, "a tenth of the others")
	assert.Equal(t, 2*len(kept.states), kept.n, "whole traces")
}

// keeper is where the sample goes. It notes the trace state of each trace, by its number.
type keeper struct {
	mu     sync.Mutex
	states map[uint32]string
	n      int
}

func (k *keeper) spans() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	request := ptraceotlp.NewExportRequest()
	if err == nil {
		err = request.UnmarshalProto(raw)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, rs := range request.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				id := span.TraceID()
				k.states[binary.BigEndian.Uint32(id[:])] = span.TraceState().AsRaw()
				k.n++
			}
		}
	}
	w.Header().Set("Content-Type", product.Protobuf)
}
