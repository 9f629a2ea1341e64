package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/hostile"
)

// TestHostileFilesAreShownInPart is the preview of a small file that stands for a large one. It has no more than an honest one.
func TestHostileFilesAreShownInPart(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	dataset := e.CreateDataset(t, as, project.Id, "d")
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+dataset.Id.String()+"/imports/_actions/preview", string(hostile.Parquet(t)), as, apitest.Header("Content-Type", "application/vnd.apache.parquet"))
	assert.Less(t, w.Body.Len(), 1<<20)
	preview := apitest.Must[contract.ImportPreview](t, w, http.StatusOK)
	assert.True(t, preview.Partial)
	require.NotEmpty(t, preview.Rows)
	assert.LessOrEqual(t, len(preview.Rows), 3)
	assert.True(t, preview.Rows[0].Partial)
	var values map[string]string
	require.NoError(t, json.Unmarshal(preview.Rows[0].Values, &values))
	assert.True(t, strings.HasPrefix(values["input"], `["a","a"`) && strings.HasSuffix(values["input"], "…"), values)
	assert.Less(t, len(values["input"]), 3000)
}

// TestPlacesOfAnAttack has ten keys of one project that preview and grade as often as they can. What they find no place for is refused at once,
// and another organization's previews and gradings go on.
func TestPlacesOfAnAttack(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	owner, project := e.SetUp(t)
	dataset := e.CreateDataset(t, apitest.Cookie(owner), project.Id, "d")
	preview, grade := "/v1/datasets/"+dataset.Id.String()+"/imports/_actions/preview", "/v1/graders/_actions/grade"
	type attack struct {
		body *io.PipeWriter
		done chan *httptest.ResponseRecorder
	}
	var (
		mu       sync.Mutex
		underWay []attack
		refused  int
		begun    sync.WaitGroup
	)
	for n := range 10 {
		key := apitest.Bearer(e.Mint(t, owner, project.Id, contract.ScopeDatasetsWrite, contract.ScopeEvalsWrite).Key)
		for range 5 {
			path, mediaType := preview, "application/vnd.apache.parquet"
			if n%2 == 1 {
				path, mediaType = grade, "application/json"
			}
			reading, writing := io.Pipe()
			begins := &beginning{Reader: reading, begun: make(chan struct{})}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, begins)
			r.Header.Set("Content-Type", mediaType)
			key(r)
			one := attack{writing, make(chan *httptest.ResponseRecorder, 1)}
			go func() {
				w := httptest.NewRecorder()
				e.API.ServeHTTP(w, r)
				one.done <- w
			}()
			begun.Go(func() {
				select {
				case <-begins.begun: // it has its places
					mu.Lock()
					defer mu.Unlock()
					underWay = append(underWay, one)
				case w := <-one.done:
					mu.Lock()
					defer mu.Unlock()
					refused++
					assert.Equal(t, http.StatusTooManyRequests, w.Code, w.Body)
					assert.NotEmpty(t, w.Header().Get("Retry-After"))
				}
			})
		}
	}
	begun.Wait()
	require.NotEmpty(t, underWay)
	assert.LessOrEqual(t, len(underWay), 8)
	assert.Equal(t, 50, len(underWay)+refused)

	others := apitest.Must[contract.Organization](t, e.Do(t, http.MethodPost, "/v1/organizations", `{"name":"others"}`, apitest.Cookie(owner)), http.StatusCreated)
	member := e.AddMember(t, "other@example.com", "owner", others.Id)
	workspace := apitest.Must[contract.Workspace](t, e.Do(t, http.MethodPost, "/v1/workspaces", `{"name":"w","organization_id":"`+others.Id.String()+`"}`, apitest.Cookie(member)), http.StatusCreated)
	elsewhere := e.CreateProject(t, member, workspace.Id, "p")
	theirs := e.CreateDataset(t, apitest.Cookie(member), elsewhere.Id, "d")
	w := e.Do(t, http.MethodPost, "/v1/datasets/"+theirs.Id.String()+"/imports/_actions/preview", "input\n1\n", apitest.Cookie(member), apitest.Header("Content-Type", apitest.TypeCSV))
	assert.Equal(t, http.StatusOK, w.Code, w.Body)
	w = e.Do(t, http.MethodPost, grade, `{"project_id":"`+elsewhere.Id.String()+`","graders":[`+apitest.ExactGrader+`],"sample":{"output":"1","reference_output":"1"}}`, apitest.Cookie(member))
	assert.Equal(t, http.StatusOK, w.Code, w.Body)

	for _, one := range underWay {
		require.NoError(t, one.body.Close())
		<-one.done
	}
	w = e.Do(t, http.MethodPost, preview, "input\n1\n", apitest.Cookie(owner), apitest.Header("Content-Type", apitest.TypeCSV))
	assert.Equal(t, http.StatusOK, w.Code, "the places are free again: %s", w.Body)
}

// beginning tells when a body is first read.
type beginning struct {
	io.Reader
	once  sync.Once
	begun chan struct{}
}

func (b *beginning) Read(p []byte) (int, error) {
	b.once.Do(func() { close(b.begun) })
	return b.Reader.Read(p)
}
