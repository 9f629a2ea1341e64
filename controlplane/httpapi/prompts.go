package httpapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/promptimport"
	"github.com/looptrace/looptrace/internal/prompttemplate"
	"github.com/looptrace/looptrace/internal/validate"
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
	return contract.RenderPromptVersion200JSONResponse(renderedPromptOf(&rendered, &version.Content)), nil
}

// RenderPrompt checks and renders a version that is not saved.
func (h promptHandlers) RenderPrompt(_ context.Context, req contract.RenderPromptRequestObject) (contract.RenderPromptResponseObject, error) {
	rendered, content, err := prompts.RenderDraft(newVersionOf(&req.Body.Version), valuesOf(req.Body.Variables, req.Body.Placeholders))
	if err != nil {
		return nil, err
	}
	return contract.RenderPrompt200JSONResponse(renderedPromptOf(&rendered, &content)), nil
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

// ListPromptAliases lists the aliases of a prompt.
func (h promptHandlers) ListPromptAliases(ctx context.Context, req contract.ListPromptAliasesRequestObject) (contract.ListPromptAliasesResponseObject, error) {
	found, err := h.prompts.ListAliases(ctx, grantOf(ctx), req.PromptId)
	if err != nil {
		return nil, err
	}
	return contract.ListPromptAliases200JSONResponse{Data: promptAliasesOf(found)}, nil
}

// MovePromptAlias creates or moves an alias.
func (h promptHandlers) MovePromptAlias(ctx context.Context, req contract.MovePromptAliasRequestObject) (contract.MovePromptAliasResponseObject, error) {
	moved, previous, err := h.prompts.MoveAlias(ctx, grantOf(ctx), req.PromptId, req.Body.Alias, req.Body.Version, valueOf(req.Params.IfMatch, ""))
	if err != nil {
		return nil, err
	}
	tag := moved.ETag()
	alias := promptAliasOf(&moved)
	answer := contract.PromptAliasMoved{
		Alias: alias.Alias, Version: alias.Version, Protected: alias.Protected, Etag: alias.Etag,
		UpdatedBy: alias.UpdatedBy, UpdatedAt: alias.UpdatedAt, PreviousVersion: previous,
	}
	if previous == nil {
		location := fmt.Sprintf("/v1/prompts/%s/aliases/%s", req.PromptId, moved.Alias)
		return contract.MovePromptAlias201JSONResponse{Body: answer, Headers: contract.MovePromptAlias201ResponseHeaders{ETag: &tag, Location: &location}}, nil
	}
	return contract.MovePromptAlias200JSONResponse{Body: answer, Headers: contract.MovePromptAlias200ResponseHeaders{ETag: &tag}}, nil
}

// GetPromptAlias reads an alias with its version.
func (h promptHandlers) GetPromptAlias(ctx context.Context, req contract.GetPromptAliasRequestObject) (contract.GetPromptAliasResponseObject, error) {
	found, version, err := h.prompts.GetAlias(ctx, grantOf(ctx), req.PromptId, req.Alias)
	if err != nil {
		return nil, err
	}
	tag, cache := found.ETag(), cacheBriefly
	if isFresh(req.Params.IfNoneMatch, tag) {
		return contract.GetPromptAlias304Response{Headers: contract.GetPromptAlias304ResponseHeaders{ETag: &tag, CacheControl: &cache}}, nil
	}
	alias := promptAliasOf(&found)
	return contract.GetPromptAlias200JSONResponse{
		Body: contract.PromptAliasWithVersion{
			Alias: alias.Alias, Version: alias.Version, Protected: alias.Protected, Etag: alias.Etag,
			UpdatedBy: alias.UpdatedBy, UpdatedAt: alias.UpdatedAt, PromptVersion: promptVersionOf(&version),
		},
		Headers: contract.GetPromptAlias200ResponseHeaders{ETag: &tag, CacheControl: &cache},
	}, nil
}

// UpdatePromptAlias changes the protection of an alias.
func (h promptHandlers) UpdatePromptAlias(ctx context.Context, req contract.UpdatePromptAliasRequestObject) (contract.UpdatePromptAliasResponseObject, error) {
	changed, err := h.prompts.ProtectAlias(ctx, grantOf(ctx), req.PromptId, req.Alias, req.Body.Protected, valueOf(req.Params.IfMatch, ""))
	if err != nil {
		return nil, err
	}
	tag := changed.ETag()
	return contract.UpdatePromptAlias200JSONResponse{
		Body: promptAliasOf(&changed), Headers: contract.UpdatePromptAlias200ResponseHeaders{ETag: &tag},
	}, nil
}

// DeletePromptAlias deletes an alias.
func (h promptHandlers) DeletePromptAlias(ctx context.Context, req contract.DeletePromptAliasRequestObject) (contract.DeletePromptAliasResponseObject, error) {
	if err := h.prompts.DeleteAlias(ctx, grantOf(ctx), req.PromptId, req.Alias, valueOf(req.Params.IfMatch, "")); err != nil {
		return nil, err
	}
	return contract.DeletePromptAlias204Response{}, nil
}

// ListPromptAliasHistory lists the changes of an alias.
func (h promptHandlers) ListPromptAliasHistory(ctx context.Context, req contract.ListPromptAliasHistoryRequestObject) (contract.ListPromptAliasHistoryResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	found, more, err := h.prompts.AliasHistory(ctx, grantOf(ctx), req.PromptId, req.Alias, page)
	if err != nil {
		return nil, err
	}
	list := make([]contract.PromptAliasChange, len(found))
	for i := range found {
		list[i] = contract.PromptAliasChange{
			Change: contract.PromptAliasChangeChange(found[i].Change), FromVersion: found[i].FromVersion, ToVersion: found[i].ToVersion,
			ChangedBy: authorOf(found[i].Author), ChangedAt: found[i].CreatedAt.UTC(),
		}
	}
	return contract.ListPromptAliasHistory200JSONResponse{Data: list, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// ResolvePrompt finds a version by the prompt's name.
func (h promptHandlers) ResolvePrompt(ctx context.Context, req contract.ResolvePromptRequestObject) (contract.ResolvePromptResponseObject, error) {
	version, err := h.prompts.Resolve(ctx, grantOf(ctx), req.Params.Name, valueOf(req.Params.Alias, ""), valueOf(req.Params.Version, 0))
	if err != nil {
		return nil, err
	}
	tag, cache := strconv.Quote(version.PromptID.String()+"."+strconv.Itoa(version.Version)), cacheBriefly
	if isFresh(req.Params.IfNoneMatch, tag) {
		return contract.ResolvePrompt304Response{Headers: contract.ResolvePrompt304ResponseHeaders{ETag: &tag, CacheControl: &cache}}, nil
	}
	alias := req.Params.Alias
	if alias == nil && req.Params.Version == nil {
		alias = new(prompts.AliasLatest)
	}
	return contract.ResolvePrompt200JSONResponse{
		Body:    contract.ResolvedPrompt{Alias: alias, PromptVersion: promptVersionOf(&version)},
		Headers: contract.ResolvePrompt200ResponseHeaders{ETag: &tag, CacheControl: &cache},
	}, nil
}

// StreamPrompts streams moves of aliases.
func (h promptHandlers) StreamPrompts(ctx context.Context, req contract.StreamPromptsRequestObject) (contract.StreamPromptsResponseObject, error) {
	watch, err := h.prompts.Watch(grantOf(ctx))
	if err != nil {
		return nil, err
	}
	return &promptStream{ctx: ctx, watch: watch, target: access.Target{Project: valueOf(req.Params.ProjectId, uuid.Nil)}}, nil
}

// promptStream writes the events of a watch.
type promptStream struct {
	ctx    context.Context
	watch  *prompts.Watch
	target access.Target
}

// VisitStreamPromptsResponse writes events until the client disconnects, loses access or is too slow.
func (s *promptStream) VisitStreamPromptsResponse(w http.ResponseWriter) error {
	defer s.watch.Close()
	events := newEventStream(s.ctx, w)
	if err := events.event("ready", time.Time{}, []byte("{}")); err != nil {
		return err
	}
	type result struct {
		event prompts.Event
		err   error
	}
	next := func(ctx context.Context) (r result) {
		r.event, r.err = s.watch.Next(ctx)
		return r
	}
	return follow(events, s.target, next, func(r result) (bool, error) {
		if r.err != nil {
			return false, events.end(r.err)
		}
		text, err := json.Marshal(r.event)
		if err != nil {
			return false, fmt.Errorf("encode event: %w", err)
		}
		return true, events.event("alias", time.Time{}, text)
	})
}

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

func promptAliasesOf(found []prompts.Alias) []contract.PromptAlias {
	list := make([]contract.PromptAlias, len(found))
	for i := range found {
		list[i] = promptAliasOf(&found[i])
	}
	return list
}

func promptAliasOf(a *prompts.Alias) contract.PromptAlias {
	return contract.PromptAlias{
		Alias: a.Alias, Version: a.Version, Protected: a.Protected, Etag: a.ETag(), UpdatedBy: authorOf(a.Author), UpdatedAt: a.UpdatedAt.UTC(),
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

func renderedPromptOf(r *prompts.Rendered, content *prompts.Content) contract.RenderedPrompt {
	return contract.RenderedPrompt{
		Messages: r.Messages, Tools: content.Tools, ResponseFormat: objectOrNull(content.ResponseFormat), ModelConfig: content.ModelConfig,
		Variables: content.Variables, Unused: list(r.Unused), Tokens: r.Tokens, Tokenizer: prompts.Tokenizer,
	}
}

// objectOrNull returns nil, which is null in JSON, for no object.
func objectOrNull(text json.RawMessage) *json.RawMessage {
	if text == nil {
		return nil
	}
	return &text
}

// ImportPrompts imports the prompts of a file of another product.
func (h promptHandlers) ImportPrompts(ctx context.Context, req contract.ImportPromptsRequestObject) (contract.ImportPromptsResponseObject, error) {
	dryRun := valueOf(req.Body.DryRun, false)
	report, err := h.prompts.Import(ctx, grantOf(ctx), req.Body.Content, valueOf(req.Body.FileName, ""), promptimport.Format(valueOf(req.Body.Format, "")), dryRun)
	if err != nil {
		return nil, err
	}
	answer := contract.ImportPrompts200JSONResponse{
		Format: contract.PromptImportFormat(report.Format), DryRun: dryRun,
		Imported: make([]contract.ImportedPrompt, len(report.Imported)), Rejected: make([]contract.RejectedPrompt, len(report.Rejected)),
	}
	for i := range report.Imported {
		one := &report.Imported[i]
		imported := contract.ImportedPrompt{
			Name: one.Name, SourceName: one.SourceName, PromptId: one.PromptID, Change: contract.ImportedPromptChange(one.Change), Version: one.Version,
			Aliases: list(one.Aliases), Conversions: make([]contract.PromptConversion, len(one.Conversions)), LeftOut: list(one.LeftOut),
		}
		for j, c := range one.Conversions {
			imported.Conversions[j] = contract.PromptConversion{Path: c.Path, Line: c.Line, From: c.From, To: c.To}
		}
		answer.Imported[i] = imported
	}
	for i, r := range report.Rejected {
		rejected := contract.RejectedPrompt{SourceName: r.SourceName, Path: known(r.Path), Reason: r.Reason}
		if r.Line > 0 {
			rejected.Line = &r.Line
		}
		answer.Rejected[i] = rejected
	}
	return answer, nil
}

// usageWindow is the default length of the window of usage.
const usageWindow = 30 * 24 * time.Hour

// GetPromptUsage reads how the runs of a prompt went, by version.
func (h promptHandlers) GetPromptUsage(ctx context.Context, req contract.GetPromptUsageRequestObject) (contract.GetPromptUsageResponseObject, error) {
	grant := grantOf(ctx)
	query := runs.PromptUsageQuery{
		StartAfter: valueOf(req.Params.StartAfter, time.Time{}).UTC(), StartBefore: valueOf(req.Params.StartBefore, time.Time{}).UTC(),
	}
	if err := errors.Join(validTime("query.start_after", req.Params.StartAfter), validTime("query.start_before", req.Params.StartBefore)); err != nil {
		return nil, err
	}
	if req.Params.StartAfter == nil {
		query.Window = usageWindow
	}
	prompt, err := h.prompts.Get(ctx, grant, req.PromptId)
	if err != nil {
		return nil, err
	}
	query.ProjectID, query.ID, query.Name = prompt.ProjectID, prompt.ID.String(), prompt.Name
	if query.TextIDs, err = h.prompts.TextIDs(ctx, grant.Projects, query.ID, "", ""); err != nil {
		return nil, err
	}
	usage, err := h.usage.PromptUsage(ctx, grant.Projects, query)
	if err != nil {
		return nil, err
	}
	answer := contract.GetPromptUsage200JSONResponse{
		Start: usage.Start.UTC(), End: usage.End.UTC(), Partial: usage.Partial, BucketSeconds: int64(usage.Bucket / time.Second),
		Total: totalsOf(&usage.Total), Versions: make([]contract.PromptVersionUsage, len(usage.Versions)),
	}
	for i := range usage.Versions {
		answer.Versions[i] = versionUsageOf(&usage.Versions[i], prompt.LatestVersion)
	}
	if usage.Other != nil {
		answer.Other = &contract.PromptUsageOther{Versions: count(usage.OtherVersions), Totals: totalsOf(usage.Other)}
	}
	return answer, nil
}

func versionUsageOf(v *runs.PromptVersionUsage, latest *int) contract.PromptVersionUsage {
	number, err := strconv.Atoi(v.Version)
	usage := contract.PromptVersionUsage{
		Version: known(v.Version), Exists: err == nil && latest != nil && number >= 1 && number <= *latest && strconv.Itoa(number) == v.Version,
		Totals: totalsOf(&v.Runs), Series: seriesOf(v.Series), LinkedByContent: count(v.LinkedByText),
		UnpricedCallCount: count(v.UnpricedCalls), UnpricedRunCount: count(v.UnpricedRuns),
		Calls: contract.PromptCallTotals{
			Count: count(v.Calls.Count), ErrorCount: count(v.Calls.ErrorCount), InputTokens: v.Calls.Input, OutputTokens: v.Calls.Output,
			NoUsageCount: count(v.Calls.NoUsage), CostUsd: roundUSD(v.Calls.CostUSD), NoCostCount: count(v.Calls.NoCost),
		},
		Scores: make([]contract.PromptScoreMean, len(v.Scores)), FirstSeen: v.First.UTC(), LastSeen: v.Last.UTC(),
	}
	if v.Calls.DurationsMs != nil {
		usage.Calls.DurationMs = &contract.MedianAndP95{P50: v.Calls.DurationsMs[0], P95: v.Calls.DurationsMs[1]}
	}
	for i, score := range v.Scores {
		usage.Scores[i] = contract.PromptScoreMean{Name: score.Name, Mean: score.Mean, Count: count(score.Count), Boolean: score.IsBoolean}
	}
	return usage
}

func validTime(location string, t *time.Time) error {
	if t == nil {
		return nil
	}
	return validate.Time(location, *t)
}
