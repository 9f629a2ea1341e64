package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/clickhouse"
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
	require.NoError(t, clickhouse.Migrate(t.Context(), address))
	e := newEnvOn(t, engines.Postgres(t), address)
	session, project := e.setUp(t)
	sibling := e.createProject(t, session, project.WorkspaceId, "Sibling")
	for range 3 {
		storeRun(t, address, project.Id)
	}
	large := storeLongRun(t, address, project.Id)
	storeRun(t, address, sibling.Id)
	key := bearer(e.mint(t, session, project.Id, ScopeRunsRead, ScopeRunsWrite).Key)
	path := "/v1/runs/export?project_id=" + project.Id.String()
	get := func(t *testing.T, query string, options ...option) *httptest.ResponseRecorder {
		t.Helper()
		w := e.do(t, http.MethodGet, path+query, nil, append(options, key)...)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		return w
	}
	listed := must[RunPage](t, e.do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String(), nil, key), http.StatusOK).Data
	require.Len(t, listed, 4)
	must[Score](t, e.do(t, http.MethodPost, "/v1/runs/"+listed[0].RunId.String()+"/scores", `{"name":"good","value":true,"span_id":"`+rootSpan+`"}`, key), http.StatusCreated)

	t.Run("as the runs are read", func(t *testing.T) {
		w := get(t, "")
		assert.Equal(t, "application/x-ndjson", w.Header().Get("Content-Type"))
		exported := lines[Run](t, w.Body.Bytes())
		require.Len(t, exported, len(listed))
		for i, run := range exported {
			read := must[Run](t, e.do(t, http.MethodGet, "/v1/runs/"+listed[i].RunId.String(), nil, key), http.StatusOK)
			assert.Equal(t, read, run)
		}
		assert.Len(t, lines[Run](t, get(t, "&status=error").Body.Bytes()), 3)
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
			var own []Span
			for _, line := range bytes.Split(body, []byte("\n")) {
				if bytes.HasPrefix(line, []byte(`{"record":"span"`)) && bytes.Contains(line, []byte(`"run_id":"`+run.RunId.String())) {
					own = append(own, lines[Span](t, line)...)
				}
			}
			page := must[SpanPage](t, e.do(t, http.MethodGet, "/v1/runs/"+run.RunId.String()+"/spans?full=true&limit=10000", nil, key), http.StatusOK)
			assert.Equal(t, page.Data, own)
		}
	})
	t.Run("compressed", func(t *testing.T) {
		w := get(t, "", header("Accept-Encoding", "gzip"))
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
			w := get(t, "&format=parquet"+query, header("Accept-Encoding", "gzip"))
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
		problemOf(t, e.do(t, http.MethodGet, path+"&format=csv", nil, key), http.StatusUnprocessableEntity)
		problemOf(t, e.do(t, http.MethodGet, "/v1/runs/export?project_id="+sibling.Id.String(), nil, key), http.StatusNotFound)
		problemOf(t, e.do(t, http.MethodGet, "/v1/runs/export", nil, key), http.StatusUnprocessableEntity)
	})
}

// TestExportBreaksOff takes an export of 60 MB over a connection whose server gives every request half a second: it outlives
// that, and when the store goes away in the middle the client does not take the part for the whole.
func TestExportBreaksOff(t *testing.T) {
	t.Parallel()
	store, database := engines.ClickHouseServer(t)
	require.NoError(t, clickhouse.Migrate(t.Context(), store.URL(database)))
	e := newEnvOn(t, engines.Postgres(t), store.URL(database))
	session, project := e.setUp(t)
	conn, err := clickhouse.Open(store.URL(database))
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
	server := httptest.NewUnstartedServer(e.api)
	server.Config.WriteTimeout, server.Config.ReadTimeout = 500*time.Millisecond, 500*time.Millisecond
	server.Start()
	defer server.Close()
	read := func(during func()) (received int, err error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/runs/export?project_id="+project.Id.String(), nil)
		require.NoError(t, err)
		cookie(session)(r)
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
	received, err := read(func() { time.Sleep(time.Second) }) // the client is slower than the server's timeouts
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, runs, received)
	received, err = read(func() { store.Stop(t) })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, received, runs)
}
