package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/test/product"
)

const letterTopic = "looptrace.spans.deadletter"

// poisonRun returns a run of one span, which change makes invalid.
func (s *site) poisonRun(spoil func(ptrace.ResourceSpans)) (id string, body []byte) {
	run := uuid.New()
	traces := ptrace.NewTraces()
	resource := traces.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("looptrace.project.id", s.account.ProjectID) // like the collector
	span := resource.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID(run))
	span.SetSpanID(pcommon.SpanID(run[8:]))
	span.SetName("poison")
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
	spoil(resource)
	body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	if err != nil {
		panic(fmt.Sprintf("encode traces: %v", err)) // consists of valid parts
	}
	return run.String(), body
}

func theSpan(resource ptrace.ResourceSpans) ptrace.Span {
	return resource.ScopeSpans().At(0).Spans().At(0)
}

func sound(ptrace.ResourceSpans) {}

func badText(resource ptrace.ResourceSpans) {
	theSpan(resource).SetName("bad \xff\xfe text")
	theSpan(resource).Attributes().PutStr("bad \xff key", "bad \xc3\x28 value")
}

func deep(resource ptrace.ResourceSpans) {
	const levels = 10_000
	value := theSpan(resource).Attributes().PutEmpty("deep").SetEmptySlice()
	for range levels {
		value = value.AppendEmpty().SetEmptySlice()
	}
}

func large(resource ptrace.ResourceSpans) {
	theSpan(resource).Attributes().PutStr("large", strings.Repeat("x", 16<<20))
}

func outOfTime(resource ptrace.ResourceSpans) {
	theSpan(resource).SetStartTimestamp(math.MaxUint64)
	theSpan(resource).SetEndTimestamp(math.MaxUint64 - 1)
}

func noProject(resource ptrace.ResourceSpans) { resource.Resource().Attributes().Clear() }

// TestPoison sends invalid data: to ingest, which must refuse it, and directly to the queue, where it must not block
// other records.
func TestPoison(t *testing.T) {
	s := newSite(t)
	s.send(t)
	pids := s.pids(t)
	r := s.newRow(t, "poison at ingest and on the queue", "16 requests, 8 records")
	t.Run("endpoints", s.poisonIngest)
	t.Run("queue", func(t *testing.T) { s.poisonQueue(t, r) })
	require.Equal(t, pids, s.pids(t), "a process ended")
	r.verify(t, visibleWithin)
}

func (s *site) poisonIngest(t *testing.T) {
	_, whole := s.poisonRun(sound)
	id := uuid.New()
	text := func(name string) []byte {
		return fmt.Appendf(nil, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%x","spanId":"00000000000000f1","name":"%s","startTimeUnixNano":"1760000000000000000"}]}]}]}`, id, name)
	}
	nested := strings.Replace(string(text("n")), `"name"`, `"attributes":[{"key":"k","value":`+
		strings.Repeat(`{"arrayValue":{"values":[`, 10_000)+strings.Repeat(`]}}`, 10_000)+`}],"name"`, 1)
	_, nestedProtobuf := s.poisonRun(deep)
	largeID, largeBody := s.poisonRun(large)
	badID, bad := s.poisonRun(badText)
	timelessID, timeless := s.poisonRun(outOfTime)
	for _, port := range []int{product.Ingest, product.OTLPHTTP} {
		accepted := map[int]int{product.Ingest: 202, product.OTLPHTTP: 200}[port]
		for _, c := range []struct {
			name, contentType string
			body              []byte
			want              int
			// run is one that must then be readable. says is a required part of the answer.
			run, says string
		}{
			{name: "cut protobuf", contentType: product.Protobuf, body: whole[:len(whole)-1], want: 400},
			{name: "protobuf that is none", contentType: product.Protobuf, body: []byte("\xff\xff\xff\xff poison"), want: 400},
			{name: "JSON with bad UTF-8", contentType: product.JSON, body: text("bad \xff\xfe text"), want: 400},
			{name: "deep JSON", contentType: product.JSON, body: []byte(nested), want: 400},
			{name: "deep protobuf", contentType: product.Protobuf, body: nestedProtobuf, want: 400},
			{name: "attribute of 16 MiB", contentType: product.Protobuf, body: largeBody, want: accepted, run: largeID},
			{name: "protobuf with bad UTF-8", contentType: product.Protobuf, body: bad, want: accepted, run: badID},
			{name: "times out of range", contentType: product.Protobuf, body: timeless, want: accepted, says: timelessID},
		} {
			answer, err := product.Post(t.Context(), s.product.Ports.URL(port)+"/v1/traces", s.client.Key, c.contentType, c.body)
			require.NoError(t, err, "%s to %d", c.name, port)
			require.Equal(t, c.want, answer.Status, "%s to %d: %s", c.name, port, answer.Body)
			if c.run != "" {
				s.awaitRun(t, c.run)
			}
			if c.says != "" {
				require.NotEmpty(t, answer.Body, "%s to %d: it does not say that a span was left out", c.name, port)
			}
		}
	}
}

// awaitRun waits until a run of one span is readable.
func (s *site) awaitRun(t *testing.T, id string) {
	t.Helper()
	wait(t, func(ctx context.Context) error {
		run, found, err := s.reader.Run(ctx, id)
		if err == nil && (!found || run.SpanCount != 1) {
			err = fmt.Errorf("run %s has %d spans", id, run.SpanCount)
		}
		return err
	})
}

func (s *site) poisonQueue(t *testing.T, r *row) {
	queue := s.product.Queue(t, kgo.ProducerBatchMaxBytes(32<<20))
	produce := func(topic string, body []byte, headers ...kgo.RecordHeader) {
		record := &kgo.Record{Topic: topic, Value: body, Headers: headers}
		require.NoError(t, queue.ProduceSync(t.Context(), record).FirstErr())
	}
	require.Empty(t, s.letters(t.Context(), t))

	// What can be stored, in part or as a whole, must not become a dead letter. The rest must.
	largeID, largeBody := s.poisonRun(large)
	badID, bad := s.poisonRun(badText)
	_, timeless := s.poisonRun(outOfTime)
	_, homeless := s.poisonRun(noProject)
	_, nested := s.poisonRun(deep)
	produce(spansTopic, largeBody)
	produce(spansTopic, bad)
	produce(spansTopic, timeless)
	begin := time.Now()
	unstorable := [][]byte{[]byte("\xff\xff poison"), homeless, nested}
	for _, body := range unstorable {
		produce(spansTopic, body)
	}
	healthyID, healthy := s.poisonRun(sound)
	produce(spansTopic, healthy)
	s.awaitRun(t, healthyID)
	r.Note("a healthy neighbour is visible after %.2f s", time.Since(begin).Seconds())
	awaitLetters := func(count int) []letter {
		var letters []letter
		wait(t, func(ctx context.Context) error {
			if letters = s.letters(ctx, t); len(letters) != count {
				return fmt.Errorf("there are %d dead letters, want %d", len(letters), count)
			}
			return nil
		})
		return letters
	}
	letters := awaitLetters(len(unstorable))
	r.Note("dead letters are listed after %.2f s", time.Since(begin).Seconds())
	for _, letter := range letters {
		require.Contains(t, []string{"undecodable", "rejected"}, letter.Reason, "%+v", letter)
		require.NotEmpty(t, letter.Error, "%+v", letter)
	}
	s.awaitRun(t, largeID)
	s.awaitRun(t, badID)

	// A letter whose cause is fixed is stored when it is redriven. The others become dead letters again.
	fixedID, fixed := s.poisonRun(sound)
	produce(letterTopic, fixed, kgo.RecordHeader{Key: "dead_letter.reason", Value: []byte("rejected")})
	awaitLetters(len(unstorable) + 1)
	s.deadletters(t.Context(), t, "redrive", "--all", "--yes")
	s.awaitRun(t, fixedID)
	awaitLetters(2*len(unstorable) + 1)
	r.Note("%d dead letters, redriven", len(unstorable))
}

// letter is a dead letter in the output of `looptrace deadletters list --json`.
type letter struct {
	Letter string `json:"letter"`
	Reason string `json:"reason"`
	Error  string `json:"error"`
}

func (s *site) letters(ctx context.Context, t *testing.T) []letter {
	t.Helper()
	var letters []letter
	for line := range bytes.Lines(s.deadletters(ctx, t, "list", "--json")) {
		var l letter
		require.NoError(t, json.Unmarshal(line, &l), "%s", line)
		letters = append(letters, l)
	}
	return letters
}

// deadletters runs the command and returns its output.
func (s *site) deadletters(ctx context.Context, t *testing.T, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(ctx, filepath.Join(s.product.Root, "_build", "looptrace"), append([]string{"deadletters"}, args...)...)
	command.Args = append(command.Args, "--brokers", s.product.Ports.Addr(product.Broker))
	command.Env = append(os.Environ(), "KAFKA_SASL="+product.QueueLogin(s.product.Password(t, "queue")))
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	require.NoError(t, err, "%s", problems.String())
	return output
}
