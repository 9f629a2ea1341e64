// Package rest calls the API of an installation, for commands that run beside it.
package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Client calls the API of an installation.
type Client struct {
	base *url.URL
	key  string
}

// New returns a client with the address and the key of the environment. The key needs the scopes.
func New(scopes string) (*Client, error) {
	address, key := cmp.Or(os.Getenv("LOOPTRACE_ENDPOINT"), "http://127.0.0.1:7090"), os.Getenv("LOOPTRACE_API_KEY")
	if key == "" {
		return nil, fmt.Errorf("set LOOPTRACE_API_KEY to a key with %s; create one in Looptrace under Settings > Keys", scopes)
	}
	base, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("LOOPTRACE_ENDPOINT is %q and must be an address like http://127.0.0.1:7090", address)
	}
	return &Client{base, key}, nil
}

// Project returns the project of the key.
func (c *Client) Project(ctx context.Context) (string, error) {
	var me struct {
		Projects []struct {
			ID string `json:"id"`
		} `json:"projects"`
	}
	if err := c.Do(ctx, http.MethodGet, nil, &me, "v1", "me"); err != nil {
		return "", err
	}
	if len(me.Projects) != 1 {
		return "", fmt.Errorf("the key is for %d projects: name one with --project", len(me.Projects))
	}
	return me.Projects[0].ID, nil
}

// RefusedError is an answer of the API that is no success.
type RefusedError struct {
	Status int
	Code   string
	text   string
}

func (r *RefusedError) Error() string { return r.text }

// Do sends a request with JSON, if there is a body, and reads the answer.
func (c *Client) Do(ctx context.Context, method string, body []byte, answer any, path ...string) error {
	var stream io.Reader
	if body != nil {
		stream = bytes.NewReader(body)
	}
	return c.Read(ctx, Call{Method: method, Path: path, ContentType: "application/json", Body: stream}, answer)
}

// Call is a request.
type Call struct {
	Method      string
	Path        []string
	Query       url.Values
	ContentType string
	// Body is streamed. Size is 0 if it is not known.
	Body io.Reader
	Size int64
}

// Send sends a request and returns an answer of success, which is not read yet.
func (c *Client) Send(ctx context.Context, r Call) (*http.Response, error) {
	address := c.base.JoinPath(r.Path...)
	address.RawQuery = r.Query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, address.String(), r.Body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if r.Body != nil {
		request.Header.Set("Content-Type", r.ContentType)
	}
	if r.Size > 0 {
		request.ContentLength = r.Size
		// A refusal comes before the file is sent.
		request.Header.Set("Expect", "100-continue")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("no Looptrace at %s: %w; give its address with LOOPTRACE_ENDPOINT", c.base, err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	var problem struct{ Code string }
	_ = json.Unmarshal(content, &problem) // without a code, it is no problem of the API
	refused := &RefusedError{response.StatusCode, problem.Code, detail(content) + " (" + response.Status + ")"}
	if refused.Status == http.StatusUnauthorized {
		refused.text = fmt.Sprintf("%s refuses the key in LOOPTRACE_API_KEY: %s", c.base, detail(content))
	}
	return nil, refused
}

// Read sends a request and reads the answer as JSON.
func (c *Client) Read(ctx context.Context, r Call, answer any) error {
	response, err := c.Send(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("%s does not answer as Looptrace does: %w", c.base, err)
	}
	return nil
}

// detail returns what a problem response says.
func detail(body []byte) string {
	var problem struct {
		Title, Detail string
		Errors        []struct{ Location, Message string }
	}
	if json.Unmarshal(body, &problem) != nil || problem.Title == "" {
		const maxDetail = 200
		line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
		return Printable(string(line[:min(len(line), maxDetail)]))
	}
	parts := []string{problem.Title}
	if problem.Detail != "" {
		parts = []string{problem.Detail}
	}
	for _, e := range problem.Errors {
		parts = append(parts, e.Location+": "+e.Message)
	}
	return Printable(strings.Join(parts, "; "))
}

// Printable returns text of others escaped for a terminal.
func Printable(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// URL returns the address of a page.
func (c *Client) URL(path ...string) string { return c.base.JoinPath(path...).String() }
