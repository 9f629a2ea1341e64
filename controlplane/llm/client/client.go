package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/wire"
)

const (
	openAIBase       = "https://api.openai.com/v1"
	anthropicBase    = "https://api.anthropic.com"
	anthropicVersion = "2023-06-01"
	keyPlaceholder   = "$API_KEY"
)

// reservedHeaders are set by what sends the request. Another value would break it.
var reservedHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// Client calls a provider. It is safe for concurrent use.
type Client struct {
	conn llm.Connection
	base string // without a slash at the end
}

// New returns a client for the connection. Its error is an [*Error] of kind [InvalidParameter] that names the member of
// the connection which is not valid.
func New(conn llm.Connection) (*Client, error) {
	base, err := baseURL(conn)
	if err != nil {
		return nil, err
	}
	if !httpguts.ValidHeaderFieldValue(conn.APIKey) {
		return nil, llm.Invalid("api_key", "The key has characters that cannot be sent, such as a line break.", "Copy the key again.")
	}
	for name, value := range conn.Headers {
		canonical := http.CanonicalHeaderKey(name)
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, llm.Invalid("headers", fmt.Sprintf("The header %q has characters that cannot be sent.", name), "")
		}
		if slices.Contains(reservedHeaders, canonical) {
			return nil, llm.Invalid("headers", fmt.Sprintf("The header %s is set by Looptrace.", canonical), "Leave it out.")
		}
	}
	if conn.HTTP == nil {
		return nil, llm.Invalid("http", "The connection has no HTTP client.", "")
	}
	if conn.IdleTimeout <= 0 {
		conn.IdleTimeout = llm.DefaultIdleTimeout
	}
	return &Client{conn: conn, base: base}, nil
}

// String names the client's connection without its secrets.
func (c *Client) String() string { return c.conn.String() }

// GoString keeps the secrets out of %#v.
func (c *Client) GoString() string { return c.String() }

// baseURL checks the base URL, and gives it the form to which the paths of the kind are added.
func baseURL(conn llm.Connection) (string, error) {
	text := strings.TrimRight(conn.BaseURL, "/")
	switch conn.Kind {
	case llm.OpenAI:
		if text == "" {
			text = openAIBase
		}
	case llm.Anthropic:
		if text == "" {
			text = anthropicBase
		}
		text = strings.TrimSuffix(text, "/v1")
	default:
		return "", llm.Invalid("kind", fmt.Sprintf("The kind %q is not known.", conn.Kind), "It must be openai or anthropic.")
	}
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		return "", llm.Invalid("base_url", "The base URL is not an address.", "It must be like "+openAIBase+".")
	}
	if address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		return "", llm.Invalid("base_url", "The base URL has a user, a query or a fragment.", "Leave them out; a key belongs into the key, or into a header.")
	}
	return text, nil
}

// Complete makes one attempt. It streams if onDelta is not nil; an error of onDelta ends the call and is the cause of
// the returned one. All errors are [*Error].
func (c *Client) Complete(ctx context.Context, request llm.Request, onDelta func(llm.Delta) error) (*llm.Result, error) {
	stream := onDelta != nil
	call, err := c.call(&request, stream)
	if err != nil {
		return nil, err
	}
	x := c.exchange(ctx)
	defer x.end()
	defer x.limit(c.timeout(stream), errLong).Stop()
	err = x.send(call) //nolint:contextcheck // the exchange has the context
	if err == nil {
		err = x.read(call, onDelta)
	}
	if err != nil {
		return nil, x.failure(call, err)
	}
	return x.result(call), nil
}

// timeout returns how long a whole call may take.
func (c *Client) timeout(stream bool) time.Duration {
	switch {
	case c.conn.Timeout > 0:
		return c.conn.Timeout
	case stream:
		return llm.DefaultStreamTimeout
	}
	return llm.DefaultTimeout
}

// Build returns the request that [Client.Complete] sends, for display.
func Build(conn llm.Connection, request llm.Request, stream bool) (*llm.HTTPRequest, error) {
	if conn.HTTP == nil {
		conn.HTTP = http.DefaultClient // nothing is sent
	}
	c, err := New(conn)
	if err != nil {
		return nil, err
	}
	call, err := c.call(&request, stream)
	if err != nil {
		return nil, err
	}
	return &llm.HTTPRequest{Method: call.method(), URL: c.base + "/" + call.path, Headers: headers(masked(conn), call), Body: call.body}, nil
}

// masked returns the connection with names in place of its secrets.
func masked(c llm.Connection) llm.Connection {
	if c.APIKey != "" {
		c.APIKey = keyPlaceholder
	}
	headers := map[string]string{}
	for name := range c.Headers {
		headers[name] = "$" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	c.Headers = headers
	return c
}

// headers returns the headers of a call. Those of the connection override the others.
func headers(c llm.Connection, call *call) map[string]string {
	headers := map[string]string{"Accept": "application/json", "User-Agent": "looptrace"}
	if call.stream {
		headers["Accept"] = "text/event-stream"
	}
	if call.body != nil {
		headers["Content-Type"] = "application/json"
	}
	if c.Kind == llm.Anthropic {
		headers["Anthropic-Version"] = anthropicVersion
	}
	switch {
	case c.APIKey == "":
	case c.Kind == llm.Anthropic:
		headers["X-Api-Key"] = c.APIKey
	default:
		headers["Authorization"] = "Bearer " + c.APIKey
	}
	for name, value := range c.Headers {
		headers[http.CanonicalHeaderKey(name)] = value
	}
	return headers
}

// call is a request that is ready to be sent.
type call struct {
	request   *llm.Request
	structure *wire.Structure
	stream    bool
	path      string
	body      []byte
	answer    *wire.Answer
	reader    reader
}

// method is POST for a call with a body.
func (c *call) method() string {
	if c.body == nil {
		return http.MethodGet
	}
	return http.MethodPost
}

// reader reads the answers of an API into an answer.
type reader interface {
	// Whole reads an answer that is not streamed.
	Whole(body []byte) error
	// Event reads an event of a stream. It returns true if it is the last one.
	Event(data []byte) (bool, error)
	// Complete reports whether the answer is complete even if the last event is missing.
	Complete() bool
}

func (c *Client) call(request *llm.Request, stream bool) (*call, error) {
	if request.Model == "" {
		return nil, llm.Invalid("model", "The request names no model.", "")
	}
	if len(request.Messages) == 0 {
		return nil, llm.Invalid("messages", "The request has no messages.", "")
	}
	s, err := wire.NewStructure(request)
	if err != nil {
		return nil, err
	}
	a := &wire.Answer{Structure: s}
	out := &call{request: request, structure: s, stream: stream, answer: a}
	if c.conn.Kind == llm.Anthropic {
		out.path, out.reader = "v1/messages", &wire.AnthropicReader{Answer: a}
		out.body, err = wire.AnthropicBody(request, s, stream)
	} else {
		out.path, out.reader = "chat/completions", &wire.OpenAIReader{Answer: a}
		out.body, err = wire.OpenAIBody(request, s, stream)
	}
	return out, err
}

// Models lists the provider's models, in the provider's order.
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) {
	path, read := "models", wire.OpenAIModels
	if c.conn.Kind == llm.Anthropic {
		path, read = "v1/models?limit=1000", wire.AnthropicModels
	}
	var models []llm.Model
	for range maxModelPages {
		page, next, err := c.modelPage(ctx, path, read)
		if err != nil {
			return nil, err
		}
		models = append(models, page...)
		if next == "" {
			return models, nil
		}
		path = "v1/models?limit=1000&after_id=" + url.QueryEscape(next)
	}
	return nil, &llm.Error{Kind: llm.Garbage, Message: fmt.Sprintf("the list of models has more than %d pages", maxModelPages)}
}

const maxModelPages = 20

func (c *Client) modelPage(ctx context.Context, path string, read func([]byte) ([]llm.Model, string, error)) ([]llm.Model, string, error) {
	x := c.exchange(ctx)
	defer x.end()
	list := &call{path: path, answer: &wire.Answer{}}
	err := x.send(list) //nolint:contextcheck // the exchange has the context
	var page []llm.Model
	var next string
	if err == nil {
		var body []byte
		if body, err = x.readAll(); err == nil {
			page, next, err = read(body)
		}
	}
	if err != nil {
		return nil, "", x.failure(list, err)
	}
	return page, next, nil
}
