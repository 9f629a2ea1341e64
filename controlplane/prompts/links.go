package prompts

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/postgres"
)

// maxTexts is the maximum number of versions by whose text runs are found.
const maxTexts = 1000

// TextIDs returns the ids of the system messages (runmodel.SystemTextID) that only one version in its project has, by
// version, of the prompts with the id, the name and the version. An empty argument does not count. Versions whose system
// message has variables have none. At most the 1,000 newest versions are in it.
func (s *Service) TextIDs(ctx context.Context, in access.Projects, id, name, version string) (map[string][]uint64, error) {
	rows, err := postgres.Many[struct {
		Version      int
		SystemTextID int64
	}](ctx, s.db, "find texts", pgx.NamedArgs{"projects": in.IDs(), "id": id, "name": name, "version": version, "limit": maxTexts})
	if err != nil {
		return nil, err
	}
	texts := map[string][]uint64{}
	for _, row := range rows {
		number := strconv.Itoa(row.Version)
		texts[number] = append(texts[number], uint64(row.SystemTextID))
	}
	return texts, nil
}

// Reference is a version of a prompt.
type Reference struct {
	ID      uuid.UUID
	Name    string
	Version int
}

// WithTexts returns the versions in a project whose system messages have these ids, of texts that only one version has.
func (s *Service) WithTexts(ctx context.Context, project uuid.UUID, ids []uint64) ([]Reference, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	signed := make([]int64, len(ids))
	for i, id := range ids {
		signed[i] = int64(id)
	}
	return postgres.Many[Reference](ctx, s.db, "find by texts", pgx.NamedArgs{"project": project, "ids": signed})
}
