package identity

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/postgres"
)

// IngestKey returns the key with which the control plane itself records runs in a project. It is derived from the session secret, so
// that all processes have the same one and none stores it.
func (s *Service) IngestKey(ctx context.Context, project uuid.UUID) (apikey.Key, error) {
	key := apikey.Derive(s.DeriveKey("ingest key of " + project.String()))
	hash := key.Hash()
	args := pgx.NamedArgs{
		"id": postgres.NewID(), "project": project, "public_id": key.PublicID(), "secret_sha256": hash[:],
		"scopes": []string{apikey.ScopeIngestWrite}, "now": s.now(),
	}
	err := s.db.Tx(ctx, func(ctx context.Context, tx postgres.DB) error {
		if _, err := tx.Exec(ctx, "create internal key", args); err != nil {
			return err
		}
		// That of another session secret.
		_, err := tx.Exec(ctx, "delete other internal keys", args)
		return err
	})
	return key, err
}
