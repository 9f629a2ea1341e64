package httpapi_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/recording"
)

// ingestAnswers is an ingest that answers as a test says, and keeps the runs that it takes.
type ingestAnswers struct {
	mu     sync.Mutex
	status map[string]int // by the id of a run, else 202
	taken  map[string]bool
}

func (i *ingestAnswers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var body struct {
		Runs []struct {
			ID string `json:"run_id"`
		} `json:"runs"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, run := range body.Runs {
		if status := i.status[run.ID]; status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	for _, run := range body.Runs {
		i.taken[run.ID] = true
	}
	w.WriteHeader(http.StatusAccepted)
}

func (i *ingestAnswers) has(run uuid.UUID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.taken[run.String()]
}

func TestRecorderGoesOnAfterOneProject(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	ingest := &ingestAnswers{status: map[string]int{}, taken: map[string]bool{}}
	server := httptest.NewServer(ingest)
	t.Cleanup(server.Close)
	run := func(project uuid.UUID) *recording.Run {
		return &recording.Run{Project: project, Source: "playground", ID: uuid.Must(uuid.NewV7()), Name: "playground", Kind: "task", Status: recording.StatusOK, Start: time.Now(), End: time.Now()}
	}
	recorder := recording.New(server.URL, identity.New(e.DB, identity.Config{SessionSecret: bytes.Repeat([]byte{7}, 32), Passwords: apitest.CheapPasswords}, e.Clock.Now), slog.New(slog.NewJSONHandler(e.Log, nil)))

	deleted := e.CreateProject(t, session, project.WorkspaceId, "Deleted")
	gone := run(deleted.Id)
	recorder.Record(t.Context(), gone)
	path := "/v1/projects/" + deleted.Id.String() + "?confirm=Deleted"
	require.Equal(t, http.StatusNoContent, e.Do(t, http.MethodDelete, path, nil, apitest.Cookie(session)).Code)

	limited := e.CreateProject(t, session, project.WorkspaceId, "Limited")
	late := run(limited.Id)
	ingest.status[late.ID.String()] = http.StatusTooManyRequests
	recorder.Record(t.Context(), late)

	other := run(project.Id)
	recorder.Record(t.Context(), other)
	go recorder.Run(t.Context())
	require.Eventually(t, func() bool { return ingest.has(other.ID) }, time.Minute, 50*time.Millisecond, "a run of another project")
	assert.False(t, ingest.has(gone.ID))
	require.Eventually(t, func() bool { return bytes.Contains([]byte(e.Log.String()), []byte("their project was deleted")) }, time.Minute, 50*time.Millisecond)

	ingest.mu.Lock()
	delete(ingest.status, late.ID.String())
	ingest.mu.Unlock()
	require.Eventually(t, func() bool { return ingest.has(late.ID) }, time.Minute, 50*time.Millisecond, "the run that waited")
}
