package judge

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/ready.json")

// TestReadyJudges holds each judge that is ready to its version: who changes a rubric or a scale raises the version, and runs the test with
// -update.
func TestReadyJudges(t *testing.T) {
	t.Parallel()
	list, err := ReadyJudges()
	require.NoError(t, err)
	type frozen struct {
		Version int    `json:"version"`
		Hash    string `json:"hash"`
	}
	now := map[string]frozen{}
	for _, r := range list {
		d := r.Definition(uuid.Nil, json.RawMessage(`{"model":"m"}`))
		raw, err := json.Marshal(d)
		require.NoError(t, err)
		again, err := Parse(raw, "judge")
		require.NoError(t, err, r.ID)
		assert.Equal(t, d, again, "it can be sent as it is")
		j, err := New(d, nil, "judge")
		require.NoError(t, err)
		now[r.ID] = frozen{r.Version, j.Version()}
		assert.NotEmpty(t, r.Title)
		assert.NotEmpty(t, r.Description)
		for _, need := range r.Needs {
			assert.Contains(t, []string{partInput, partReference, partToolCalls}, need)
		}
		if r.Scale.Type != Binary {
			assert.NotNil(t, r.Pass, r.ID)
		}
		// Every value has its anchor, and every rubric its edge cases and what it does not reward.
		for _, label := range r.Scale.Labels {
			assert.Contains(t, r.Rubric, label, r.ID)
		}
		if r.Scale.Labels == nil {
			for n := *r.Scale.Min; n <= *r.Scale.Max; n++ {
				assert.Contains(t, r.Rubric, "\n- "+plain(n)+": ", r.ID)
			}
		}
		assert.Contains(t, r.Rubric, "\nEdge cases:\n", r.ID)
		assert.Contains(t, r.Rubric, "\nDo not ", r.ID)
		assert.Contains(t, r.Rubric, "empty", "%s says what an empty output is", r.ID)
	}
	raw, err := json.MarshalIndent(now, "", "  ")
	require.NoError(t, err)
	raw = append(raw, '\n')
	if *update {
		require.NoError(t, os.WriteFile("testdata/ready.json", raw, 0o600))
	}
	before, err := os.ReadFile("testdata/ready.json")
	require.NoError(t, err)
	assert.Equal(t, string(before), string(raw), "raise the version of the judge that changed, and run with -update")
	assert.Len(t, list, 8)
}

func TestReadyFilesThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"rubric": "no front matter", "---\nid: x\ncolour: red\n---\nr": "colour", "---\nid: x\n---\nr": "scale is required",
		"---\nid: x\nscale: {type: ordinal, min: 1, max: 3}\npass: 4\n---\nr": "pass must be the lowest number",
	} {
		_, err := parseReady([]byte(text))
		require.ErrorContains(t, err, wrong)
	}
}

// TestDocument holds docs/judges.md to the judges that are ready, the statuses, and its examples.
func TestDocument(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/judges.md")
	require.NoError(t, err)
	text := string(raw)
	list, err := ReadyJudges()
	require.NoError(t, err)
	for _, r := range list {
		row := "| `" + r.ID + "` | " + r.Description + " | " + documentedScale(r.Scale) + " |"
		assert.True(t, strings.Contains(text, row), "the document lacks %s", row) //nolint:testifylint // the document is long
	}
	for _, status := range []Status{StatusOK, StatusParseError, StatusRefused, StatusOffScale, StatusTimeout, StatusProviderError} {
		assert.True(t, strings.Contains(text, "| `"+string(status)+"` |"), "the document lacks %s", status) //nolint:testifylint // the document is long
	}
	examples := strings.Split(text, "```json\n")[1:]
	require.NotEmpty(t, examples)
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		_, err := Parse(json.RawMessage(strings.ReplaceAll(example, "01985f6e-…", "01985f6e-0000-7000-8000-000000000001")), "judge")
		require.NoError(t, err, example)
	}
	for _, finding := range []Finding{Obeyed, Held, Unclear} {
		assert.True(t, strings.Contains(text, "`"+string(finding)+"`"), finding) //nolint:testifylint // the document is long
	}
}

func documentedScale(s *Scale) string {
	if s.Labels != nil {
		return strings.Join(s.Labels, ", ")
	}
	return plain(*s.Min) + " to " + plain(*s.Max)
}
