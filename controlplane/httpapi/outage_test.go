package httpapi_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/test/engines"
)

func TestOutageOfPostgreSQL(t *testing.T) {
	t.Parallel()
	server, database := engines.PostgresServer(t)
	e := apitest.NewOn(t, server.URL(database), apitest.AbsentClickHouse)
	session, _ := e.SetUp(t)
	me := func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session))
	}
	require.Equal(t, http.StatusOK, me().Code)

	server.Stop(t)
	for range 3 { // also the connections that were open
		apitest.Golden(t, "postgresql_away", me())
	}
	apitest.Golden(t, "postgresql_away", e.Do(t, http.MethodGet, "/v1/setup", nil))
	apitest.Golden(t, "postgresql_away", e.Login(t, apitest.Password))
	apitest.Golden(t, "readyz_both_away", e.Do(t, http.MethodGet, "/readyz", nil))
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/healthz", nil).Code)
	// What cannot be a key or session is refused without a look.
	assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Bearer("lt_nothing")).Code)

	server.Start(t)
	require.Eventually(t, func() bool { return me().Code == http.StatusOK }, 10*time.Second, 50*time.Millisecond)
}

func TestOutageOfClickHouse(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t)
	e := apitest.NewOn(t, engines.Postgres(t), server.URL(database))
	session, project := e.SetUp(t)
	list := func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String(), nil, apitest.Cookie(session))
	}
	require.Equal(t, http.StatusOK, list().Code, list().Body)
	apitest.Golden(t, "readyz", e.Do(t, http.MethodGet, "/readyz", nil))

	// A migration may take a table away for a moment.
	conn, err := clickhouse.Open(server.URL(database))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	search := func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodGet, "/v1/runs?search=word&project_id="+project.Id.String(), nil, apitest.Cookie(session))
	}
	require.NoError(t, conn.Exec(t.Context(), "RENAME TABLE spans TO spans_by_id"))
	apitest.Golden(t, "clickhouse_away", search())
	require.NoError(t, conn.Exec(t.Context(), "RENAME TABLE spans_by_id TO spans"))
	require.Equal(t, http.StatusOK, search().Code)

	server.Stop(t)
	for range 3 {
		apitest.Golden(t, "clickhouse_away", list())
	}
	apitest.Golden(t, "readyz_clickhouse_away", e.Do(t, http.MethodGet, "/readyz", nil))
	assert.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)).Code, "the rest goes on")

	server.Start(t)
	require.Eventually(t, func() bool { return list().Code == http.StatusOK }, 20*time.Second, 50*time.Millisecond)
}

// A ClickHouse that hangs takes a connection and says nothing; the answer does not wait for it to be given up.
func TestReadinessWhileClickHouseHangs(t *testing.T) {
	t.Parallel()
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = hanging.Close() })
	e := apitest.NewOn(t, engines.Postgres(t), "clickhouse://"+hanging.Addr().String()+"/looptrace")
	asked := time.Now()
	apitest.Golden(t, "readyz_clickhouse_away", e.Do(t, http.MethodGet, "/readyz", nil))
	assert.Less(t, time.Since(asked), 5*httpapi.PingTimeout, "its connection is given up after 30 s")
}
