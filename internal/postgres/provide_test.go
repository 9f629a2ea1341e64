package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/test/engines"
)

// TestProvide: the role of the product is no superuser, and can still do all that it does, also in a database that a superuser made.
func TestProvide(t *testing.T) {
	t.Parallel()
	for _, isOld := range []bool{false, true} {
		admin := engines.EmptyPostgres(t)
		address, err := url.Parse(admin)
		require.NoError(t, err)
		name := "app_" + strings.ReplaceAll(uuid.NewString(), "-", "")
		if isOld {
			require.NoError(t, postgres.Migrate(t.Context(), admin))
		} else {
			address.Path = "/" + name
		}
		address.User = url.UserPassword(name, "it's \\ secret")
		app := address.String()
		for range 2 {
			require.NoError(t, postgres.Provide(t.Context(), admin, app))
			require.NoError(t, postgres.Migrate(t.Context(), app))
		}
		conn, err := pgx.Connect(t.Context(), app)
		require.NoError(t, err)
		var isSuper bool
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user").Scan(&isSuper))
		assert.False(t, isSuper)
		var foreign int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'public' AND c.relowner <> current_user::regrole`).Scan(&foreign))
		assert.Zero(t, foreign, "isOld %v", isOld)
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proowner <> current_user::regrole)
			+ (SELECT count(*) FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace AND t.typowner <> current_user::regrole)`).Scan(&foreign))
		assert.Zero(t, foreign, "isOld %v", isOld)
		for _, statement := range []string{"COPY bootstrap TO PROGRAM 'true'", "SELECT pg_read_file('/etc/passwd')", "CREATE ROLE other", "ALTER SYSTEM SET work_mem = '1MB'"} {
			_, err = conn.Exec(t.Context(), statement)
			require.ErrorContains(t, err, "permission denied", statement)
		}
		_, err = conn.Exec(t.Context(), "REINDEX TABLE river_job; CREATE TABLE later (id int); DROP TABLE later")
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
		require.ErrorContains(t, postgres.Provide(t.Context(), admin, strings.Replace(admin, address.Path, "/other_"+name, 1)), "must be two")
	}
}
