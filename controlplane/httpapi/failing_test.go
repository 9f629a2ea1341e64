package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/components/clickhouserunsexporter"
	"github.com/looptrace/looptrace/components/genaisemconvprocessor"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// storeRecorded stores recorded payloads in a project, each as if it was sent minutes ago. It returns the file of each run.
func storeRecorded(t *testing.T, address string, project uuid.UUID, files []string) map[uuid.UUID]string {
	t.Helper()
	factory := clickhouserunsexporter.NewFactory()
	config := factory.CreateDefaultConfig().(*clickhouserunsexporter.Config)
	config.URL = configopaque.String(address)
	exporter, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	require.NoError(t, err)
	require.NoError(t, exporter.Start(t.Context(), componenttest.NewNopHost()))
	mapper := genaisemconvprocessor.NewMapper(genaisemconvprocessor.NewFactory().CreateDefaultConfig().(*genaisemconvprocessor.Config))
	stored := map[uuid.UUID]string{}
	all := ptrace.NewTraces()
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
		require.NoError(t, err, file)
		begin := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).StartTimestamp()
		move := pcommon.NewTimestampFromTime(time.Now().Add(-time.Duration(i+1)*time.Minute)) - begin
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(runmodel.KeyProjectID, project.String())
			rs.Resource().Attributes().PutInt(runmodel.KeyReceivedAt, time.Now().UnixNano())
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					span.SetStartTimestamp(span.StartTimestamp() + move)
					span.SetEndTimestamp(span.EndTimestamp() + move)
					stored[uuid.UUID(span.TraceID())] = file
				}
			}
		}
		mapper.Map(td)
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	require.NoError(t, exporter.ConsumeTraces(t.Context(), all))
	require.NoError(t, exporter.Shutdown(t.Context()))
	return stored
}

// TestFailingStepsAgree holds that a run, the list, the agent view, MCP and Failures name the same failing step for each
// of the recorded failing programs. test/conformance holds that it is the right one.
func TestFailingStepsAgree(t *testing.T) {
	t.Parallel()
	const budget = 2000
	files, err := filepath.Glob(filepath.Join("..", "..", "test", "conformance", "testdata", "failing", "*", "*.json"))
	require.NoError(t, err)
	var payloads []string
	for _, file := range files {
		if filepath.Base(file) != "truth.json" {
			payloads = append(payloads, file)
		}
	}
	require.NotEmpty(t, payloads)
	e, address, project, secret := newReader(t)
	stored := storeRecorded(t, address, project.Id, payloads)
	key := bearer(secret)
	server := httptest.NewServer(e.api)
	t.Cleanup(server.Close)
	client := connect(t, server.URL+"/mcp", secret)
	query := "?limit=100&project_id=" + project.Id.String()
	listed := must[contract.RunPage](t, e.do(t, http.MethodGet, "/v1/runs"+query, nil, key), http.StatusOK).Data
	require.Len(t, listed, len(stored))
	groups := map[string]contract.FailedRunGroup{}
	for _, group := range must[contract.FailedRuns](t, e.do(t, http.MethodGet, "/v1/agent/failed-runs"+query, nil, key), http.StatusOK).Data {
		groups[group.Fingerprint] = group
	}
	inGroups := 0
	for _, run := range listed {
		path := "/v1/runs/" + run.RunId.String()
		file := stored[run.RunId]
		outline := must[contract.Outline](t, e.do(t, http.MethodGet, path+"/outline", nil, key), http.StatusOK)
		view := must[viewAnswer](t, e.do(t, http.MethodGet, fmt.Sprintf("%s/agent-view?token_budget=%d", path, budget), nil, key), http.StatusOK)
		read, _ := callTool[viewAnswer](t, client, "runs.read", map[string]any{"run_id": run.RunId.String(), "token_budget": budget})
		if run.Outcome == contract.OutcomeSucceeded {
			assert.Empty(t, outline.ErrorChain, file)
			assert.Empty(t, view.ErrorChain, file)
			assert.Empty(t, read.ErrorChain, file)
			assert.Nil(t, run.Failure, file)
			continue
		}
		require.NotEmpty(t, outline.ErrorChain, file)
		step := outline.ErrorChain[0]
		id := outline.Spans.SpanId[step]
		for name, answer := range map[string]viewAnswer{"agent view": view, "MCP": read} {
			require.NotEmpty(t, answer.ErrorChain, "%s, %s", file, name)
			assert.Equal(t, id, answer.ErrorChain[0].SpanID, "%s, %s", file, name)
			assert.Contains(t, spanIDs(answer), id, "%s, %s", file, name)
		}
		if run.Outcome != contract.OutcomeFailed {
			assert.Nil(t, run.Failure, file)
			continue
		}
		require.NotNil(t, run.Failure, file)
		assert.Equal(t, id, run.Failure.SpanId, file)
		assert.Equal(t, outline.Strings[outline.Spans.Kind[step]], run.Failure.Step.Kind, file)
		group, ok := groups[run.Failure.Fingerprint]
		require.True(t, ok, file)
		assert.Equal(t, run.Failure.Step, group.Step, file)
		for _, failed := range append(group.Sample, group.Representative) {
			if failed.RunId == run.RunId {
				assert.Equal(t, id, failed.SpanId, file)
				assert.Equal(t, run.Failure.Step, failed.Step, file)
				inGroups++
			}
		}
	}
	assert.Positive(t, inGroups)
}
