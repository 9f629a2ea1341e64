package textmetrics

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// MaxSimilarity limits the texts. Counting the n-grams of a megabyte takes a second or two.
const MaxSimilarity = 2 << 20

// Similarity is a score with what it is made of.
type Similarity struct {
	Score float64
	Parts any
}

// Metrics compare a text with one reference. bleu is not among them: it takes all references at once.
var Metrics = map[string]func(ctx context.Context, output, reference string) (Similarity, error){
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

// MetricNames returns the names of all metrics, sorted.
func MetricNames() []string {
	names := append(slices.Sorted(maps.Keys(Metrics)), "bleu")
	slices.Sort(names)
	return names
}

func linear(metric func(output, reference string) float64) func(context.Context, string, string) (Similarity, error) {
	return func(_ context.Context, output, reference string) (Similarity, error) {
		return Similarity{Score: metric(output, reference)}, nil
	}
}

// ErrTooFewWords says that there is nothing to compare with.
var ErrTooFewWords = errors.New("the reference has fewer words than the metric counts together")

// tokenF1 is the F1 of SQuAD without its removal of English articles: of the words in lower case, without punctuation.
func tokenF1(ctx context.Context, output, reference string) (Similarity, error) {
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

func rougeN(n int) func(context.Context, string, string) (Similarity, error) {
	return func(_ context.Context, output, reference string) (Similarity, error) {
		v := vocabulary{}
		candidate, other := ngrams(v.numbers(words(output)), n), ngrams(v.numbers(words(reference)), n)
		if len(other) == 0 {
			return Similarity{}, ErrTooFewWords
		}
		parts := NewPRF(overlap(candidate, other), total(candidate), total(other))
		return Similarity{parts.F1, parts}, nil
	}
}

// rougeL is ROUGE-L of the whole text as one sequence of words.
func rougeL(ctx context.Context, output, reference string) (Similarity, error) {
	v := vocabulary{}
	candidate, other := v.numbers(words(output)), v.numbers(words(reference))
	if len(other) == 0 {
		return Similarity{}, ErrTooFewWords
	}
	shared, err := LCS(ctx, candidate, other)
	if errors.Is(err, errTooLongToCompare) {
		err = TooLong("rouge_l", "words", len(candidate), len(other))
	}
	parts := NewPRF(shared, len(candidate), len(other))
	return Similarity{parts.F1, parts}, err
}

// fuzzyMatch is the ratio of rapidfuzz: what insertions and deletions leave of both texts.
func fuzzyMatch(ctx context.Context, output, reference string) (Similarity, error) {
	if output == reference {
		return Similarity{Score: 1}, nil
	}
	a, b := runes(output), runes(reference)
	shared, err := LCS(ctx, a, b)
	if errors.Is(err, errTooLongToCompare) {
		err = TooLong("fuzzy_match", "characters", len(a), len(b))
	}
	return Similarity{Score: 2 * float64(shared) / float64(len(a)+len(b))}, err
}

func runes(text string) []uint32 {
	list := make([]uint32, 0, len(text))
	for _, r := range text {
		list = append(list, uint32(r))
	}
	return list
}
