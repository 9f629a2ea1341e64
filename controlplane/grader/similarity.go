package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
	"github.com/looptrace/looptrace/controlplane/grader/textmetrics"
)

// textSimilarity scores how close a text is to its reference.
type textSimilarity struct {
	answer
	reference *template
	metric    string
}

func readTextSimilarity(d *definition) (check, bool) {
	c := &textSimilarity{answer: d.answer(), reference: d.template("reference", ofReference), metric: d.text("evaluation_metric", required)}
	switch {
	case c.metric == "" || slices.Contains(textmetrics.MetricNames(), c.metric):
	case c.metric == "cosine":
		d.fail("evaluation_metric", "must not be cosine: embeddings are not available; use a judge for meaning, or %s", jsonvalue.List(textmetrics.MetricNames()))
	case c.metric == "levenshtein" || c.metric == "chrf":
		d.fail("evaluation_metric", "must not be %s, which was removed: use fuzzy_match", c.metric)
	default:
		d.fail("evaluation_metric", "must be %s, not %s", jsonvalue.List(textmetrics.MetricNames()), jsonvalue.Quote(c.metric))
	}
	return c, false
}

func (c *textSimilarity) grade(ctx context.Context, s *subject) verdict {
	text, references, v := c.both(s, c.reference)
	if v != nil {
		return *v
	}
	references = slices.DeleteFunc(references, func(reference string) bool { return strings.TrimSpace(reference) == "" })
	if len(references) == 0 {
		return notApplicable("the reference is an empty text")
	}
	for _, one := range append(references, text) {
		if len(one) > textmetrics.MaxSimilarity {
			return failed(fmt.Errorf("a text has %d bytes, and at most %d are compared; extract the answer with pattern", len(one), textmetrics.MaxSimilarity))
		}
	}
	if c.metric == "bleu" {
		score := textmetrics.BLEU(text, references)
		return scored(score, nil, "the score of bleu is %.3f", score)
	}
	best, closest := textmetrics.Similarity{Score: -1}, ""
	for _, reference := range references {
		one, err := textmetrics.Metrics[c.metric](ctx, text, reference)
		if errors.Is(err, textmetrics.ErrTooFewWords) {
			continue
		}
		if err != nil {
			return failed(err)
		}
		if one.Score > best.Score {
			best, closest = one, reference
		}
	}
	if best.Score < 0 {
		return notApplicable("%s", textmetrics.ErrTooFewWords.Error())
	}
	evidence := map[string]any{"reference": jsonvalue.Quote(closest)}
	if best.Parts != nil {
		evidence["parts"] = best.Parts
	}
	return scored(best.Score, evidence, "the score of %s is %.3f", c.metric, best.Score)
}
