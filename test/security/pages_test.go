package security

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
)

// testWebPages opens foreign web pages in Chromium, before there is a user and while the user is logged in.
func testWebPages(t *testing.T, p *product.Product) *product.Account {
	t.Helper()
	b := browser.New(t, "../../_build/security")
	services := []int{product.Web, product.API}
	input := map[string]any{
		"base": p.Ports.URL(product.Web), "api": p.Ports.URL(product.API), "web": p.Ports.Addr(product.Web),
		"projectId": "0198c0de-0000-7000-8000-000000000001", "email": "first@example.com", "password": "correct horse battery staple",
		"stores": shifted(p, stores), "services": shifted(p, services),
	}
	before := pids(t, p)
	b.Play(t, "stranger", input, nil)
	state := read(t, p, "/v1/setup", "")
	assert.Equal(t, map[string]any{"bootstrapped": false, "token_required": false}, state)

	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	me, keys := read(t, p, "/v1/me", account.Cookie), read(t, p, "/v1/keys?project_id="+account.ProjectID, account.Cookie)
	input["cookie"], err = account.CookieBoundTo(t.Context(), browser.Secret)
	require.NoError(t, err)
	input["projectId"], input["email"], input["password"] = account.ProjectID, account.Email, account.Password
	b.Play(t, "stranger", input, nil)
	assert.Equal(t, me, read(t, p, "/v1/me", account.Cookie), "still logged in, with the same projects")
	assert.Equal(t, keys, read(t, p, "/v1/keys?project_id="+account.ProjectID, account.Cookie))
	assert.Equal(t, before, pids(t, p), "the same processes")
	return account
}

func shifted(p *product.Product, ports []int) []int {
	shifted := make([]int, len(ports))
	for i, port := range ports {
		shifted[i] = port + p.Ports.Offset
	}
	return shifted
}

// read reads a path of the API like the user's browser.
func read(t *testing.T, p *product.Product, path, cookie string) map[string]any {
	t.Helper()
	answer, err := product.Do(t.Context(), http.MethodGet, p.Ports.URL(product.Web)+path, http.Header{"Cookie": {cookie}}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	var value map[string]any
	require.NoError(t, json.Unmarshal(answer.Body, &value))
	return value
}
