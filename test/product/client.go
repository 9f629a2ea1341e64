package product

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// requestTime limits one request.
const requestTime = 30 * time.Second

// client keeps as many connections as a load needs.
var client = &http.Client{
	Timeout:   requestTime,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second},
}

// Answer is a complete HTTP response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends one request and reads the complete response.
func Do(ctx context.Context, method, url string, header http.Header, body []byte) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("make a request: %w", err)
	}
	if header != nil {
		request.Header = header.Clone()
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("send a request: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read, or its error is returned
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: answer}, nil
}

// Account is the first user, logged in, and that user's project.
type Account struct {
	ProjectID       string
	Email, Password string
	// Cookie is the session's cookie, for the Cookie header. It is that of a program: pages have sessions of their own.
	Cookie string

	base, workspaceID string
}

// Setup creates the first user through web.
func (p *Product) Setup(ctx context.Context) (*Account, error) { return Setup(ctx, p.Ports.URL(Web)) }

// Setup creates the first user through the API at base, or through a proxy.
func Setup(ctx context.Context, base string) (*Account, error) {
	a := &Account{Email: "first@example.com", Password: "correct horse battery staple", base: base}
	body, _ := json.Marshal(map[string]string{"email": a.Email, "password": a.Password, "org_name": "Example"}) // strings always marshal
	answer, err := Do(ctx, http.MethodPost, base+"/v1/setup", a.header(), body)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusCreated {
		return nil, fmt.Errorf("set up: %d %s", answer.Status, answer.Body)
	}
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	if len(cookies) == 0 {
		return nil, fmt.Errorf("set up: no session cookie in %v", answer.Header)
	}
	a.Cookie = cookies[0].Name + "=" + cookies[0].Value
	var me struct {
		Projects []struct {
			ID          string `json:"id"`
			WorkspaceID string `json:"workspace_id"`
		} `json:"projects"`
	}
	if err := json.Unmarshal(answer.Body, &me); err != nil || len(me.Projects) == 0 {
		return nil, fmt.Errorf("set up: no project in %s", answer.Body)
	}
	a.ProjectID, a.workspaceID = me.Projects[0].ID, me.Projects[0].WorkspaceID
	return a, nil
}

// CookieBoundTo logs in like a browser whose page has the secret, and returns the session's cookie, for the Cookie header.
func (a *Account) CookieBoundTo(ctx context.Context, secret string) (string, error) {
	body, _ := json.Marshal(map[string]string{"email": a.Email, "password": a.Password}) // strings always marshal
	header := http.Header{"Content-Type": {JSON}, "Origin": {a.base}, "Looptrace-Session-Secret": {secret}}
	answer, err := Do(ctx, http.MethodPost, a.base+"/v1/login", header, body)
	if err != nil {
		return "", err
	}
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	if len(cookies) == 0 {
		return "", fmt.Errorf("log in: %d %s", answer.Status, answer.Body)
	}
	return cookies[0].Name + "=" + cookies[0].Value, nil
}

// NewProject creates a further project and returns the same user in it.
func (a *Account) NewProject(ctx context.Context, name string) (*Account, error) {
	body, _ := json.Marshal(map[string]string{"workspace_id": a.workspaceID, "name": name}) // strings always marshal
	answer, err := Do(ctx, http.MethodPost, a.base+"/v1/projects", a.header(), body)
	if err != nil {
		return nil, err
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(answer.Body, &made); err != nil || answer.Status != http.StatusCreated {
		return nil, fmt.Errorf("make a project: %d %s", answer.Status, answer.Body)
	}
	in := *a
	in.ProjectID = made.ID
	return &in, nil
}

// Key creates a key for the account's project.
func (a *Account) Key(ctx context.Context, name string, scopes ...string) (string, error) {
	body, _ := json.Marshal(map[string]any{"project_id": a.ProjectID, "name": name, "scopes": scopes}) // strings always marshal
	answer, err := Do(ctx, http.MethodPost, a.base+"/v1/keys", a.header(), body)
	if err != nil {
		return "", err
	}
	var minted struct {
		Key string `json:"key"`
	}
	if err := json.Unmarshal(answer.Body, &minted); err != nil || answer.Status != http.StatusCreated {
		return "", fmt.Errorf("mint a key: %d %s", answer.Status, answer.Body)
	}
	return minted.Key, nil
}

// header returns the headers of a browser on the product's own page.
func (a *Account) header() http.Header {
	header := http.Header{"Content-Type": {"application/json"}, "Origin": {a.base}}
	if a.Cookie != "" {
		header.Set("Cookie", a.Cookie)
	}
	return header
}

// Content types of ingest.
const (
	JSON     = "application/json"
	Protobuf = "application/x-protobuf"
)

// Post sends a body to an endpoint of ingest.
func Post(ctx context.Context, url, key, contentType string, body []byte) (Answer, error) {
	return Do(ctx, http.MethodPost, url, http.Header{
		"Content-Type": {contentType}, "Authorization": {"Bearer " + key},
	}, body)
}

// Run is the part of a run that tests check.
type Run struct {
	RunID        string    `json:"run_id"`
	Name         string    `json:"name"`
	Status       string    `json:"status"`
	StartTime    time.Time `json:"start_time"`
	ReceivedAt   time.Time `json:"received_at"`
	SpanCount    int64     `json:"span_count"`
	ErrorCount   int64     `json:"error_count"`
	LLMCallCount int64     `json:"llm_call_count"`
	CostUSD      *float64  `json:"cost_usd"`
	Usage        *struct {
		InputTokens  *int64 `json:"input_tokens"`
		OutputTokens *int64 `json:"output_tokens"`
		TotalTokens  *int64 `json:"total_tokens"`
	} `json:"usage"`
}

// Reader reads the API with a key.
type Reader struct {
	// Base is the address of the API or of a proxy.
	Base string
	Key  string
}

// Run reads one run. found is false if there is none.
func (r Reader) Run(ctx context.Context, id string) (run Run, found bool, err error) {
	status, err := r.Get(ctx, "/v1/runs/"+id, &run)
	switch {
	case err != nil:
		return Run{}, false, err
	case status == http.StatusNotFound:
		return Run{}, false, nil
	case status != http.StatusOK:
		return Run{}, false, fmt.Errorf("read a run: the API answers %d", status)
	}
	return run, true, nil
}

// Runs reads all runs of a project that started at or after a time, page by page, with or without GenAI spans.
func (r Reader) Runs(ctx context.Context, projectID string, since time.Time) ([]Run, error) {
	return pages[Run](ctx, r, "/v1/runs", url.Values{
		"project_id": {projectID}, "limit": {"500"}, "traces": {"all"}, "start_after": {since.UTC().Format(time.RFC3339Nano)},
	})
}

// Span is the part of a span that tests check.
type Span struct {
	SpanID    string    `json:"span_id"`
	StartTime time.Time `json:"start_time"`
}

// Spans reads all spans of a run, page by page, in the API's order.
func (r Reader) Spans(ctx context.Context, runID string) ([]Span, error) {
	return pages[Span](ctx, r, "/v1/runs/"+runID+"/spans", url.Values{"limit": {"10000"}})
}

// pages reads a whole list.
func pages[T any](ctx context.Context, r Reader, path string, query url.Values) ([]T, error) {
	var all []T
	for {
		var page struct {
			Data       []T     `json:"data"`
			HasMore    bool    `json:"has_more"`
			NextCursor *string `json:"next_cursor"`
		}
		status, err := r.Get(ctx, path+"?"+query.Encode(), &page)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("list %s: the API answers %d", path, status)
		}
		all = append(all, page.Data...)
		if !page.HasMore {
			return all, nil
		}
		if page.NextCursor == nil {
			return nil, fmt.Errorf("list %s: there is more after %d, but no cursor", path, len(all))
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// Get reads a path and decodes the answer into into if it is 200. It returns the status.
func (r Reader) Get(ctx context.Context, path string, into any) (int, error) {
	answer, err := Do(ctx, http.MethodGet, r.Base+path, http.Header{"Authorization": {"Bearer " + r.Key}}, nil)
	if err != nil {
		return 0, err
	}
	if answer.Status == http.StatusOK {
		if err := json.Unmarshal(answer.Body, into); err != nil {
			return answer.Status, fmt.Errorf("read the answer to %s: %w", path, err)
		}
	}
	return answer.Status, nil
}
