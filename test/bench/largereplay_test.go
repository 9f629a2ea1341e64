package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// TestReplayLarge plans, replays and compares a run of BENCH_REPLAY_AGENTS agents, each of which calls a model BENCH_REPLAY_CALLS times and a
// tool in between. Each request has all messages of its agent before it.
func TestReplayLarge(t *testing.T) {
	agents, _ := strconv.Atoi(os.Getenv("BENCH_REPLAY_AGENTS"))
	calls, _ := strconv.Atoi(os.Getenv("BENCH_REPLAY_CALLS"))
	if agents == 0 || calls == 0 {
		t.Skip("see make bench-replay-large")
	}
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin, apikey.ScopeIngestWrite, apikey.ScopeRunsRead, apikey.ScopeReplaysRead, apikey.ScopeReplaysWrite)
	require.NoError(t, err)
	answer := func(*provider.Request) *provider.Reply { return &provider.Reply{Text: "Something else."} }
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{Answer: answer}), key: key, project: account.ProjectID}
	b.connect()
	run, spans, last := b.recordLarge(agents, calls)
	fmt.Printf("%d cores of %s, load before the start %s; %d agents of %d calls, %d spans\n", runtime.NumCPU(), runtime.GOARCH, load, agents, calls, spans)
	late := fmt.Sprintf(`"edits":[{"target":{"span_id":%q},"set":{"model":"other"}}]`, last)
	b.timed("plan, late edit", func() { b.plan(run, late) })
	b.timed("plan, all", func() { b.plan(run, `"edits":[{"target":"all","set":{"system_prompt":"Be brief."}}]`) })
	b.timed("plan, timeouts", func() { b.plan(run, `"edits":[{"target":{"kind":"tool"},"set":{"timeout_ms":60000}}]`) })
	cassette := b.timedReplay("cassette", fmt.Sprintf(`{"run_id":%q,"executor":"cassette","edits":[]}`, run))
	server := b.timedReplay("server, late edit, 2 attempts", fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"controls":1,"treatments":1,%s}`, run, b.connection, late))
	for name, url := range map[string]string{"cassette": cassette, "server": server} {
		time.Sleep(5 * time.Second) // until the runs of the attempts are stored
		b.timed("read, "+name, func() { b.read(url) })
		b.timed("diff, "+name, func() { b.read(url + "/diff") })
	}
}

// timed prints how long something takes, and the memory of the control plane.
func (b *providerBench) timed(name string, do func()) {
	idle := b.rss()
	peak := idle
	var done sync.WaitGroup
	stop := watchRSS(b, &peak, &done)
	cpu, begin := b.cpu(), time.Now()
	do()
	took := time.Since(begin)
	close(stop)
	done.Wait()
	fmt.Printf("%-32s %6.2f s, %6.2f s of CPU, RSS peak %d MB, +%d MB\n", name, took.Seconds(), (b.cpu() - cpu).Seconds(), peak/1e6, (peak-idle)/1e6)
}

func (b *providerBench) plan(run, edits string) {
	answer := b.post(b.up.Ports.URL(product.Web)+"/v1/replays", b.key, fmt.Sprintf(`{"run_id":%q,"provider_id":%q,"plan":true,%s}`, run, b.connection, edits))
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	var plan struct{ Steps []json.RawMessage }
	require.NoError(b.t, json.NewDecoder(answer.Body).Decode(&plan))
	require.Equal(b.t, http.StatusOK, answer.StatusCode)
	require.NotEmpty(b.t, plan.Steps)
}

func (b *providerBench) timedReplay(name, body string) (url string) {
	b.timed(name, func() {
		url = b.up.Ports.URL(product.Web) + "/v1/replays/" + b.create("/v1/replays", body)
		var ended struct {
			Status  string
			Verdict *struct{ Sentence string }
			Error   json.RawMessage
		}
		for ended.Verdict == nil {
			time.Sleep(50 * time.Millisecond)
			require.NoError(b.t, json.Unmarshal(b.read(url), &ended))
			require.NotEqual(b.t, "failed", ended.Status, string(ended.Error))
		}
	})
	return url
}

// recordLarge records a run, and returns its id, the number of its spans and the last call of a model.
func (b *providerBench) recordLarge(agents, calls int) (run string, spans int, last string) {
	id := uuid.New()
	at := time.Now().Add(-10 * time.Hour)
	begin := at
	traces := ptrace.NewTraces()
	list := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	size, sent := 0, 0
	send := func() {
		body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		require.NoError(b.t, err)
		answer, err := product.Post(b.t.Context(), b.up.Ports.URL(product.Web)+"/v1/traces", b.key, product.JSON, body)
		require.NoError(b.t, err)
		require.Less(b.t, answer.Status, 300, string(answer.Body))
		traces = ptrace.NewTraces()
		list = traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		size = 0
	}
	spanID := func(n int) pcommon.SpanID { return pcommon.SpanID{0xa0, 5: byte(n >> 16), 6: byte(n >> 8), 7: byte(n)} }
	add := func(n, parent int, name string, from time.Time, attributes map[string]any) {
		span := list.AppendEmpty()
		span.SetTraceID(pcommon.TraceID(id))
		span.SetSpanID(spanID(n))
		if parent > 0 {
			span.SetParentSpanID(spanID(parent))
		}
		span.SetName(name)
		span.SetStartTimestamp(pcommon.NewTimestampFromTime(from))
		span.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
		require.NoError(b.t, span.Attributes().FromRaw(attributes))
		sent++
		for _, value := range attributes {
			if text, ok := value.(string); ok {
				size += len(text)
			}
		}
		if size > 4<<20 {
			send()
		}
	}
	number := 1
	for agent := range agents {
		number++
		frame, from := number, at
		messages := fmt.Sprintf(`{"role":"user","parts":[{"type":"text","content":"Look up all numbers of part %d."}]}`, agent)
		for n := range calls {
			call, arguments := fmt.Sprintf("call_%d_%d", agent, n), fmt.Sprintf(`{"n":%d,"of":%d}`, n, agent)
			says := fmt.Sprintf(`{"role":"assistant","parts":[{"type":"tool_call","id":%q,"name":"look_up","arguments":%s}]}`, call, arguments)
			if n == calls-1 {
				says = fmt.Sprintf(`{"role":"assistant","parts":[{"type":"text","content":"All numbers of part %d are squares."}]}`, agent)
			}
			begun := at
			at = at.Add(50 * time.Millisecond)
			number++
			add(number, frame, "chat m", begun, map[string]any{
				runmodel.KeyOperationName: "chat", runmodel.KeyProviderName: "openai", runmodel.KeyRequestModel: "m", runmodel.KeyResponseModel: "m",
				runmodel.KeyToolDefinitions: `[{"type":"function","name":"look_up","parameters":{"type":"object"}}]`,
				runmodel.KeyInputMessages:   "[" + messages + "]", runmodel.KeyOutputMessages: "[" + says + "]", runmodel.KeyInputTokens: 100, runmodel.KeyOutputTokens: 20,
			})
			last = spanID(number).String()
			if n == calls-1 {
				break
			}
			begun, at = at, at.Add(10*time.Millisecond)
			number++
			result := fmt.Sprintf(`{"number":%d}`, n*n)
			add(number, frame, "execute_tool look_up", begun, map[string]any{
				runmodel.KeyOperationName: "execute_tool", runmodel.KeyToolName: "look_up", runmodel.KeyToolCallID: call, runmodel.KeyToolCallArguments: arguments,
				runmodel.KeyToolCallResult: result,
			})
			messages += "," + says + fmt.Sprintf(`,{"role":"tool","parts":[{"type":"tool_call_response","id":%q,"response":%q}]}`, call, result)
		}
		add(frame, 1, "invoke_agent part", from, map[string]any{runmodel.KeyOperationName: "invoke_agent", runmodel.KeyAgentName: fmt.Sprintf("part %d", agent)})
	}
	add(1, 0, "invoke_agent all", begin, map[string]any{runmodel.KeyOperationName: "invoke_agent", runmodel.KeyAgentName: "all"})
	send()
	reader := product.Reader{Base: b.up.Ports.URL(product.Web), Key: b.key}
	require.Eventually(b.t, func() bool {
		stored, found, err := reader.Run(b.t.Context(), id.String())
		return err == nil && found && stored.SpanCount == int64(sent)
	}, 10*time.Minute, time.Second)
	return id.String(), sent, last
}

// cpu returns what the control plane has taken of the processors.
func (b *providerBench) cpu() time.Duration {
	all, err := b.up.Processes()
	require.NoError(b.t, err)
	at := slices.IndexFunc(all, func(p product.Process) bool { return p.Name == product.ControlPlaneProcess })
	require.GreaterOrEqual(b.t, at, 0, "the control plane does not run")
	usage, err := all[at].Usage()
	require.NoError(b.t, err)
	return usage.CPU
}
