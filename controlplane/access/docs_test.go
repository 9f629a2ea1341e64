package access

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
)

var update = flag.Bool("update", false, "write the table of docs/security.md anew")

// TestDocumentedRoles compares the table of roles in docs/security.md with the code.
func TestDocumentedRoles(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../docs/security.md", "<!-- roles: begin -->\n", "<!-- roles: end -->\n"
	var table strings.Builder
	table.WriteString("| scope | owner | admin | member | viewer |\n| --- | --- | --- | --- | --- |\n")
	for _, scope := range apikey.Scopes() {
		fmt.Fprintf(&table, "| `%s` |", scope)
		for _, role := range []Role{RoleOwner, RoleAdmin, RoleMember, RoleViewer} {
			mark := ""
			if slices.Contains(role.Scopes(), scope) {
				mark = "yes"
			}
			fmt.Fprintf(&table, " %s |", mark)
		}
		table.WriteString("\n")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found)
	present, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o644))
		return
	}
	assert.Equal(t, table.String(), present)
}
