// Package upgrade opens data folders that earlier releases have written with today's product. README.md says how to write one.
package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// appearTime limits the wait for a new run. The machine may be busy.
const appearTime = time.Minute

// TestOpen starts the product on the data folder of each release, reads everything, and goes on with it.
func TestOpen(t *testing.T) {
	files, err := filepath.Glob("testdata/*.tar.zst")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".tar.zst")
		t.Run(name, func(t *testing.T) { openFolder(t, file, filepath.Join("testdata", name+".json")) })
	}
}

// folder is an old data folder on which a product runs.
type folder struct {
	record record
	models *provider.Server
	// caller is the first user's, once that has logged in.
	caller caller
}

func openFolder(t *testing.T, file, about string) {
	f := &folder{}
	var err error
	f.record, err = readRecord(about)
	require.NoError(t, err)
	p := f.record.Provider
	f.models = listen(t, provider.Options{Key: p.Key, Answer: func(*provider.Request) *provider.Reply { return &provider.Reply{Text: "8"} }}, p.Address)
	up := prepare(t)
	require.NoError(t, unpack(file, up.Data))
	require.NoError(t, up.Up(t.Context()))
	f.caller = caller{t: t, base: up.Ports.URL(product.Web)}

	// The order counts: what is read was written before.
	t.Run("users", f.testUsers)
	t.Run("keys", f.testKeys)
	t.Run("reads", f.testReads)
	t.Run("providers", f.testProvider)
	t.Run("runs", f.testNewRun)
	t.Run("failures", f.testFailures)
}

// on returns the caller for a subtest: without credentials until the first user has logged in.
func (f *folder) on(t *testing.T) caller {
	c := f.caller
	c.t = t
	return c
}

// as returns the caller for a subtest, with a key.
func (f *folder) as(t *testing.T, key string) caller { return f.on(t).key(key) }

// testUsers logs users in with their passwords, and is refused with others.
func (f *folder) testUsers(t *testing.T) {
	stranger := f.on(t) // a login with a session would end it
	login := func(email, password string) product.Answer {
		return stranger.send(http.MethodPost, "/v1/login", product.JSON, encode(t, object{"email": email, "password": password}))
	}
	for i, u := range f.record.Users {
		answer := login(u.Email, u.Password)
		if u.Refused != "" {
			assert.Equal(t, u.Refused, decode(t, answer.Body)["code"], "%s: %s", u.Email, answer.Body)
			continue
		}
		assert.Equal(t, http.StatusOK, answer.Status, "%s: %s", u.Email, answer.Body)
		if i == 0 {
			f.caller = f.on(t).session(answer)
		}
	}
	wrong := login(f.record.Users[0].Email, f.record.Users[1].Password)
	assert.Equal(t, http.StatusUnauthorized, wrong.Status, "%s", wrong.Body)
}

// testKeys uses keys for what they allow, and for what they do not.
func (f *folder) testKeys(t *testing.T) {
	list := "/v1/runs?project_id=" + f.record.ProjectID
	for _, one := range []struct {
		name, key, method, path string
		status                  int
	}{
		{"admin reads", f.record.Keys.Admin, http.MethodGet, list, http.StatusOK},
		{"reader reads", f.record.Keys.Reader, http.MethodGet, list, http.StatusOK},
		{"reader does not write", f.record.Keys.Reader, http.MethodPost, "/v1/datasets", http.StatusForbidden},
		{"ingest does not read", f.record.Keys.Ingest, http.MethodGet, list, http.StatusForbidden},
		{"revoked", f.record.Keys.Revoked, http.MethodGet, list, http.StatusUnauthorized},
		{"revoked does not send", f.record.Keys.Revoked, http.MethodPost, "/v1/runs", http.StatusUnauthorized},
	} {
		body := encode(t, object{"project_id": f.record.ProjectID, "name": "new"})
		answer := f.as(t, one.key).send(one.method, one.path, product.JSON, body)
		assert.Equal(t, one.status, answer.Status, "%s: %s", one.name, answer.Body)
	}
}

// testReads compares every answer with that of the release that wrote the folder.
func (f *folder) testReads(t *testing.T) {
	require.NotEmpty(t, f.record.Reads)
	for _, one := range f.record.Reads {
		answer := f.on(t).send(http.MethodGet, one.Path, product.JSON, nil)
		if !assert.Equal(t, http.StatusOK, answer.Status, "GET %s: %s", one.Path, answer.Body) {
			continue
		}
		for _, difference := range differences("answer", records(one.Answer), records(answerOf(t, answer))) {
			t.Errorf("GET %s: %s", one.Path, difference)
		}
	}
}

// testProvider calls a model with the API key and the header that are encrypted in the folder.
func (f *folder) testProvider(t *testing.T) {
	c, p := f.as(t, f.record.Keys.Admin), f.record.Provider
	answered := c.post("/v1/playground/completions", object{
		"project_id": f.record.ProjectID, "provider_id": p.ConnectionID, "model_config": object{"model": p.Model},
		"messages": []object{{"role": "user", "content": "Say number 8."}},
	})
	assert.Contains(t, string(encode(t, answered)), `"8"`)
	requests := f.models.Requests()
	require.NotEmpty(t, requests)
	assert.Equal(t, p.Value, requests[len(requests)-1].Header.Get(p.Header))
}

// testNewRun sends a run with the old key and reads it.
func (f *folder) testNewRun(t *testing.T) {
	c := f.as(t, f.record.Keys.Ingest)
	id := sendNative(c, nativeRun("today"))
	run := f.awaitRun(t, id)
	want := object{"name": "support agent", "status": "ok", "release": "today", "span_count": 5.0, "llm_call_count": 3.0, "tool_call_count": 1.0}
	assert.Empty(t, differences("run", want, run))
	assert.Positive(t, run["cost_usd"])
}

// testFailures lets runs fail again as those of the folder did, because groups are those of the last 90 days. What was decided about the groups
// still holds.
func (f *folder) testFailures(t *testing.T) {
	for _, one := range f.record.Failures {
		id := sendNative(f.as(t, f.record.Keys.Ingest), between(one.Run, -2*time.Second, -time.Second)) // a window ends with the last full second
		run := f.awaitRun(t, id)
		require.Equal(t, one.Fingerprint, at(t, run, "failure", "fingerprint"))
		group := f.as(t, f.record.Keys.Admin).get("/v1/agent/failed-runs/" + one.Fingerprint + "?project_id=" + f.record.ProjectID)
		state := at(t, group, "group", "state")
		for _, difference := range differences("decision", one.Decision, at(t, state, "decision")) {
			t.Error(one.Fingerprint, difference)
		}
		if !one.Reopens {
			assert.Equal(t, one.Decision["state"], at(t, state, "state"))
			assert.Nil(t, at(t, state, "regression"))
			continue
		}
		assert.Equal(t, "open", at(t, state, "state"))
		assert.Equal(t, id, at(t, state, "regression", "run_id"))
	}
}

// awaitRun waits until a run can be read, and returns it.
func (f *folder) awaitRun(t *testing.T, id string) (run object) {
	ctx, cancel := context.WithTimeout(t.Context(), appearTime)
	defer cancel()
	require.NoError(t, product.Wait(ctx, func(context.Context) error {
		answer := f.as(t, f.record.Keys.Admin).send(http.MethodGet, "/v1/runs/"+id, product.JSON, nil) //nolint:contextcheck // it takes the test's
		if answer.Status != http.StatusOK {
			return errors.New(string(answer.Body))
		}
		return json.Unmarshal(answer.Body, &run)
	}))
	return run
}
