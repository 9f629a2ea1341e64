package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
)

// tools are the tools of one server.
type tools struct {
	Config

	name func(string) string
}

// Bounds of token_budget. The smallest has room for a view in both forms.
const (
	minBudget     = 1024
	defaultBudget = 8000
	maxBudget     = agentview.MaxBudget
	// forms is how often a result is sent: some clients hand their model the text, some the structured content, some both.
	forms = 2
)

// budget are the arguments that every tool takes.
type budget struct {
	TokenBudget int    `json:"token_budget,omitempty" jsonschema:"At most so many tokens in the whole result, text and structured content together."`
	Encoding    string `json:"encoding,omitempty"     jsonschema:"What tokens are counted in."`
}

func (b *budget) setDefaults() {
	if b.TokenBudget == 0 {
		b.TokenBudget = defaultBudget
	}
	if b.Encoding == "" {
		b.Encoding = agentview.EncodingO200k
	}
}

// inputSchema is the schema of In, with what Go's types cannot say.
func inputSchema[In any](refine map[string]func(*jsonschema.Schema)) (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("infer the schema of the arguments: %w", err)
	}
	bound := func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum, s.Default = new(float64(minBudget)), new(float64(maxBudget)), json.RawMessage(strconv.Itoa(defaultBudget))
	}
	encoding := func(s *jsonschema.Schema) {
		s.Enum, s.Default = []any{agentview.EncodingO200k, agentview.EncodingCL100k}, json.RawMessage(`"`+agentview.EncodingO200k+`"`)
	}
	bound(schema.Properties["token_budget"])
	encoding(schema.Properties["encoding"])
	for _, property := range schema.Properties {
		if property.Items != nil {
			property.Type, property.Types = "array", nil // absent, not null
		}
	}
	for name, change := range refine {
		change(schema.Properties[name])
	}
	return schema, nil
}

func pattern(text string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Pattern = text }
}

const (
	// A run is also named by its trace id, which SDKs print without dashes.
	uuidPattern = "^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$"
	stepPattern = "^([0-9a-f]{16}|[1-9][0-9]{0,5})$" // span id or number of a step
)

// arguments are those of a tool. project is empty where they name none.
type arguments interface {
	project() string
}

// addTool adds a tool that reads. Its arguments are held to the schema, and its caller needs what the operation of the REST API needs.
// Errors go to the model, with what to do about them.
func addTool[In arguments, Out any](
	t *tools, server *mcp.Server, operation string, tool mcp.Tool, input *jsonschema.Schema,
	run func(context.Context, access.Grant, In) ([]byte, error),
) error {
	resolved, err := input.Resolve(nil)
	if err != nil {
		return fmt.Errorf("resolve the schema of the arguments: %w", err)
	}
	output, err := jsonschema.For[Out](nil)
	if err != nil {
		return fmt.Errorf("infer the schema of the result: %w", err)
	}
	canonical := tool.Name
	tool.Name = t.name(canonical)
	tool.InputSchema, tool.OutputSchema = input, output
	tool.Annotations = &mcp.ToolAnnotations{
		Title: tool.Title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false),
	}
	server.AddTool(&tool, func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var (
			in    In
			grant access.Grant
			body  []byte
		)
		err := decode(request.Params.Arguments, resolved, &in)
		if err == nil {
			grant, err = authorize(ctx, operation, in)
		}
		if err == nil {
			body, err = run(ctx, grant, in)
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil, err // nobody reads the answer
		}
		if err != nil {
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: t.remedy(ctx, canonical, err)}}, IsError: true,
			}, nil
		}
		return &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}, StructuredContent: json.RawMessage(body),
		}, nil
	})
	return nil
}

// authorize grants the operation in the project that the arguments name, else in all in which the caller may do it.
func authorize(ctx context.Context, operation string, in arguments) (access.Grant, error) {
	var target access.Target
	if named := in.project(); named != "" {
		var err error
		if target.Project, err = uuid.Parse(named); err != nil {
			return access.Grant{}, problem.Missing() // the pattern lets ids only through
		}
	}
	return access.CallerOf(ctx).Authorize(operation, target)
}

func decode(arguments json.RawMessage, schema *jsonschema.Resolved, in any) error {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	var members map[string]any
	if err := json.Unmarshal(arguments, &members); err != nil {
		return remedyError("The arguments must be a JSON object.")
	}
	err := schema.Validate(members)
	if err == nil {
		err = json.Unmarshal(arguments, in)
	}
	if err != nil {
		const longest = 300 // it may quote what was given
		text := strings.TrimPrefix(err.Error(), "validating root: ")
		return remedyError("The arguments are not valid: " + strings.ToValidUTF8(text[:min(len(text), longest)], ""))
	}
	return nil
}

// call writes a call as results name it: the tool and its arguments.
func (t *tools) call(tool string, arguments any) string {
	return t.name(tool) + " " + string(encode(arguments))
}

// encode writes JSON as the clients' models read it: in one line, without HTML escapes.
func encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // text and numbers always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// stated writes a document that says how many tokens it has in all its forms. used points into the document.
func stated(document any, used *int, encoding string) ([]byte, error) {
	for {
		body := encode(document)
		n, err := agentview.Count(encoding, string(body))
		if err != nil {
			return nil, fmt.Errorf("count tokens: %w", err)
		}
		if n *= forms; n <= *used { // a larger number is never shorter: it comes to rest
			return body, nil
		}
		*used = n
	}
}

// remedyError is an error that says what to do about it.
type remedyError string

func (e remedyError) Error() string { return string(e) }

// remedy says what went wrong and what to do about it, to a model.
func (t *tools) remedy(ctx context.Context, tool string, err error) string {
	var remedied remedyError
	switch {
	case errors.As(err, &remedied):
		return remedied.Error()
	case errors.Is(err, runs.ErrNotFound):
		return "No such run. Take run_id from " + t.name(searchTool) + "."
	case errors.Is(err, agentview.ErrNoSuchSpan):
		return "The run has no span of the id given as focus. Call " + t.name(readTool) + " without focus and take a span_id from its answer."
	case errors.Is(err, runs.ErrInvalidCursor):
		return "The cursor is not from " + t.name(searchTool) + ". Leave it out to begin with the first page."
	case errors.Is(err, runs.ErrTooExpensive):
		return "The query exceeded its time or memory limit. Narrow it: a shorter window_seconds, more filters, fewer words in search."
	case problem.Is(err, problem.Forbidden):
		return problem.Of(err).Detail + " Ask for a key made with the preset Agent, in Looptrace under Settings > Keys."
	case problem.Is(err, problem.NotFound):
		return "This key has no such project. Leave project_id out."
	}
	request := access.CallerOf(ctx).RequestID
	if problem.Is(err, problem.Unavailable) {
		t.Log.LogAttrs(ctx, slog.LevelWarn, "tool failed", slog.String("request_id", request), slog.String("tool", tool), slog.Any("error", err))
		return problem.Of(err).Detail
	}
	t.Log.LogAttrs(ctx, slog.LevelError, "tool failed", slog.String("request_id", request), slog.String("tool", tool), slog.Any("error", err))
	return "Something went wrong on the server. Its log has more, under request id " + request + "."
}
