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
func Projects(tb testing.TB, ids ...uuid.UUID) access.Projects {
	tb.Helper()
	return Grant(tb, ids...).Projects
}

// Grant is that of a user who may do everything in the projects.
func Grant(tb testing.TB, projects ...uuid.UUID) access.Grant {
	tb.Helper()
	p := &access.Principal{User: &access.User{ID: uuid.New(), Email: "user@example.com"}}
	for _, id := range projects {
		p.Projects = append(p.Projects, access.Project{ID: id, Scopes: apikey.Scopes()})
	}
	grant, err := p.Everywhere()
	require.NoError(tb, err)
	return grant
}
