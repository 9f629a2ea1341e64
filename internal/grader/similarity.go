package grader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// textSimilarity scores how close a text is to its reference.
type textSimilarity struct {
	answer
	reference *template
	metric    string
}

// maxSimilarity limits the texts. Counting the n-grams of a megabyte takes a second or two.
const maxSimilarity = 2 << 20

// similarity is a score with what it is made of.
type similarity struct {
	score float64
	parts any
}

// metrics compare a text with one reference. bleu is not among them: it takes all references at once.
var metrics = map[string]func(ctx context.Context, output, reference string) (similarity, error){
	"fuzzy_match": fuzzyMatch,
	"token_f1":    tokenF1,
	"gleu":        linear(gleu),
	"meteor":      linear(meteor),
	"rouge_1":     rougeN(1),
	"rouge_2":     rougeN(2),
	"rouge_3":     rougeN(3),
	"rouge_4":     rougeN(4),
	"rouge_5":     rougeN(5),
	"rouge_l":     rougeL,
}

func readTextSimilarity(d *definition) (check, bool) {
	c := &textSimilarity{answer: d.answer(), reference: d.template("reference", ofReference), metric: d.text("evaluation_metric", required)}
	switch {
	case c.metric == "" || slices.Contains(metricNames(), c.metric):
	case c.metric == "cosine":
		d.fail("evaluation_metric", "must not be cosine: embeddings are not available; use a judge for meaning, or %s", list(metricNames()))
	case c.metric == "levenshtein" || c.metric == "chrf":
		d.fail("evaluation_metric", "must not be %s, which was removed: use fuzzy_match", c.metric)
	default:
		d.fail("evaluation_metric", "must be %s, not %s", list(metricNames()), quote(c.metric))
	}
	return c, false
}

func metricNames() []string {
	names := append(slices.Sorted(maps.Keys(metrics)), "bleu")
	slices.Sort(names)
	return names
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
		if len(one) > maxSimilarity {
			return failed(fmt.Errorf("a text has %d bytes, and at most %d are compared; extract the answer with pattern", len(one), maxSimilarity))
		}
	}
	if c.metric == "bleu" {
		score := bleu(text, references)
		return scored(score, nil, "the score of bleu is %.3f", score)
	}
	best, closest := similarity{score: -1}, ""
	for _, reference := range references {
		one, err := metrics[c.metric](ctx, text, reference)
		if errors.Is(err, errTooFewWords) {
			continue
		}
		if err != nil {
			return failed(err)
		}
		if one.score > best.score {
			best, closest = one, reference
		}
	}
	if best.score < 0 {
		return notApplicable("%s", errTooFewWords.Error())
	}
	evidence := map[string]any{"reference": quote(closest)}
	if best.parts != nil {
		evidence["parts"] = best.parts
	}
	return scored(best.score, evidence, "the score of %s is %.3f", c.metric, best.score)
}

func linear(metric func(output, reference string) float64) func(context.Context, string, string) (similarity, error) {
	return func(_ context.Context, output, reference string) (similarity, error) {
		return similarity{score: metric(output, reference)}, nil
	}
}

// errTooFewWords says that there is nothing to compare with.
var errTooFewWords = errors.New("the reference has fewer words than the metric counts together")

// tokenF1 is the F1 of SQuAD without its removal of English articles: of the words in lower case, without punctuation.
func tokenF1(ctx context.Context, output, reference string) (similarity, error) {
	withoutPunctuation := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsPunct(r) {
				return -1
			}
			return r
		}, text)
	}
	return rougeN(1)(ctx, withoutPunctuation(output), withoutPunctuation(reference))
}

func rougeN(n int) func(context.Context, string, string) (similarity, error) {
	return func(_ context.Context, output, reference string) (similarity, error) {
		v := vocabulary{}
		candidate, other := ngrams(v.numbers(words(output)), n), ngrams(v.numbers(words(reference)), n)
		if len(other) == 0 {
			return similarity{}, errTooFewWords
		}
		parts := newPRF(overlap(candidate, other), total(candidate), total(other))
		return similarity{parts.F1, parts}, nil
	}
}

// rougeL is ROUGE-L of the whole text as one sequence of words.
func rougeL(ctx context.Context, output, reference string) (similarity, error) {
	v := vocabulary{}
	candidate, other := v.numbers(words(output)), v.numbers(words(reference))
	if len(other) == 0 {
		return similarity{}, errTooFewWords
	}
	shared, err := lcs(ctx, candidate, other)
	if errors.Is(err, errTooLongToCompare) {
		err = tooLong("rouge_l", "words", len(candidate), len(other))
	}
	parts := newPRF(shared, len(candidate), len(other))
	return similarity{parts.F1, parts}, err
}

// fuzzyMatch is the ratio of rapidfuzz: what insertions and deletions leave of both texts.
func fuzzyMatch(ctx context.Context, output, reference string) (similarity, error) {
	if output == reference {
		return similarity{score: 1}, nil
	}
	a, b := runes(output), runes(reference)
	shared, err := lcs(ctx, a, b)
	if errors.Is(err, errTooLongToCompare) {
		err = tooLong("fuzzy_match", "characters", len(a), len(b))
	}
	return similarity{score: 2 * float64(shared) / float64(len(a)+len(b))}, err
}

func runes(text string) []uint32 {
	list := make([]uint32, 0, len(text))
	for _, r := range text {
		list = append(list, uint32(r))
	}
	return list
}
