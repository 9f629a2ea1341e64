package grader

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader/textmetrics"
)

// similarityOf scores a text with a metric of text_similarity.
func similarityOf(t *testing.T, metric, output string, references ...string) Result {
	t.Helper()
	reference, err := json.Marshal(references)
	require.NoError(t, err)
	g := parsed(t, fmt.Sprintf(`{"name": "m", "type": "text_similarity", "evaluation_metric": %q}`, metric))
	return g.Grade(t.Context(), &Sample{Output: TextOf(t, output), ReferenceOutput: reference})
}

func parsed(t *testing.T, definition string) *Grader {
	t.Helper()
	g, err := Parse(json.RawMessage(definition), "body")
	require.NoError(t, err, definition)
	return g
}

func TextOf(t *testing.T, value string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return raw
}

// TestGolden compares with sacrebleu, rouge-score, NLTK and rapidfuzz. testdata/metrics.py makes the file.
func TestGolden(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/metrics.json")
	require.NoError(t, err)
	var golden struct {
		NLTK  float64 `json:"nltk_bleu_of_last"`
		Cases []struct {
			Output     string             `json:"output"`
			References []string           `json:"references"`
			Scores     map[string]float64 `json:"scores"`
		} `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(raw, &golden))
	require.NotEmpty(t, golden.Cases)
	compared := 0
	for _, c := range golden.Cases {
		for metric, want := range c.Scores {
			r := similarityOf(t, metric, c.Output, c.References...)
			require.Empty(t, r.Error)
			if r.Score == nil { // the library has 0 for what is not defined
				assert.Zero(t, want, "%s of %q", metric, c.Output)
				assert.Contains(t, r.Reason, "fewer words")
				continue
			}
			compared++
			assert.InDelta(t, want, *r.Score, 1e-9, "%s of %q", metric, c.Output)
		}
	}
	assert.Greater(t, compared, 130)
	last := golden.Cases[len(golden.Cases)-1]
	assert.InDelta(t, golden.NLTK, *similarityOf(t, "bleu", last.Output, last.References...).Score, 1e-9, "without smoothing the libraries agree")
}

func TestPublishedScores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		metric, output, reference string
		want                      float64
	}{
		{"rouge_1", "The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog", 0.7058823529},
		{"rouge_l", "The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog", 0.5882352941},
		{"token_f1", "the cat sat on a mat", "a cat on the mat", 0.9090909091},
		{"token_f1", "It's 1,000!", "its 1000", 1},
		{"rouge_1", "你好世界", "你好", 2.0 / 3},
		{"rouge_l", "a", "!!! a", 1},
		{"fuzzy_match", "fuzzy wuzzy was a bear", "wuzzy fuzzy was a bear", 0.9090909091},
	} {
		r := similarityOf(t, c.metric, c.output, c.reference)
		require.NotNil(t, r.Score, "%s: %s", c.metric, r.Reason)
		assert.InDelta(t, c.want, *r.Score, 1e-9, "%s of %q", c.metric, c.output)
	}
}

var symmetric = []string{"fuzzy_match", "token_f1", "gleu", "rouge_1", "rouge_2", "rouge_3", "rouge_l"}

// TestProperties holds on texts from a small alphabet, so that they share words.
func TestProperties(t *testing.T) {
	t.Parallel()
	wordList := []string{"the", "cat", "sat", "on", "mat", "a", "1,000", "naïve", "世界", "x.", "-"}
	sentenceOf := func(picks []uint8) string {
		picked := make([]string, len(picks))
		for i, p := range picks {
			picked[i] = wordList[int(p)%len(wordList)]
		}
		return strings.Join(picked, " ")
	}
	property := func(a, b []uint8) bool {
		x, y := sentenceOf(a), sentenceOf(b)
		for _, metric := range textmetrics.MetricNames() {
			forth, back, same := similarityOf(t, metric, x, y), similarityOf(t, metric, y, x), similarityOf(t, metric, x, x)
			if forth.Error != "" || same.Error != "" {
				t.Logf("%s of %q and %q: %+v", metric, x, y, forth)
				return false
			}
			if forth.Score != nil && (*forth.Score < 0 || *forth.Score > 1) {
				t.Logf("%s of %q and %q is %v", metric, x, y, *forth.Score)
				return false
			}
			if metric != "meteor" && same.Score != nil && *same.Score < 1-1e-12 { // METEOR punishes even one chunk
				t.Logf("%s of %q with itself is %v", metric, x, *same.Score)
				return false
			}
			for _, s := range symmetric {
				if s == metric && forth.Score != nil && back.Score != nil && textmetrics.Abs(int(1e9*(*forth.Score-*back.Score))) > 1 {
					t.Logf("%s of %q and %q is %v, back %v", metric, x, y, *forth.Score, *back.Score)
					return false
				}
			}
		}
		return true
	}
	require.NoError(t, quick.Check(property, &quick.Config{MaxCount: 200}))
}

func TestLCSIsThatOfTheTextbook(t *testing.T) {
	t.Parallel()
	textbook := func(a, b []uint32) int {
		same := make([][]bool, len(a))
		for i := range a {
			same[i] = make([]bool, len(b))
			for j := range b {
				same[i][j] = a[i] == b[j]
			}
		}
		return order(same, len(b))
	}
	property := func(x, y []uint8) bool {
		double := func(picks []uint8) []uint32 { // longer than one word of the bit vectors
			var list []uint32
			for range 4 {
				for _, p := range picks {
					list = append(list, uint32(p%5))
				}
			}
			return list
		}
		a, b := double(x), double(y)
		got, err := textmetrics.LCS(t.Context(), a, b)
		return err == nil && got == textbook(a, b)
	}
	require.NoError(t, quick.Check(property, nil))
}
