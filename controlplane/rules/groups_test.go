package rules

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/problem"
)

func TestGroupKey(t *testing.T) {
	t.Parallel()
	var source runs.Source
	source.Run.SessionID, source.Run.UserID = "s1", "u1"
	sample := &grader.Sample{}
	require.NoError(t, json.Unmarshal([]byte(`{"customer":{"id":"s1"},"a.b":1,"a":{"c":null}}`), &sample.Metadata))
	session, user := groupKey(BySession, &source, sample), groupKey(ByUser, &source, sample)
	require.NotNil(t, session)
	require.NotNil(t, user)
	assert.NotEqual(t, *session, *user)
	assert.Equal(t, *session, *groupKey("metadata.customer.id", &source, sample), "the same value")
	assert.NotNil(t, groupKey("metadata.a.b", &source, sample), "a key has a dot")
	for _, none := range []string{"metadata.a.c", "metadata.a.d", "metadata.customer.id.x", "metadata.x"} {
		assert.Nil(t, groupKey(none, &source, sample), none)
	}
	assert.Nil(t, groupKey(BySession, &runs.Source{}, sample), "a run without a session")
	for _, wrong := range []string{"", "metadata", "metadata.", "input.x", "Session"} {
		assert.True(t, problem.Is(checkGroupBy(wrong), problem.Invalid), wrong)
	}
}
