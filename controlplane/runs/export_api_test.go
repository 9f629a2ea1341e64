package runs_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/ratelimit"
	"github.com/looptrace/looptrace/test/engines"
)

// lines decodes NDJSON.
func lines[T any](t *testing.T, body []byte) (records []T) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	for decoder.More() {
		var record T
		require.NoError(t, decoder.Decode(&record))
		records = append(records, record)
	}
	return records
}

func TestExport(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	for range 3 {
		apitest.StoreRun(t, address, project.Id)
	}
	large := apitest.StoreLongRun(t, address, project.Id)
	apitest.StoreRun(t, address, sibling.Id)
	key := apitest.Bearer(e.Mint(t, session, project.Id, contract.ScopeRunsRead, contract.ScopeRunsWrite).Key)
	path := "/v1/runs/export?project_id=" + project.Id.String()
	get := func(t *testing.T, query string, options ...apitest.Option) *httptest.ResponseRecorder {
		t.Helper()
		w := e.Do(t, http.MethodGet, path+query, nil, append(options, key)...)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		return w
	}
	listed := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String(), nil, key), http.StatusOK).Data
	require.Len(t, listed, 4)
	apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, "/v1/runs/"+listed[0].RunId.String()+"/scores", `{"name":"good","value":true,"span_id":"`+apitest.RootSpan+`"}`, key), http.StatusCreated)

	t.Run("as the runs are read", func(t *testing.T) {
		w := get(t, "")
		assert.Equal(t, "application/x-ndjson", w.Header().Get("Content-Type"))
		exported := lines[contract.Run](t, w.Body.Bytes())
		require.Len(t, exported, len(listed))
		for i, run := range exported {
			read := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+listed[i].RunId.String(), nil, key), http.StatusOK)
			assert.Equal(t, read, run)
		}
		assert.Len(t, lines[contract.Run](t, get(t, "&status=error").Body.Bytes()), 3)
		assert.Empty(t, get(t, "&name=absent").Body.Bytes())
	})
	t.Run("with spans", func(t *testing.T) {
		type record struct {
			Record string `json:"record"`
			RunID  string `json:"run_id"`
		}
		body := get(t, "&include=spans").Body.Bytes()
		runs, spans := 0, map[string]int{}
		for _, r := range lines[record](t, body) {
			if r.Record == "run" {
				assert.Equal(t, listed[runs].RunId.String(), r.RunID)
				runs++
			} else {
				assert.Equal(t, "span", r.Record)
				assert.Equal(t, listed[runs-1].RunId.String(), r.RunID, "a run's spans follow it")
				spans[r.RunID]++
			}
		}
		assert.Equal(t, 4, runs)
		for _, run := range listed {
			assert.Equal(t, int(run.SpanCount), spans[run.RunId.String()])
			if run.RunId == large {
				require.Greater(t, run.SpanCount, int64(250), "more than are held at a time")
			}
			var own []contract.Span
			for _, line := range bytes.Split(body, []byte("\n")) {
				if bytes.HasPrefix(line, []byte(`{"record":"span"`)) && bytes.Contains(line, []byte(`"run_id":"`+run.RunId.String())) {
					own = append(own, lines[contract.Span](t, line)...)
				}
			}
			page := apitest.Must[contract.SpanPage](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.RunId.String()+"/spans?full=true&limit=10000", nil, key), http.StatusOK)
			assert.Equal(t, page.Data, own)
		}
	})
	t.Run("compressed", func(t *testing.T) {
		w := get(t, "", apitest.Header("Accept-Encoding", "gzip"))
		require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
		unpacked, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		assert.Equal(t, get(t, "").Body.String(), string(body))
	})
	t.Run("Parquet, read by ClickHouse", func(t *testing.T) {
		conn, err := clickhouse.Open(address)
		require.NoError(t, err)
		defer func() { assert.NoError(t, conn.Close()) }()
		read := func(t *testing.T, query, columns string, into ...any) {
			t.Helper()
			w := get(t, "&format=parquet"+query, apitest.Header("Accept-Encoding", "gzip"))
			assert.Empty(t, w.Header().Get("Content-Encoding"))
			require.True(t, strings.HasPrefix(w.Body.String(), "PAR1"))
			ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"max_query_size": 64 << 20})) // the file stands in the query
			file := "unhex('" + hex.EncodeToString(w.Body.Bytes()) + "')"
			require.NoError(t, conn.QueryRow(ctx, "SELECT "+columns+" FROM format(Parquet, "+file+")").Scan(into...))
		}
		var n, total, unpriced uint64
		var start time.Time
		var cost float64
		var tag, tier, score, input string
		read(t, "", `count(), min(start_time), assumeNotNull(sum(cost_usd)), assumeNotNull(max(tags[1])), assumeNotNull(max(metadata['tier'])),
			assumeNotNull(anyIf(scores.name[1], length(scores.name) = 1)), assumeNotNull(maxIf(inputs, name = 'answer')), toUInt64(assumeNotNull(sum(span_count))),
			toUInt64(assumeNotNull(sum(unpriced_call_count)))`, &n, &start, &cost, &tag, &tier, &score, &input, &total, &unpriced)
		assert.Equal(t, uint64(4), n)
		assert.Equal(t, listed[len(listed)-1].StartTime, start.UTC())
		assert.InDelta(t, 3*0.0042, cost, 1e-9)
		var left int64
		for _, run := range listed {
			left += run.UnpricedCallCount
		}
		assert.Equal(t, left, int64(unpriced))
		assert.Equal(t, []string{"math", "free", "good", "What is 2^53+1?"}, []string{tag, tier, score, input})

		var spans uint64
		var message, attribute string
		read(t, "&include=spans", `count(), max(JSONExtractRaw(ifNull(input_messages, ''), 1, 'parts', 1, 'number')),
			max(JSONExtractString(ifNull(attributes, ''), 'custom'))`, &spans, &message, &attribute)
		assert.Equal(t, total, spans)
		assert.Equal(t, "9007199254740993", message)
		assert.Equal(t, "yes", attribute)
		w := get(t, "&format=parquet&name=absent")
		empty, err := parquet.OpenFile(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
		require.NoError(t, err)
		assert.Zero(t, empty.NumRows())
		assert.NotEmpty(t, empty.Schema().Fields(), "an empty file has its schema")
	})
	t.Run("refused", func(t *testing.T) {
		apitest.WantProblem(t, e.Do(t, http.MethodGet, path+"&format=csv", nil, key), http.StatusUnprocessableEntity)
		apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/runs/export?project_id="+sibling.Id.String(), nil, key), http.StatusNotFound)
		apitest.WantProblem(t, e.Do(t, http.MethodGet, "/v1/runs/export", nil, key), http.StatusUnprocessableEntity)
	})
}

// leavesOf lists where the values of a schema stand.
func leavesOf(schema *openapi3.Schema, path ...string) map[string]bool {
	leaves := map[string]bool{}
	for _, ref := range slices.Concat(schema.AllOf, schema.AnyOf, schema.OneOf) {
		if ref.Value.Properties != nil {
			maps.Copy(leaves, leavesOf(ref.Value, path...))
		}
	}
	for name, ref := range schema.Properties {
		below := leavesOf(ref.Value, append(slices.Clone(path), name)...)
		if len(below) == 0 {
			below[strings.Join(append(slices.Clone(path), name), ".")] = true
		}
		maps.Copy(leaves, below)
	}
	return leaves
}

// TestParquetHasWhatTheAPIHas holds the columns of both files to the schemas Run and Span, and their values to the NDJSON of
// the same runs: what is in an object there has the object's name before its own, but for usage.
func TestParquetHasWhatTheAPIHas(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	apitest.StoreRun(t, address, project.Id)
	tokens := int64(7)
	unpriced := apitest.AgentRun(project.Id, time.Now().Add(-time.Minute), "search", "", nil)
	unpriced[1].InputTokens = &tokens // and no cost
	apitest.StoreSpans(t, address, unpriced, apitest.AgentRun(project.Id, time.Now().Add(-time.Minute), "book", "seat 7 is taken", nil))
	conn, err := clickhouse.Open(address)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	get := func(query string) []byte {
		w := e.Do(t, http.MethodGet, "/v1/runs/export?project_id="+project.Id.String()+query, nil, apitest.Cookie(session))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		return w.Body.Bytes()
	}
	for schema, query := range map[string]string{"Run": "", "Span": "&include=spans"} {
		ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"max_query_size": 64 << 20, "date_time_output_format": "iso"}))
		var texts []struct {
			Row string `ch:"row"`
		}
		require.NoError(t, conn.Select(ctx, &texts, "SELECT formatRow('JSONEachRow', *) AS row FROM format(Parquet, unhex('"+
			hex.EncodeToString(get(query+"&format=parquet"))+"'))"))
		records := slices.DeleteFunc(lines[map[string]any](t, get(query)), func(r map[string]any) bool { return r["record"] == "run" })
		require.Len(t, records, len(texts))
		leaves := leavesOf(doc.Components.Schemas[schema].Value)
		require.Greater(t, len(leaves), 30)
		delete(leaves, "cut")              // an export has everything
		delete(leaves, "scores.truncated") // as above
		delete(leaves, "score_summaries")  // an export asks for none
		filled, empty := 0, 0
		for i, text := range texts {
			var row map[string]any
			require.NoError(t, json.Unmarshal([]byte(text.Row), &row))
			for leaf := range leaves {
				column := strings.ReplaceAll(strings.TrimPrefix(leaf, "usage."), ".", "_")
				got, ok := row[column]
				require.True(t, ok, "%s has %s; the file has no column %s", schema, leaf, column)
				delete(row, column)
				var want any = records[i]
				for _, name := range strings.Split(leaf, ".") {
					object, _ := want.(map[string]any)
					want = object[name]
				}
				if wanted, ok := want.(string); ok && strings.HasSuffix(column, "_time") || column == "received_at" {
					wantTime, err := time.Parse(time.RFC3339Nano, want.(string))
					require.NoError(t, err)
					gotTime, err := time.Parse(time.RFC3339Nano, got.(string))
					require.NoError(t, err)
					assert.True(t, wantTime.Equal(gotTime), "%s: %s, %s", column, wanted, got)
					continue
				}
				if text, ok := got.(string); ok && schema == "Span" {
					if _, said := want.(string); !said { // JSON as text
						require.NoError(t, json.Unmarshal([]byte(text), &got), column)
					}
				}
				nothing := func(value any) bool { // what JSON writes as empty, a column leaves out
					list, isList := value.([]any)
					object, isObject := value.(map[string]any)
					return value == nil || value == "" || isList && len(list) == 0 || isObject && len(object) == 0
				}
				if nothing(want) {
					assert.True(t, nothing(got), "%s: %v", column, got)
					empty++
					continue
				}
				assert.Equal(t, want, got, column)
				filled++
			}
			if schema == "Span" {
				delete(row, "project_id") // so that files of several projects can be put together
			}
			assert.Empty(t, row, "columns that the API does not have")
		}
		assert.Greater(t, filled, 30)
		assert.Greater(t, empty, 30)
	}
	exported := lines[contract.Run](t, get(""))
	assert.True(t, slices.ContainsFunc(exported, func(r contract.Run) bool { return r.UnpricedCallCount > 0 }))
	assert.True(t, slices.ContainsFunc(exported, func(r contract.Run) bool { return r.Failure != nil && r.Usage == nil }))
}

// TestExportBreaksOff takes an export of 60 MB over a connection whose server gives every request half a second: it outlives
// that, and when the store goes away in the middle the client does not take the part for the whole.
func TestExportBreaksOff(t *testing.T) {
	t.Parallel()
	store, database := engines.ClickHouseServer(t)
	const budget = 1 << 40 // bytes
	e := apitest.NewLimited(t, engines.Postgres(t), store.URL(database), httpapi.RateLimits{User: ratelimit.Limits{ratelimit.Bytes: apitest.Slowly(budget)}})
	session, project := e.SetUp(t)
	direct, err := ch.ParseDSN(store.URL(database)) // which may take as long as it likes
	require.NoError(t, err)
	conn, err := ch.Open(direct)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	const runs = 3000
	of := "toUUID('" + project.Id.String() + "') AS project_id, generateUUIDv4(number) AS run_id"
	at := "toStartOfDay(now64(9) - toIntervalDay(1)) + toIntervalSecond(number) AS"
	for _, statement := range []string{
		"CREATE TABLE made ENGINE = Memory AS SELECT number, " + of + " FROM numbers(3000)",
		"INSERT INTO spans (project_id, run_id, span_id, version, start_time, end_time, name, inputs) SELECT project_id, run_id, 1, 1, " + at + " s, s, 'r', randomPrintableASCII(20000) FROM made",
		"INSERT INTO run_bounds (project_id, run_id, first_start, last_start, first_batch, last_batch) SELECT project_id, run_id, " + at + " s, s, 1, 1 FROM made",
		"INSERT INTO runs (project_id, run_id, version, start_time, end_time, root_span_id, name, kind, status, span_count) SELECT project_id, run_id, 1, " + at + " s, s, 1, 'r', 'agent', 'ok', 1 FROM made",
	} {
		require.NoError(t, conn.Exec(t.Context(), statement))
	}
	server := httptest.NewUnstartedServer(e.API)
	server.Config.WriteTimeout, server.Config.ReadTimeout = 500*time.Millisecond, 500*time.Millisecond
	server.Start()
	defer server.Close()
	read := func(during func()) (received int, err error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/runs/export?project_id="+project.Id.String(), nil)
		require.NoError(t, err)
		apitest.Cookie(session)(r)
		r.Header.Set("Accept-Encoding", "identity")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		require.Equal(t, http.StatusOK, response.StatusCode)
		body := bufio.NewReaderSize(response.Body, 1<<16)
		for {
			if _, err = body.ReadBytes('\n'); err != nil {
				return received, err
			}
			if received++; received == 10 {
				during()
			}
		}
	}
	received, err := read(func() { outlast(t, server) }) // the client is slower than the server's timeouts
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, runs, received)
	left := func() float64 {
		remaining, err := strconv.ParseFloat(e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)).Header().Get("RateLimit-Remaining"), 64)
		require.NoError(t, err)
		return remaining
	}
	before, logged := left(), strings.Count(e.Log.String(), `"route":"/v1/runs/export"`)
	received, err = read(func() { store.Stop(t) })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, received, runs)
	// What was sent until then is charged and logged, once the handler has ended.
	require.Eventually(t, func() bool {
		return strings.Count(e.Log.String(), `"route":"/v1/runs/export"`) == logged+1
	}, time.Minute, 50*time.Millisecond)
	assert.Greater(t, before-left(), 5000.0)
}
