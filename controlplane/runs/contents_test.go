package runs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestJoinOfUnreadableMembers reads a span with members that are no JSON, as rows had them before NaN was handled.
// Only these members are missing.
func TestJoinOfUnreadableMembers(t *testing.T) {
	t.Parallel()
	const resource = 7
	contents := contentsByID{resource: {Kind: runmodel.ContentResource, Frame: `"map[host:a load:NaN]"`}}
	span, err := contents.join(runmodel.Span{
		Name: "step", ResourceID: resource,
		Events:         `"[{e 1970-01-01 00:00:00 +0000 UTC map[load:NaN]}]"`,
		Links:          `[{"run_id":"r","span_id":"s","attributes":{}}]`,
		AttributesJSON: map[string]string{"list": `"[NaN \x7f]"`, "n": "7"},
	})
	require.NoError(t, err)
	assert.Equal(t, "step", span.Name)
	assert.Empty(t, span.Events)
	assert.NotNil(t, span.ResourceAttributes)
	assert.Empty(t, span.ResourceAttributes)
	assert.Equal(t, []runmodel.Link{{RunID: "r", SpanID: "s", Attributes: map[string]any{}}}, span.Links)
	attributes, err := json.Marshal(span.Attributes)
	require.NoError(t, err)
	assert.JSONEq(t, `{"list":"\"[NaN \\x7f]\"","n":7}`, string(attributes))
}
