package importing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// client calls the API of an installation.
type client struct {
	base *url.URL
	key  string
}

// request is PromptImport of the API.
type request struct {
	ProjectID string `json:"project_id"`
	Content   string `json:"content"`
	FileName  string `json:"file_name,omitempty"`
	Format    string `json:"format,omitempty"`
	DryRun    bool   `json:"dry_run"`
}

// project returns the project of the key.
func (c *client) project(ctx context.Context) (string, error) {
	var me struct {
		Projects []struct {
			ID string `json:"id"`
		} `json:"projects"`
	}
	if err := c.do(ctx, http.MethodGet, nil, &me, "v1", "me"); err != nil {
		return "", err
	}
	if len(me.Projects) != 1 {
		return "", fmt.Errorf("the key is for %d projects: name one with --project", len(me.Projects))
	}
	return me.Projects[0].ID, nil
}

func (c *client) importPrompts(ctx context.Context, r request) (report, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return report{}, fmt.Errorf("write the request: %w", err)
	}
	var answer report
	err = c.do(ctx, http.MethodPost, body, &answer, "v1", "prompts", "_actions", "import")
	return answer, err
}

// refusal is an answer of the API that is no success.
type refusal struct {
	status     int
	code, text string
}

func (r *refusal) Error() string { return r.text }

// do sends a request with JSON, if there is a body, and reads the answer.
func (c *client) do(ctx context.Context, method string, body []byte, answer any, path ...string) error {
	var stream io.Reader
	if body != nil {
		stream = bytes.NewReader(body)
	}
	response, err := c.send(ctx, call{method: method, path: path, contentType: "application/json", body: stream})
	if err != nil {
		return err
	}
	return c.read(response, answer)
}

// call is a request.
type call struct {
	method      string
	path        []string
	query       url.Values
	contentType string
	// body is streamed. size is 0 if it is not known.
	body io.Reader
	size int64
}

// send sends a request and returns an answer of success, which is not read yet.
func (c *client) send(ctx context.Context, r call) (*http.Response, error) {
	address := c.base.JoinPath(r.path...)
	address.RawQuery = r.query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.method, address.String(), r.body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if r.body != nil {
		request.Header.Set("Content-Type", r.contentType)
	}
	if r.size > 0 {
		request.ContentLength = r.size
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
	refused := &refusal{response.StatusCode, problem.Code, detail(content) + " (" + response.Status + ")"}
	if refused.status == http.StatusUnauthorized {
		refused.text = fmt.Sprintf("%s refuses the key in LOOPTRACE_API_KEY: %s", c.base, detail(content))
	}
	return nil, refused
}

// read reads an answer of success.
func (c *client) read(response *http.Response, answer any) error {
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
		return printable(string(line[:min(len(line), maxDetail)]))
	}
	parts := []string{problem.Title}
	if problem.Detail != "" {
		parts = []string{problem.Detail}
	}
	for _, e := range problem.Errors {
		parts = append(parts, e.Location+": "+e.Message)
	}
	return printable(strings.Join(parts, "; "))
}
