package runs_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/engines"
)

// outlast waits until the server gives up a request that does not begin: those that began before are older than its timeouts.
func outlast(t *testing.T, server *httptest.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err)
}

func TestStream(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	session, project := e.SetUp(t)
	sibling := e.CreateProject(t, session, project.WorkspaceId, "Sibling")
	minted := e.Mint(t, session, project.Id, contract.ScopeRunsRead)
	key := apitest.Bearer(minted.Key)

	server := httptest.NewUnstartedServer(e.API)
	server.Config.ReadTimeout, server.Config.WriteTimeout = time.Second, time.Second
	server.Start()
	t.Cleanup(server.Close)
	url := server.URL + "/v1/runs/stream?project_id=" + project.Id.String()

	old := apitest.StoreRun(t, address, project.Id)
	all, errors, none := apitest.OpenStream(t, url, key), apitest.OpenStream(t, url+"&status=error&search=slow", apitest.Cookie(session)), apitest.OpenStream(t, url+"&status=ok", key)
	for _, s := range []*apitest.Stream{all, errors, none} {
		require.Equal(t, http.StatusOK, s.Status)
		assert.Equal(t, "ready", s.Next(t).Name)
	}
	outlast(t, server)
	apitest.StoreRun(t, address, sibling.Id)
	id := apitest.StoreRun(t, address, project.Id)
	sent := func(s *apitest.Stream, id uuid.UUID) apitest.Event {
		for {
			next := s.Next(t)
			require.Equal(t, "run", next.Name)
			var run contract.Run
			require.NoError(t, json.Unmarshal([]byte(next.Data), &run))
			assert.Equal(t, project.Id, run.ProjectId, "only the project's own")
			if run.RunId == id {
				return next
			}
			assert.Equal(t, old, run.RunId, "what was written just before may be sent again")
		}
	}
	last := sent(all, id)
	sent(errors, id)
	all.Close()

	t.Run("goes on after the last event", func(t *testing.T) {
		missed := map[uuid.UUID]bool{}
		for range 3 {
			missed[apitest.StoreRun(t, address, project.Id)] = true
		}
		// A connection may break anywhere: changes of the same position count as sent once all of them were.
		position := last.ID
		for len(missed) > 0 {
			again := apitest.OpenStream(t, url, key, apitest.Header("Last-Event-ID", position))
			assert.Equal(t, "ready", again.Next(t).Name)
			for {
				next := again.Next(t)
				var run contract.Run
				require.NoError(t, json.Unmarshal([]byte(next.Data), &run))
				if next.ID != "" {
					position = next.ID
				}
				if missed[run.RunId] {
					delete(missed, run.RunId)
					require.Equal(t, len(missed) == 0, next.ID != "", "the last one has the position")
					break
				}
				require.Empty(t, next.ID, "there is more that was missed")
			}
			again.Close()
		}
		assert.Equal(t, "reset", apitest.OpenStream(t, url, key, apitest.Header("Last-Event-ID", "1000")).Next(t).Name)
		assert.Equal(t, http.StatusUnprocessableEntity, apitest.OpenStream(t, url, key, apitest.Header("Last-Event-ID", "x")).Status)
	})
	t.Run("so many of a key", func(t *testing.T) {
		var open []*apitest.Stream
		status := http.StatusOK
		for len(open) < 100 && status == http.StatusOK {
			s := apitest.OpenStream(t, url, key)
			status = s.Status
			open = append(open, s)
		}
		assert.Equal(t, http.StatusTooManyRequests, status)
		for _, s := range open {
			s.Close()
		}
	})
	t.Run("another tenant's", func(t *testing.T) {
		apitest.Golden(t, "not_found", e.Do(t, http.MethodGet, "/v1/runs/stream?project_id="+project.Id.String(), nil, apitest.Bearer(e.Mint(t, session, sibling.Id, contract.ScopeRunsRead).Key)))
	})
	t.Run("ends with the key", func(t *testing.T) {
		require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, "/v1/keys/"+minted.Id.String(), nil, apitest.Cookie(session)).Code)
		end := none.Next(t)
		assert.Equal(t, "end", end.Name)
		assert.Contains(t, end.Data, `"code":"key_revoked"`)
		_, open := <-none.Events
		assert.False(t, open)
	})
}
