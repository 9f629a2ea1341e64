// Package e2e tests the built product with stock OpenTelemetry SDKs, MCP clients and a browser.
//
// It needs `make build`, npm, Python with venv, and Chromium: LOOPTRACE_CHROMIUM, or else /usr/bin/chromium.
// Screenshots go to test/e2e/output.
package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/browser"
	"github.com/looptrace/looptrace/test/product"
)

// shared is the product of most tests. The first test that needs it starts it.
var shared struct {
	once    sync.Once
	dir     string
	product *product.Product
	account *product.Account
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startShared(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "looptrace-e2e-")
	if err != nil {
		return fmt.Errorf("create the folder of the product: %w", err)
	}
	shared.dir = dir
	if shared.product, err = product.New(dir); err != nil {
		return err
	}
	if err = shared.product.Up(ctx); err == nil {
		shared.account, err = shared.product.Setup(ctx)
	}
	if err != nil {
		return fmt.Errorf("start the product: %w\n%s", err, shared.product.Logs())
	}
	return nil
}

func stopShared() error {
	if shared.product != nil {
		if err := shared.product.Down(); err != nil {
			return fmt.Errorf("stop the product: %w\n%s", err, shared.product.Logs())
		}
	}
	return os.RemoveAll(shared.dir)
}

// project is a project in a running product, and an account that is logged in.
type project struct {
	*product.Account

	product *product.Product
	browser *browser.Browser
	// ingestKey writes. adminKey reads and manages.
	ingestKey, adminKey string
}

// newProject creates a project in the shared product. A failed test logs what the product logged.
func newProject(t *testing.T) *project {
	t.Helper()
	shared.once.Do(func() { shared.err = startShared(t.Context()) })
	require.NoError(t, shared.err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(shared.product.Logs())
		}
	})
	account, err := shared.account.NewProject(t.Context(), t.Name()+" "+uuid.NewString()[:8])
	require.NoError(t, err)
	return withKeys(t, shared.product, account)
}

// newProduct starts a product for one test and returns its first project.
func newProduct(t *testing.T) *project {
	t.Helper()
	p := product.Start(t)
	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	return withKeys(t, p, account)
}

func withKeys(t *testing.T, p *product.Product, account *product.Account) *project {
	t.Helper()
	ingestKey, err := account.Key(t.Context(), "e2e ingest", "ingest:write")
	require.NoError(t, err)
	adminKey, err := account.Key(t.Context(), "e2e admin", "admin")
	require.NoError(t, err)
	return &project{Account: account, product: p, ingestKey: ingestKey, adminKey: adminKey}
}

func (p *project) web() string { return p.product.Ports.URL(product.Web) }

// play runs a browser scenario in the project, logged in unless input has its own cookie.
func (p *project) play(t *testing.T, scenario string, input map[string]any, result any) {
	t.Helper()
	if p.browser == nil {
		p.browser = browser.New(t, filepath.Join("output", t.Name()))
	}
	all := map[string]any{"base": p.web(), "projectId": p.ProjectID, "cookie": ""}
	maps.Copy(all, input)
	if _, own := input["cookie"]; !own && p.Cookie != "" {
		var err error
		all["cookie"], err = p.CookieBoundTo(t.Context(), browser.Secret)
		require.NoError(t, err)
	}
	p.browser.Play(t, scenario, all, result)
}

func bearer(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// do sends a request to the web address, with body as JSON unless it is nil.
func (p *project) do(t *testing.T, method, path string, header http.Header, body any) product.Answer {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		require.NoError(t, err)
	}
	all := http.Header{"Content-Type": {product.JSON}, "Origin": {p.web()}}
	maps.Copy(all, header)
	answer, err := product.Do(t.Context(), method, p.web()+path, all, text)
	require.NoError(t, err)
	return answer
}

type key struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

// mint creates a key with the credentials in header.
func (p *project) mint(t *testing.T, header http.Header, name string, scopes ...string) key {
	t.Helper()
	answer := p.do(t, http.MethodPost, "/v1/keys", header, map[string]any{"project_id": p.ProjectID, "name": name, "scopes": scopes})
	require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
	var minted key
	require.NoError(t, json.Unmarshal(answer.Body, &minted))
	return minted
}

// waitTime limits the wait for one condition. The machine may be busy.
const waitTime = time.Minute

// eventually waits for a condition.
func eventually(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	require.NoError(t, product.Wait(ctx, condition))
}
