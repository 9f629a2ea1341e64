package httpapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/controlplane/runs"
)

// How long clients may use what they read. Caches that several users share keep nothing.
const (
	cacheForever = "private, max-age=31536000, immutable"
	cacheBriefly = "private, max-age=5"
)

type promptHandlers struct {
	prompts *prompts.Service
	usage   usageReader
}

type usageReader interface {
	PromptUsage(ctx context.Context, in access.Projects, q runs.PromptUsageQuery) (runs.PromptUsage, error)
}

// ListPrompts lists prompts, or a folder of them.
func (h promptHandlers) ListPrompts(ctx context.Context, req contract.ListPromptsRequestObject) (contract.ListPromptsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, folders, more, err := h.prompts.List(ctx, grantOf(ctx), prompts.Filter{
		Name: valueOf(req.Params.Name, ""), Search: valueOf(req.Params.Search, ""), Tag: valueOf(req.Params.Tag, ""), Folder: valueOf(req.Params.Folder, ""),
	}, page)
	if err != nil {
		return nil, err
	}
	answer := contract.ListPrompts200JSONResponse{
		Data: make([]contract.Prompt, len(found)), Folders: make([]contract.PromptFolder, len(folders)),
		Limit: page.Limit, Offset: page.Offset, HasMore: more,
	}
	for i := range found {
		answer.Data[i] = storedPromptOf(&found[i])
	}
	for i, folder := range folders {
		answer.Folders[i] = contract.PromptFolder{Name: folder.Name, Prompts: folder.Prompts}
	}
	return answer, nil
}

// CreatePrompt creates a prompt, perhaps with a first version.
func (h promptHandlers) CreatePrompt(ctx context.Context, req contract.CreatePromptRequestObject) (contract.CreatePromptResponseObject, error) {
	var first *prompts.NewVersion
	if req.Body.Version != nil {
		first = new(newVersionOf(req.Body.Version))
	}
	created, err := h.prompts.Create(ctx, grantOf(ctx), req.Body.Name, prompts.Change{Description: req.Body.Description, Tags: req.Body.Tags}, first)
	if err != nil {
		return nil, err
	}
	location := "/v1/prompts/" + created.ID.String()
	return contract.CreatePrompt201JSONResponse{Body: storedPromptOf(&created), Headers: contract.CreatePrompt201ResponseHeaders{Location: &location}}, nil
}

// GetPrompt reads a prompt.
func (h promptHandlers) GetPrompt(ctx context.Context, req contract.GetPromptRequestObject) (contract.GetPromptResponseObject, error) {
	found, err := h.prompts.Get(ctx, grantOf(ctx), req.PromptId)
	if err != nil {
		return nil, err
	}
	return contract.GetPrompt200JSONResponse(storedPromptOf(&found)), nil
}

// UpdatePrompt changes the description or the tags of a prompt.
func (h promptHandlers) UpdatePrompt(ctx context.Context, req contract.UpdatePromptRequestObject) (contract.UpdatePromptResponseObject, error) {
	updated, err := h.prompts.Update(ctx, grantOf(ctx), req.PromptId, prompts.Change{Description: req.Body.Description, Tags: req.Body.Tags})
	if err != nil {
		return nil, err
	}
	return contract.UpdatePrompt200JSONResponse(storedPromptOf(&updated)), nil
}

// DeletePrompt deletes a prompt with its versions and aliases.
func (h promptHandlers) DeletePrompt(ctx context.Context, req contract.DeletePromptRequestObject) (contract.DeletePromptResponseObject, error) {
	if err := h.prompts.Delete(ctx, grantOf(ctx), req.PromptId); err != nil {
		return nil, err
	}
	return contract.DeletePrompt204Response{}, nil
}

// ListPromptVersions lists the versions of a prompt.
func (h promptHandlers) ListPromptVersions(ctx context.Context, req contract.ListPromptVersionsRequestObject) (contract.ListPromptVersionsResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.prompts.ListVersions(ctx, grantOf(ctx), req.PromptId, page)
	if err != nil {
		return nil, err
	}
	list := make([]contract.PromptVersionEntry, len(found))
	for i := range found {
		list[i] = promptVersionEntryOf(&found[i])
	}
	return contract.ListPromptVersions200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreatePromptVersion saves a version.
func (h promptHandlers) CreatePromptVersion(ctx context.Context, req contract.CreatePromptVersionRequestObject) (contract.CreatePromptVersionResponseObject, error) {
	version, saved, err := h.prompts.SaveVersion(ctx, grantOf(ctx), req.PromptId, newVersionOf(req.Body))
	if err != nil {
		return nil, err
	}
	entry := promptVersionEntryOf(&version)
	if !saved {
		return contract.CreatePromptVersion200JSONResponse(entry), nil
	}
	location := fmt.Sprintf("/v1/prompts/%s/versions/%d", version.PromptID, version.Version)
	return contract.CreatePromptVersion201JSONResponse{Body: entry, Headers: contract.CreatePromptVersion201ResponseHeaders{Location: &location}}, nil
}

// GetPromptVersion reads a version. It never changes.
func (h promptHandlers) GetPromptVersion(ctx context.Context, req contract.GetPromptVersionRequestObject) (contract.GetPromptVersionResponseObject, error) {
	version, err := h.prompts.GetVersion(ctx, grantOf(ctx), req.PromptId, req.Version)
	if err != nil {
		return nil, err
	}
	tag, cache := strconv.Quote(hex.EncodeToString(version.ContentHash)), cacheForever
	if isFresh(req.Params.IfNoneMatch, tag) {
		return contract.GetPromptVersion304Response{Headers: contract.GetPromptVersion304ResponseHeaders{ETag: &tag, CacheControl: &cache}}, nil
	}
	return contract.GetPromptVersion200JSONResponse{
		Body: promptVersionOf(&version), Headers: contract.GetPromptVersion200ResponseHeaders{ETag: &tag, CacheControl: &cache},
	}, nil
}

// RenderPromptVersion renders a version.
func (h promptHandlers) RenderPromptVersion(ctx context.Context, req contract.RenderPromptVersionRequestObject) (contract.RenderPromptVersionResponseObject, error) {
	version, err := h.prompts.GetVersion(ctx, grantOf(ctx), req.PromptId, req.Version)
	if err != nil {
		return nil, err
	}
	rendered, err := prompts.Render(&version, valuesOf(req.Body.Variables, req.Body.Placeholders))
	if err != nil {
		return nil, err
	}
	answer, err := renderedPromptOf(&rendered, &version.Content)
	return contract.RenderPromptVersion200JSONResponse(answer), err
}

// RenderPrompt checks and renders a version that is not saved.
func (h promptHandlers) RenderPrompt(_ context.Context, req contract.RenderPromptRequestObject) (contract.RenderPromptResponseObject, error) {
	rendered, content, err := prompts.RenderDraft("body.version", newVersionOf(&req.Body.Version), valuesOf(req.Body.Variables, req.Body.Placeholders))
	if err != nil {
		return nil, err
	}
	answer, err := renderedPromptOf(&rendered, &content)
	return contract.RenderPrompt200JSONResponse(answer), err
}

// DiffPromptVersions compares two versions.
func (h promptHandlers) DiffPromptVersions(ctx context.Context, req contract.DiffPromptVersionsRequestObject) (contract.DiffPromptVersionsResponseObject, error) {
	before, err := h.prompts.GetVersion(ctx, grantOf(ctx), req.PromptId, req.Version)
	if err != nil {
		return nil, err
	}
	after, err := h.prompts.GetVersion(ctx, grantOf(ctx), req.PromptId, req.OtherVersion)
	if err != nil {
		return nil, err
	}
	differences, err := prompts.Diff(&before, &after)
	if err != nil {
		return nil, err
	}
	answer := contract.DiffPromptVersions200JSONResponse{
		Version: req.Version, OtherVersion: req.OtherVersion, Changes: make([]contract.PromptChange, len(differences)),
	}
	for i, d := range differences {
		change := contract.PromptChange{Path: d.Path, Change: contract.PromptChangeChangeChanged, Before: d.Before, After: d.After}
		switch {
		case d.Before == nil:
			change.Change, change.Before = contract.PromptChangeChangeAdded, jsonNull
		case d.After == nil:
			change.Change, change.After = contract.PromptChangeChangeRemoved, jsonNull
		}
		answer.Changes[i] = change
	}
	return answer, nil
}

var jsonNull = json.RawMessage("null")

// isFresh reports whether an If-None-Match header has the entity tag.
func isFresh(header *string, tag string) bool {
	for one := range strings.SplitSeq(valueOf(header, ""), ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}

func newVersionOf(v *contract.PromptVersionCreate) prompts.NewVersion {
	return prompts.NewVersion{
		Content: prompts.Content{
			Messages: v.Messages, Tools: valueOf(v.Tools, nil), ResponseFormat: valueOf(v.ResponseFormat, nil), ModelConfig: valueOf(v.ModelConfig, nil),
			Variables: valueOf(v.Variables, nil), TemplateFormat: string(valueOf(v.TemplateFormat, "")), Missing: prompttemplate.Missing(valueOf(v.Missing, "")),
		},
		Note: valueOf(v.Note, ""), BaseVersion: v.BaseVersion,
	}
}

func valuesOf(variables *map[string]any, placeholders *map[string][]contract.PromptMessage) prompts.Values {
	return prompts.Values{Variables: valueOf(variables, nil), Placeholders: valueOf(placeholders, nil)}
}

func storedPromptOf(p *prompts.Prompt) contract.Prompt {
	return contract.Prompt{
		Id: p.ID, ProjectId: p.ProjectID, Name: p.Name, Description: p.Description, Tags: list(p.Tags), LatestVersion: p.LatestVersion,
		Aliases: promptAliasesOf(p.Aliases), CreatedBy: authorOf(p.Author), CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
	}
}

func authorOf(a prompts.Author) contract.Author {
	return contract.Author{Email: a.AuthorEmail, Key: a.AuthorKey}
}

func promptVersionOf(v *prompts.Version) contract.PromptVersion {
	return contract.PromptVersion{
		PromptId: v.PromptID, Name: v.Name, Version: v.Version, ContentHash: hex.EncodeToString(v.ContentHash),
		Messages: v.Messages, Tools: v.Tools, ResponseFormat: objectOrNull(v.ResponseFormat), ModelConfig: v.ModelConfig, Variables: v.Variables,
		TemplateFormat: contract.PromptTemplateFormat(v.TemplateFormat), Missing: contract.PromptMissing(v.Missing),
		Note: v.Note, CreatedBy: authorOf(v.Author), CreatedAt: v.CreatedAt.UTC(),
	}
}

func promptVersionEntryOf(v *prompts.Version) contract.PromptVersionEntry {
	version := promptVersionOf(v)
	return contract.PromptVersionEntry{
		PromptId: version.PromptId, Name: version.Name, Version: version.Version, ContentHash: version.ContentHash,
		Messages: version.Messages, Tools: version.Tools, ResponseFormat: version.ResponseFormat, ModelConfig: version.ModelConfig,
		Variables: version.Variables, TemplateFormat: version.TemplateFormat, Missing: version.Missing,
		Note: version.Note, CreatedBy: version.CreatedBy, CreatedAt: version.CreatedAt, Aliases: list(v.Aliases),
	}
}

func renderedPromptOf(r *prompts.Rendered, content *prompts.Content) (contract.RenderedPrompt, error) {
	tokens, err := r.Tokens()
	return contract.RenderedPrompt{
		Messages: r.Messages, Tools: content.Tools, ResponseFormat: objectOrNull(content.ResponseFormat), ModelConfig: content.ModelConfig,
		Variables: content.Variables, Unused: list(r.Unused), Tokens: tokens, Tokenizer: prompts.Tokenizer,
	}, err
}

// objectOrNull returns nil, which is null in JSON, for no object.
func objectOrNull(text json.RawMessage) *json.RawMessage {
	if text == nil {
		return nil
	}
	return &text
}
