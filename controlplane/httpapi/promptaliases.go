package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/prompts"
)

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
