// Package accesstest makes grants for tests of services.
package accesstest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/apikey"
)

// Projects are those of [Grant].
func Projects(t testing.TB, ids ...uuid.UUID) access.Projects {
	t.Helper()
	return Grant(t, ids...).Projects
}

// Grant is that of a user who may do everything in the projects.
func Grant(t testing.TB, projects ...uuid.UUID) access.Grant {
	t.Helper()
	p := &access.Principal{User: &access.User{ID: uuid.New(), Email: "user@example.com"}}
	for _, id := range projects {
		p.Projects = append(p.Projects, access.Project{ID: id, Scopes: apikey.Scopes()})
	}
	grant, err := p.Everywhere()
	require.NoError(t, err)
	return grant
}
