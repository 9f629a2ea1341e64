package httpapi

import (
	"context"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
)

type keyHandlers struct {
	keys keyStore
}

type keyStore interface {
	Keys(ctx context.Context, grant access.Grant, page postgres.Page) (list []access.Key, more bool, err error)
	Key(ctx context.Context, grant access.Grant, id uuid.UUID) (access.Key, error)
	CreateKey(ctx context.Context, grant access.Grant, req identity.NewKey) (access.Key, apikey.Key, error)
	RevokeKey(ctx context.Context, grant access.Grant, id uuid.UUID) error
	RotateKey(ctx context.Context, grant access.Grant, id uuid.UUID) (access.Key, apikey.Key, error)
}

// ListKeys lists a project's keys.
func (h keyHandlers) ListKeys(ctx context.Context, req contract.ListKeysRequestObject) (contract.ListKeysResponseObject, error) {
	page := pageOf(req.Params.Limit, req.Params.Offset)
	list, more, err := h.keys.Keys(ctx, grantOf(ctx), page)
	if err != nil {
		return nil, err
	}
	data := make([]contract.Key, len(list))
	for i, k := range list {
		data[i] = keyOf(k)
	}
	return contract.ListKeys200JSONResponse{Data: data, Limit: page.Limit, Offset: page.Offset, HasMore: more}, nil
}

// CreateKey creates a key.
func (h keyHandlers) CreateKey(ctx context.Context, req contract.CreateKeyRequestObject) (contract.CreateKeyResponseObject, error) {
	scopes := make([]string, len(req.Body.Scopes))
	for i, s := range req.Body.Scopes {
		scopes[i] = string(s)
	}
	key, minted, err := h.keys.CreateKey(ctx, grantOf(ctx), identity.NewKey{
		Name: req.Body.Name, Scopes: scopes, ExpiresAt: req.Body.ExpiresAt,
	})
	if err != nil {
		return nil, err
	}
	return contract.CreateKey201JSONResponse{
		Body:    keyWithSecretOf(key, minted),
		Headers: contract.CreateKey201ResponseHeaders{Location: keyLocation(key)},
	}, nil
}

// GetKey reads a key without its secret.
func (h keyHandlers) GetKey(ctx context.Context, req contract.GetKeyRequestObject) (contract.GetKeyResponseObject, error) {
	key, err := h.keys.Key(ctx, grantOf(ctx), req.KeyId)
	if err != nil {
		return nil, err
	}
	return contract.GetKey200JSONResponse(keyOf(key)), nil
}

// RevokeKey revokes a key.
func (h keyHandlers) RevokeKey(ctx context.Context, req contract.RevokeKeyRequestObject) (contract.RevokeKeyResponseObject, error) {
	if err := h.keys.RevokeKey(ctx, grantOf(ctx), req.KeyId); err != nil {
		return nil, err
	}
	return contract.RevokeKey204Response{}, nil
}

// RotateKey replaces a key with a new one.
func (h keyHandlers) RotateKey(ctx context.Context, req contract.RotateKeyRequestObject) (contract.RotateKeyResponseObject, error) {
	key, minted, err := h.keys.RotateKey(ctx, grantOf(ctx), req.KeyId)
	if err != nil {
		return nil, err
	}
	return contract.RotateKey201JSONResponse{
		Body:    keyWithSecretOf(key, minted),
		Headers: contract.RotateKey201ResponseHeaders{Location: keyLocation(key)},
	}, nil
}

func keyLocation(k access.Key) *string {
	location := "/v1/keys/" + k.ID.String()
	return &location
}

func keyOf(k access.Key) contract.Key {
	return contract.Key{
		Id: k.ID, ProjectId: k.ProjectID, Name: k.Name, PublicId: k.PublicID, Scopes: scopesOf(k.Scopes),
		CreatedAt: k.CreatedAt.UTC(), CreatedBy: k.CreatedBy, LastUsedAt: utc(k.LastUsedAt), LastUsedIp: k.LastUsedIP, ExpiresAt: utc(k.ExpiresAt), RevokedAt: utc(k.RevokedAt),
	}
}

func keyWithSecretOf(k access.Key, minted apikey.Key) contract.KeyWithSecret {
	shown := keyOf(k)
	return contract.KeyWithSecret{
		Id: shown.Id, ProjectId: shown.ProjectId, Name: shown.Name, PublicId: shown.PublicId, Scopes: shown.Scopes,
		CreatedAt: shown.CreatedAt, CreatedBy: shown.CreatedBy, LastUsedAt: shown.LastUsedAt, LastUsedIp: shown.LastUsedIp, ExpiresAt: shown.ExpiresAt, RevokedAt: shown.RevokedAt,
		Key: minted.Reveal(),
	}
}

func scopesOf(names []string) []contract.Scope {
	scopes := make([]contract.Scope, len(names))
	for i, name := range names {
		scopes[i] = contract.Scope(name)
	}
	return scopes
}
