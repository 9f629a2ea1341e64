package importing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// do sends a request and reads the answer.
func (c *client) do(ctx context.Context, method string, body []byte, answer any, path ...string) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path...).String(), bytes.NewReader(body)) //nolint:gosec // the user says where
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request) //nolint:gosec // as above
	if err != nil {
		return fmt.Errorf("no Looptrace at %s: %w; give its address with LOOPTRACE_ENDPOINT", c.base, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		if err := json.Unmarshal(content, answer); err != nil {
			return fmt.Errorf("%s does not answer as Looptrace does: %w", c.base, err)
		}
		return nil
	case http.StatusUnauthorized:
		return fmt.Errorf("%s refuses the key in LOOPTRACE_API_KEY: %s", c.base, detail(content))
	default:
		return errors.New(detail(content) + " (" + response.Status + ")")
	}
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
