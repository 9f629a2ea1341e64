// Package tool has what the MCP tools share: budgets, arguments, errors with a remedy, and recorded text between marks.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agentview"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// Runs reads runs.
type Runs interface {
	List(ctx context.Context, in access.Projects, q runs.ListQuery) (runs.Page, error)
	Outline(ctx context.Context, in access.Projects, runID uuid.UUID) (runs.Outline, error)
	Excerpts(ctx context.Context, outline runs.Outline, spanIDs []uint64) ([]runs.Span, error)
	Texts(ctx context.Context, outline runs.Outline) (spans []runs.Span, partial bool, err error)
}

// Shared is what all tools of a server use.
type Shared struct {
	Runs Runs
	// FenceKey is the secret key that determines the marks around recorded text.
	FenceKey []byte
	Log      *slog.Logger
	// Name maps the canonical names of tools to the names that clients see.
	Name func(string) string
}

// Limits of token_budget. The minimum has room for a view in both forms.
const (
	minBudget     = 1024
	defaultBudget = 8000
	maxBudget     = agentview.MaxBudget
	// Forms is the number of copies in a result. Clients give their model the text, the structured content, or both.
	Forms = 2
)

// Budget holds the arguments that every tool has.
type Budget struct {
	TokenBudget int `json:"token_budget,omitempty" jsonschema:"Tokens of the whole result."`
}

// SetDefaults fills in what is absent.
func (b *Budget) SetDefaults() {
	if b.TokenBudget == 0 {
		b.TokenBudget = defaultBudget
	}
}

// InputSchema returns the schema of In. refine adds constraints to its properties by name.
func InputSchema[In any](refine map[string]func(*jsonschema.Schema)) (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("infer the schema of the arguments: %w", err)
	}
	bound := func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum, s.Default = new(float64(minBudget)), new(float64(maxBudget)), json.RawMessage(strconv.Itoa(defaultBudget))
	}
	bound(schema.Properties["token_budget"])
	for _, property := range schema.Properties {
		if property.Items != nil {
			property.Type, property.Types = "array", nil // absent instead of null
		}
	}
	for name, change := range refine {
		change(schema.Properties[name])
	}
	return schema, nil
}

// Pattern constrains a property to a pattern.
func Pattern(text string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Pattern = text }
}

// Patterns of arguments.
const (
	// UUIDPattern is that of ids. A run can also be given by its trace id, which SDKs print without dashes.
	// The tools parse it: a pattern that says all costs each client forty tokens for each id.
	UUIDPattern = "^[0-9a-fA-F-]{32,36}$"
	// StepPattern is that of a span id or the number of a step.
	StepPattern = "^([0-9a-f]{16}|[1-9][0-9]{0,5})$"
)

// arguments are the arguments of a tool. Project is empty if they have none.
type arguments interface {
	Project() string
}

// Add adds a tool, which is read-only unless it has annotations. It validates the arguments and authorizes the caller for the operation of the REST
// API. Errors are sent to the model with a remedy.
func Add[In arguments, Out any](
	t *Shared, server *mcp.Server, operation string, tool mcp.Tool, input *jsonschema.Schema,
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
	tool.Name = t.Name(canonical)
	tool.InputSchema, tool.OutputSchema = input, output
	if tool.Annotations == nil {
		tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(false), OpenWorldHint: new(false)}
	}
	tool.Annotations.Title = tool.Title
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
			body, err = recovered(func() ([]byte, error) { return run(ctx, grant, in) })
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil, err // the client disconnected
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

// recovered returns a panic as an error. The MCP server calls tools in goroutines of its own, in which a panic would end the process.
func recovered(run func() ([]byte, error)) (body []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return run()
}

// authorize grants the operation in the project of the arguments, or else in all projects in which the caller may
// perform it.
func authorize(ctx context.Context, operation string, in arguments) (access.Grant, error) {
	var target access.Target
	if named := in.Project(); named != "" {
		var err error
		if target.Project, err = uuid.Parse(named); err != nil {
			return access.Grant{}, problem.Missing() // the schema only allows ids
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
		return Error("The arguments must be a JSON object.")
	}
	err := schema.Validate(members)
	if err == nil {
		err = json.Unmarshal(arguments, in)
	}
	if err != nil {
		const maxBytes = 300 // the error may quote the arguments
		text := strings.TrimPrefix(err.Error(), "validating root: ")
		return Error("The arguments are not valid: " + utf8text.Bytes(text, maxBytes))
	}
	return nil
}

// Call formats a call for a result: the tool and its arguments.
func (t *Shared) Call(tool string, arguments any) string {
	return t.Name(tool) + " " + string(jsontext.MustEncode(arguments))
}

// EncodeCounted encodes a document with its number of tokens in all forms. used points to the number in the document.
func EncodeCounted(document any, used *int) []byte {
	for {
		body := jsontext.MustEncode(document)
		n := Forms * agentview.Count(string(body))
		if n <= *used { // a larger number never has fewer tokens, so the loop ends
			return body
		}
		*used = n
	}
}

// Error is an error whose text tells a model what to do.
type Error string

func (e Error) Error() string { return string(e) }

// remedy returns the text of an error for a model, with what to do next.
func (t *Shared) remedy(ctx context.Context, tool string, err error) string {
	var remedied Error
	switch {
	case errors.As(err, &remedied):
		return remedied.Error()
	case errors.Is(err, runs.ErrNotFound):
		return "There is no such run. Use a run_id from " + t.Name(RunsSearch) + "."
	case errors.Is(err, agentview.ErrNoSuchSpan):
		return "The run has no step with this focus. Call " + t.Name(RunsRead) + " without focus and use a span_id from its result."
	case errors.Is(err, runs.ErrInvalidCursor):
		return "The cursor is not from " + t.Name(tool) + " with these filters. Omit it to start with the first page."
	case errors.Is(err, runs.ErrTooExpensive):
		return "The query exceeded its time or memory limit. Use a shorter window_seconds, more filters or fewer words in search."
	case problem.Is(err, problem.Forbidden):
		return problem.Of(err).Detail + " Ask for a key with the preset Agent, from Settings > Keys in Looptrace."
	case problem.Is(err, problem.NotFound):
		return "This key has no such project. Omit project_id."
	}
	request := access.CallerOf(ctx).RequestID
	if problem.Is(err, problem.Unavailable) {
		t.Log.LogAttrs(ctx, slog.LevelWarn, "tool failed", slog.String("request_id", request), slog.String("tool", tool), slog.Any("error", err))
		return problem.Of(err).Detail
	}
	t.Log.LogAttrs(ctx, slog.LevelError, "tool failed", slog.String("request_id", request), slog.String("tool", tool), slog.Any("error", err))
	return "The server had an internal error. Its log has details under request id " + request + "."
}

// CallRead formats a call that reads a run. project and focus may be empty.
func (t *Shared) CallRead(runID uuid.UUID, project, focus string) string {
	return t.Call(RunsRead, struct {
		RunID     uuid.UUID `json:"run_id"`
		ProjectID string    `json:"project_id,omitempty"`
		Focus     string    `json:"focus,omitempty"`
	}{runID, project, focus})
}

// OneProject returns the named project, or the only one in which the caller may read runs.
func OneProject(grant access.Grant) (uuid.UUID, error) {
	if ids := grant.IDs(); len(ids) == 1 {
		return ids[0], nil
	}
	const maxNamed = 20
	var names []string
	for _, project := range grant.Principal.Projects {
		if len(names) < maxNamed && slices.Contains(grant.IDs(), project.ID) {
			names = append(names, project.ID.String()+" ("+agentview.SafeName(project.Name)+")")
		}
	}
	return uuid.Nil, Error("There are several projects: project_id must be one of " + strings.Join(names, ", ") + ".")
}

// Fence writes recorded texts of one kind between marks. What edits say counts as recorded, too: they may quote a run, and name its steps.
func (t *Shared) Fence(run uuid.UUID, name string, tokens int, texts ...string) string {
	list := make([]agentview.Text, len(texts))
	for i, text := range texts {
		list[i] = agentview.Text{Name: name, Text: text}
	}
	return agentview.Recorded(run, list, tokens, t.FenceKey)
}

// Rounded returns a figure with three digits: more of them are noise, and cost tokens.
func Rounded(figure *float64) *float64 {
	if figure == nil {
		return nil
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(*figure, 'g', 3, 64), 64)
	if err != nil {
		return figure // it was a number
	}
	return &short
}
