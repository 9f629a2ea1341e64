package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/test/engines"
)

// event is one server-sent event.
type event struct{ id, name, data string }

// stream reads the events of a stream until it ends.
type stream struct {
	status int
	events chan event
	close  context.CancelFunc
}

func openStream(t *testing.T, url string, options ...option) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	for _, o := range options {
		o(r)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	s := &stream{status: resp.StatusCode, events: make(chan event, 100), close: cancel}
	go func() {
		defer close(s.events)
		defer resp.Body.Close()
		var e event
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if value == "" && e.name != "" {
					s.events <- e
				}
				e = event{}
			}
		}
	}()
	return s
}

func (s *stream) next(t *testing.T) event {
	t.Helper()
	select {
	case e, open := <-s.events:
		require.True(t, open, "the stream has ended")
		return e
	case <-time.After(time.Minute):
		require.Fail(t, "no event came")
		return event{}
	}
}

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
	e := newEnvOn(t, engines.Postgres(t), address)
	session, project := e.setUp(t)
	sibling := e.createProject(t, session, project.WorkspaceId, "Sibling")
	minted := e.mint(t, session, project.Id, contract.ScopeRunsRead)
	key := bearer(minted.Key)

	server := httptest.NewUnstartedServer(e.api)
	server.Config.ReadTimeout, server.Config.WriteTimeout = time.Second, time.Second
	server.Start()
	t.Cleanup(server.Close)
	url := server.URL + "/v1/runs/stream?project_id=" + project.Id.String()

	old := storeRun(t, address, project.Id)
	all, errors, none := openStream(t, url, key), openStream(t, url+"&status=error&search=slow", cookie(session)), openStream(t, url+"&status=ok", key)
	for _, s := range []*stream{all, errors, none} {
		require.Equal(t, http.StatusOK, s.status)
		assert.Equal(t, "ready", s.next(t).name)
	}
	outlast(t, server)
	storeRun(t, address, sibling.Id)
	id := storeRun(t, address, project.Id)
	sent := func(s *stream, id uuid.UUID) event {
		for {
			next := s.next(t)
			require.Equal(t, "run", next.name)
			var run contract.Run
			require.NoError(t, json.Unmarshal([]byte(next.data), &run))
			assert.Equal(t, project.Id, run.ProjectId, "only the project's own")
			if run.RunId == id {
				return next
			}
			assert.Equal(t, old, run.RunId, "what was written just before may be sent again")
		}
	}
	last := sent(all, id)
	sent(errors, id)
	all.close()

	t.Run("goes on after the last event", func(t *testing.T) {
		missed := map[uuid.UUID]bool{}
		for range 3 {
			missed[storeRun(t, address, project.Id)] = true
		}
		// A connection may break anywhere: changes of the same position count as sent once all of them were.
		position := last.id
		for len(missed) > 0 {
			again := openStream(t, url, key, header("Last-Event-ID", position))
			assert.Equal(t, "ready", again.next(t).name)
			for {
				next := again.next(t)
				var run contract.Run
				require.NoError(t, json.Unmarshal([]byte(next.data), &run))
				if next.id != "" {
					position = next.id
				}
				if missed[run.RunId] {
					delete(missed, run.RunId)
					require.Equal(t, len(missed) == 0, next.id != "", "the last one has the position")
					break
				}
				require.Empty(t, next.id, "there is more that was missed")
			}
			again.close()
		}
		assert.Equal(t, "reset", openStream(t, url, key, header("Last-Event-ID", "1000")).next(t).name)
		assert.Equal(t, http.StatusUnprocessableEntity, openStream(t, url, key, header("Last-Event-ID", "x")).status)
	})
	t.Run("so many of a project", func(t *testing.T) {
		var open []*stream
		status := http.StatusOK
		for len(open) <= runs.MaxWatches && status == http.StatusOK {
			s := openStream(t, url, key)
			status = s.status
			open = append(open, s)
		}
		assert.Equal(t, http.StatusTooManyRequests, status)
		for _, s := range open {
			s.close()
		}
	})
	t.Run("another tenant's", func(t *testing.T) {
		golden(t, "not_found", e.do(t, http.MethodGet, "/v1/runs/stream?project_id="+project.Id.String(), nil, bearer(e.mint(t, session, sibling.Id, contract.ScopeRunsRead).Key)))
	})
	t.Run("ends with the key", func(t *testing.T) {
		require.Equal(t, http.StatusNoContent, e.do(t, http.MethodDelete, "/v1/keys/"+minted.Id.String(), nil, cookie(session)).Code)
		end := none.next(t)
		assert.Equal(t, "end", end.name)
		assert.Contains(t, end.data, `"code":"key_revoked"`)
		_, open := <-none.events
		assert.False(t, open)
	})
}

// TestStreamEndsSoon takes the access away right after it was checked: the stream ends within 5 seconds.
func TestStreamEndsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var taken time.Time
		request := &call{operation: &operation{writeTimeout: defaultWriteTimeout}, recheck: func(context.Context, access.Target) error {
			if taken.IsZero() {
				taken = time.Now()
				return nil
			}
			return problem.Missing()
		}}
		w := httptest.NewRecorder()
		events := newEventStream(context.WithValue(t.Context(), callKey{}, request), w)
		silent := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		require.NoError(t, follow(events, access.Target{}, silent, func(error) (bool, error) { return true, nil }))
		assert.LessOrEqual(t, time.Since(taken), 5*time.Second)
		assert.Contains(t, w.Body.String(), "event: end\n")
	})
}
