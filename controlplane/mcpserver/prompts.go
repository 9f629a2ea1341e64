package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/problem"
)

// Prompts reads prompts.
type Prompts interface {
	Published(ctx context.Context, grant access.Grant, page postgres.Page) ([]prompts.Published, bool, error)
	FindPublished(ctx context.Context, grant access.Grant, name string) (prompts.Published, error)
}

// The methods about prompts. Each caller has prompts of its own, which the SDK's server does not have, so a middleware
// answers.
const (
	methodListPrompts = "prompts/list"
	methodGetPrompt   = "prompts/get"
)

// promptsPerPage is the number of prompts in a page of prompts/list.
const promptsPerPage = 100

// promptServer answers the methods about prompts.
type promptServer struct {
	prompts Prompts
	log     *slog.Logger
}

// servePrompts answers the methods about prompts.
func (s promptServer) servePrompts(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		var (
			result mcp.Result
			err    error
		)
		switch method {
		case methodListPrompts:
			result, err = s.listPrompts(ctx, request.GetParams().(*mcp.ListPromptsParams))
		case methodGetPrompt:
			result, err = s.getPrompt(ctx, request.GetParams().(*mcp.GetPromptParams))
		default:
			return next(ctx, method, request)
		}
		if err != nil {
			return nil, s.rpcError(ctx, method, err)
		}
		return result, nil
	}
}

// listPrompts lists the prompts that the caller may read. A cursor is an offset.
func (s promptServer) listPrompts(ctx context.Context, params *mcp.ListPromptsParams) (mcp.Result, error) {
	result := &mcp.ListPromptsResult{Prompts: []*mcp.Prompt{}}
	grant, err := access.CallerOf(ctx).Authorize("listPrompts", access.Target{})
	if problem.Is(err, problem.Forbidden) {
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	page := postgres.Page{Limit: promptsPerPage}
	if params != nil && params.Cursor != "" {
		page.Offset, err = strconv.Atoi(params.Cursor)
		if err != nil || page.Offset < 0 {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The cursor is not from prompts/list."}
		}
	}
	found, more, err := s.prompts.Published(ctx, grant, page)
	if err != nil {
		return nil, err
	}
	for i := range found {
		arguments, err := found[i].Arguments()
		if err != nil {
			return nil, err
		}
		prompt := &mcp.Prompt{Name: found[i].Name, Description: found[i].Description}
		for _, a := range arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		result.Prompts = append(result.Prompts, prompt)
	}
	if more {
		result.NextCursor = strconv.Itoa(page.Offset + len(found))
	}
	return result, nil
}

// getPrompt renders a prompt. Arguments are texts; those of other types are JSON.
func (s promptServer) getPrompt(ctx context.Context, params *mcp.GetPromptParams) (mcp.Result, error) {
	grant, err := access.CallerOf(ctx).Authorize("resolvePrompt", access.Target{})
	if err != nil {
		return nil, err
	}
	found, err := s.prompts.FindPublished(ctx, grant, params.Name)
	if err != nil {
		return nil, err
	}
	values, err := found.ValuesOf(params.Arguments)
	if err != nil {
		return nil, err
	}
	rendered, err := prompts.Render(&found.Version, values)
	if err != nil {
		return nil, err
	}
	result := &mcp.GetPromptResult{Description: found.Description, Messages: []*mcp.PromptMessage{}}
	for _, text := range rendered.Messages {
		messages, err := promptMessages(text)
		if err != nil {
			return nil, err
		}
		result.Messages = append(result.Messages, messages...)
	}
	return result, nil
}

// promptMessages converts a message. MCP has only the roles user and assistant, and one content in each message.
func promptMessages(text json.RawMessage) ([]*mcp.PromptMessage, error) {
	var message struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls json.RawMessage `json:"tool_calls"`
	}
	if err := json.Unmarshal(text, &message); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	role := mcp.Role("user")
	if message.Role == "assistant" {
		role = "assistant"
	}
	var converted []*mcp.PromptMessage
	add := func(content mcp.Content) {
		converted = append(converted, &mcp.PromptMessage{Role: role, Content: content})
	}
	var plain string
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	switch {
	case json.Unmarshal(message.Content, &plain) == nil:
		if plain != "" {
			add(&mcp.TextContent{Text: plain})
		}
	case json.Unmarshal(message.Content, &parts) == nil:
		for _, part := range parts {
			if part.Type == "image_url" {
				add(imageOf(part.ImageURL))
			} else {
				add(&mcp.TextContent{Text: part.Text})
			}
		}
	}
	if len(message.ToolCalls) > 0 {
		add(&mcp.TextContent{Text: string(message.ToolCalls)})
	}
	return converted, nil
}

// imageOf returns the image of a data URL, and any other URL as text.
func imageOf(text json.RawMessage) mcp.Content {
	var url string
	var object struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(text, &url) != nil && json.Unmarshal(text, &object) == nil {
		url = object.URL
	}
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		kind, data, _ := strings.Cut(rest, ";base64,")
		media, _, err := mime.ParseMediaType(kind)
		image, decodeErr := base64.StdEncoding.DecodeString(data)
		if err == nil && decodeErr == nil && len(image) > 0 {
			return &mcp.ImageContent{MIMEType: media, Data: image}
		}
	}
	return &mcp.TextContent{Text: url}
}

// rpcError returns the error for the client, with what to do next.
func (s promptServer) rpcError(ctx context.Context, method string, err error) error {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return err
	}
	refusal := problem.Of(err)
	switch {
	case problem.Is(err, problem.NotFound):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such prompt. Use a name from prompts/list."}
	case problem.Is(err, problem.Invalid):
		var messages []string
		for _, field := range refusal.Fields {
			messages = append(messages, strings.TrimPrefix(strings.TrimPrefix(field.Location, "body.variables."), "body.placeholders.")+" "+field.Message)
		}
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The arguments are not valid: " + strings.Join(messages, "; ") + "."}
	case problem.Is(err, problem.Forbidden):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: refusal.Detail}
	}
	request := access.CallerOf(ctx).RequestID
	if problem.Is(err, problem.Unavailable) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "method failed", slog.String("request_id", request), slog.String("method", method), slog.Any("error", err))
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: refusal.Detail}
	}
	s.log.LogAttrs(ctx, slog.LevelError, "method failed", slog.String("request_id", request), slog.String("method", method), slog.Any("error", err))
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "The server had an internal error. Its log has details under request id " + request + "."}
}
