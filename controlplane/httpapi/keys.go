package httpapi

import (
	"context"
	"time"

	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/internal/apikey"
)

// ListKeys lists a project's keys.
func (a *api) ListKeys(ctx context.Context, req ListKeysRequestObject) (ListKeysResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := a.identity.Keys(ctx, callOf(ctx).principal, req.Params.ProjectId, page)
	if err != nil {
		return nil, err
	}
	data := make([]Key, len(list))
	for i, k := range list {
		data[i] = keyOf(k)
	}
	return ListKeys200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateKey mints a key.
func (a *api) CreateKey(ctx context.Context, req CreateKeyRequestObject) (CreateKeyResponseObject, error) {
	scopes := make([]string, len(req.Body.Scopes))
	for i, s := range req.Body.Scopes {
		scopes[i] = string(s)
	}
	key, minted, err := a.identity.CreateKey(ctx, callOf(ctx).principal, identity.NewKey{
		ProjectID: req.Body.ProjectId, Name: req.Body.Name, Scopes: scopes, ExpiresAt: req.Body.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	return CreateKey201JSONResponse{
		Body:    keyWithSecretOf(key, minted),
		Headers: CreateKey201ResponseHeaders{Location: keyLocation(key)},
	}, nil
}

// GetKey reads the description of a key.
func (a *api) GetKey(ctx context.Context, req GetKeyRequestObject) (GetKeyResponseObject, error) {
	key, err := a.identity.Key(ctx, callOf(ctx).principal, req.KeyId)
	if err != nil {
		return nil, err
	}
	return GetKey200JSONResponse(keyOf(key)), nil
}

// RevokeKey ends a key.
func (a *api) RevokeKey(ctx context.Context, req RevokeKeyRequestObject) (RevokeKeyResponseObject, error) {
	if err := a.identity.RevokeKey(ctx, callOf(ctx).principal, req.KeyId); err != nil {
		return nil, err
	}
	return RevokeKey204Response{}, nil
}

// RotateKey puts a new key in the place of one.
func (a *api) RotateKey(ctx context.Context, req RotateKeyRequestObject) (RotateKeyResponseObject, error) {
	key, minted, err := a.identity.RotateKey(ctx, callOf(ctx).principal, req.KeyId)
	if err != nil {
		return nil, err
	}
	return RotateKey201JSONResponse{
		Body:    keyWithSecretOf(key, minted),
		Headers: RotateKey201ResponseHeaders{Location: keyLocation(key)},
	}, nil
}

func keyLocation(k identity.Key) *string {
	location := "/v1/keys/" + k.ID.String()
	return &location
}

func keyOf(k identity.Key) Key {
	return Key{
		Id: k.ID, ProjectId: k.ProjectID, Name: k.Name, PublicId: k.PublicID, Scopes: scopesOf(k.Scopes),
		CreatedAt: k.CreatedAt.UTC(), LastUsedAt: utc(k.LastUsedAt), ExpiresAt: utc(k.ExpiresAt), RevokedAt: utc(k.RevokedAt),
	}
}

func keyWithSecretOf(k identity.Key, minted apikey.Key) KeyWithSecret {
	shown := keyOf(k)
	return KeyWithSecret{
		Id: shown.Id, ProjectId: shown.ProjectId, Name: shown.Name, PublicId: shown.PublicId, Scopes: shown.Scopes,
		CreatedAt: shown.CreatedAt, LastUsedAt: shown.LastUsedAt, ExpiresAt: shown.ExpiresAt, RevokedAt: shown.RevokedAt,
		Key: minted.Reveal(),
	}
}

func scopesOf(names []string) []Scope {
	scopes := make([]Scope, len(names))
	for i, name := range names {
		scopes[i] = Scope(name)
	}
	return scopes
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
