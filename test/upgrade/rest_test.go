package upgrade

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

type object = map[string]any

// caller sends requests to a product, with a key or with a session.
type caller struct {
	t      *testing.T
	base   string
	header http.Header
	// called is told of each request, unless it is nil.
	called func(method, path string)
}

// with returns a caller with other credentials.
func (c caller) with(name, value string) caller {
	c.header = http.Header{name: {value}}
	return c
}

// also returns a caller that sends a further header.
func (c caller) also(name, value string) caller {
	c.header = c.header.Clone()
	c.header.Set(name, value)
	return c
}

func (c caller) key(key string) caller { return c.with("Authorization", "Bearer "+key) }

// session returns a caller with the session that an answer has started.
func (c caller) session(answer product.Answer) caller {
	c.t.Helper()
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	require.NotEmpty(c.t, cookies)
	return c.with("Cookie", cookies[0].Name+"="+cookies[0].Value)
}

// send sends a body as it is.
func (c caller) send(method, path, contentType string, body []byte) product.Answer {
	c.t.Helper()
	header := http.Header{"Content-Type": {contentType}, "Origin": {c.base}}
	for name, values := range c.header {
		header[name] = values
	}
	if c.called != nil {
		bare, _, _ := strings.Cut(path, "?")
		c.called(method, bare)
	}
	answer, err := product.Do(c.t.Context(), method, c.base+path, header, body)
	require.NoError(c.t, err)
	return answer
}

// do sends a value as JSON, unless it is nil, and fails unless the answer is a success.
func (c caller) do(method, path string, value any) product.Answer {
	c.t.Helper()
	var body []byte
	if value != nil {
		body = encode(c.t, value)
	}
	answer := c.send(method, path, product.JSON, body)
	require.True(c.t, answer.Status >= 200 && answer.Status < 300, "%s %s: %d %s", method, path, answer.Status, answer.Body)
	return answer
}

// post returns the answer to a POST.
func (c caller) post(path string, value any) object {
	c.t.Helper()
	return decode(c.t, c.do(http.MethodPost, path, value).Body)
}

// create returns the id of what a POST makes.
func (c caller) create(path string, value any) string {
	c.t.Helper()
	id, _ := c.post(path, value)["id"].(string)
	require.NotEmpty(c.t, id, path)
	return id
}

// get returns what a GET answers.
func (c caller) get(path string) object {
	c.t.Helper()
	return decode(c.t, c.do(http.MethodGet, path, nil).Body)
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

// decode returns a JSON object, nil for an empty answer.
func decode(t *testing.T, text []byte) object {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	var value object
	require.NoError(t, json.Unmarshal(text, &value), "%s", text)
	return value
}

// at returns the member at a path of names and numbers.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, ok := value.(object)
			require.True(t, ok, "%v of %v", path, value)
			value = members[step]
		case int:
			list, ok := value.([]any)
			require.True(t, ok && step < len(list), "%v of %v", path, value)
			value = list[step]
		}
	}
	return value
}
