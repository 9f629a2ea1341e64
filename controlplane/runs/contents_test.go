package runs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestWholeOfWhatCannotBeRead holds that of a span as an earlier version stored it, with a number that JSON lacks, only the
// member is missing in which that stands.
func TestWholeOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	const resource = 7
	contents := contentsByID{resource: {Kind: runmodel.ContentResource, Frame: `"map[host:a load:NaN]"`}}
	span, err := contents.whole(runmodel.Span{
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
