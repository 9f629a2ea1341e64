package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

const (
	email    = "ada@example.com"
	password = "a lovelace of one's own"
)

// setUp makes the first user and an ingest key in the browser, and an admin key over REST.
func (s *story) setUp(t *testing.T) {
	require.False(t, s.bootstrapped(t), "nobody is there yet")

	var made struct {
		ProjectID string `json:"projectId"`
		Key       string `json:"key"`
	}
	s.browser.Play(t, "setup", map[string]any{
		"base": s.web(), "email": email, "password": password, "organization": "Analytical Engines",
	}, &made)
	require.Regexp(t, `^lt_[0-9A-Za-z]{16}\.[0-9A-Za-z]{49}$`, made.Key)
	s.projectID, s.ingestKey = made.ProjectID, made.Key
	require.True(t, s.bootstrapped(t), "the first user is there")

	answer := s.do(t, http.MethodPost, "/v1/setup", "", `{"email":"eve@example.com","password":"let me in, please","org_name":"Eve"}`)
	assert.Equal(t, http.StatusConflict, answer.Status, "setup is done once: %s", answer.Body)

	s.adminKey = s.mint(t, s.login(t), "e2e admin", "admin").Key
}

func (s *story) bootstrapped(t *testing.T) bool {
	t.Helper()
	answer := s.do(t, http.MethodGet, "/v1/setup", "", "")
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	var state struct{ Bootstrapped bool }
	require.NoError(t, json.Unmarshal(answer.Body, &state))
	return state.Bootstrapped
}

// login opens a session and returns its cookie.
func (s *story) login(t *testing.T) *http.Cookie {
	t.Helper()
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	require.NoError(t, err)
	answer := s.do(t, http.MethodPost, "/v1/login", "", string(body))
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	require.Len(t, cookies, 1)
	return cookies[0]
}

type key struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

// mint makes a key: with a session, or with the admin key where there is none.
func (s *story) mint(t *testing.T, session *http.Cookie, name string, scopes ...string) key {
	t.Helper()
	body, err := json.Marshal(map[string]any{"project_id": s.projectID, "name": name, "scopes": scopes})
	require.NoError(t, err)
	header := http.Header{"Content-Type": {product.JSON}, "Origin": {s.web()}}
	if session != nil {
		header.Set("Cookie", session.Name+"="+session.Value)
	} else {
		header.Set("Authorization", "Bearer "+s.adminKey)
	}
	answer, err := product.Do(t.Context(), http.MethodPost, s.web()+"/v1/keys", header, body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	var minted key
	require.NoError(t, json.Unmarshal(answer.Body, &minted))
	return minted
}

func (s *story) web() string { return s.product.Ports.URL(product.Web) }

// do sends one JSON request to the web address.
func (s *story) do(t *testing.T, method, path, key, body string) product.Answer {
	t.Helper()
	header := http.Header{"Content-Type": {product.JSON}, "Origin": {s.web()}}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	answer, err := product.Do(t.Context(), method, s.web()+path, header, []byte(body))
	require.NoError(t, err)
	return answer
}
