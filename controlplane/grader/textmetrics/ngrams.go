package textmetrics

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// vocabulary numbers tokens, so that n-grams are compared as numbers.
type vocabulary map[string]uint32

func (v vocabulary) numbers(tokens []string) []uint32 {
	numbers := make([]uint32, len(tokens))
	for i, token := range tokens {
		number, ok := v[token]
		if !ok {
			number = uint32(len(v))
			v[token] = number
		}
		numbers[i] = number
	}
	return numbers
}

// ngrams counts the n-grams of a text.
func ngrams(tokens []uint32, n int) map[string]int {
	counts := make(map[string]int, max(0, len(tokens)-n+1))
	bytes := make([]byte, 0, 4*len(tokens))
	for _, token := range tokens {
		bytes = binary.LittleEndian.AppendUint32(bytes, token)
	}
	text := string(bytes)
	for i := 0; i+n <= len(tokens); i++ {
		counts[text[4*i:4*(i+n)]]++
	}
	return counts
}

func total(counts map[string]int) int {
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return sum
}

// overlap counts the n-grams that two texts share.
func overlap(a, b map[string]int) int {
	sum := 0
	for ngram, count := range a {
		sum += min(count, b[ngram])
	}
	return sum
}

const maxOrder = 4 // of BLEU and GLEU

// BLEU is sentence BLEU as sacrebleu computes it: n-grams up to 4, fewer for shorter outputs, exponential smoothing, and the brevity
// penalty of the closest reference.
func BLEU(output string, references []string) float64 {
	v := vocabulary{}
	candidate := v.numbers(tokens13a(output))
	var others [][]uint32
	closest := -1
	for _, reference := range references {
		other := v.numbers(tokens13a(reference))
		others = append(others, other)
		difference := Abs(len(other) - len(candidate))
		if best := Abs(closest - len(candidate)); closest < 0 || difference < best || difference == best && len(other) < closest {
			closest = len(other)
		}
	}
	sum, order, smooth, matched := 0.0, 0, 1.0, false
	for n := 1; n <= maxOrder && len(candidate) >= n; n++ {
		own := ngrams(candidate, n)
		most := map[string]int{}
		for _, other := range others {
			for ngram, count := range ngrams(other, n) {
				most[ngram] = max(most[ngram], count)
			}
		}
		order = n
		shared, all := overlap(own, most), len(candidate)-n+1
		if shared > 0 {
			matched = true
			sum += math.Log(float64(shared) / float64(all))
			continue
		}
		smooth *= 2
		sum += math.Log(1 / (smooth * float64(all)))
	}
	if !matched {
		return 0
	}
	penalty := 1.0
	if len(candidate) < closest {
		penalty = math.Exp(1 - float64(closest)/float64(len(candidate)))
	}
	return penalty * math.Exp(sum/float64(order))
}

// Abs returns the absolute value of n.
func Abs(n int) int { return max(n, -n) }

// gleu is the sentence GLEU of Wu et al. 2016: the smaller of precision and recall of all n-grams up to 4, as NLTK computes it.
func gleu(output, reference string) float64 {
	v := vocabulary{}
	candidate, other := v.numbers(tokens13a(output)), v.numbers(tokens13a(reference))
	shared, own, wanted := 0, 0, 0
	for n := 1; n <= maxOrder; n++ {
		shared += overlap(ngrams(candidate, n), ngrams(other, n))
		own += max(0, len(candidate)-n+1)
		wanted += max(0, len(other)-n+1)
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(max(own, wanted))
}

// PRF is a precision, a recall and their harmonic mean.
type PRF struct {
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
}

// NewPRF is that of what is shared between what was produced and what was wanted.
func NewPRF(shared, produced, wanted int) PRF {
	if shared == 0 {
		return PRF{}
	}
	p, r := float64(shared)/float64(produced), float64(shared)/float64(wanted)
	return PRF{p, r, 2 * p * r / (p + r)}
}

// meteor is the METEOR of Lavie and Agarwal 2007 with its exact module only: words match if they are equal but for case, not by stem
// or synonym. The rest is as in NLTK.
func meteor(output, reference string) float64 {
	candidate, other := tokens13a(strings.ToLower(output)), tokens13a(strings.ToLower(reference))
	positions := map[string][]int{}
	for i, word := range other {
		positions[word] = append(positions[word], i)
	}
	type pair struct{ own, other int }
	var pairs []pair
	for i := len(candidate) - 1; i >= 0; i-- {
		at := positions[candidate[i]]
		if len(at) == 0 {
			continue
		}
		pairs = append(pairs, pair{i, at[len(at)-1]})
		positions[candidate[i]] = at[:len(at)-1]
	}
	if len(pairs) == 0 {
		return 0
	}
	slices.Reverse(pairs)
	chunks := 1
	for i := 1; i < len(pairs); i++ {
		if pairs[i].own != pairs[i-1].own+1 || pairs[i].other != pairs[i-1].other+1 {
			chunks++
		}
	}
	const alpha, gamma = 0.9, 0.5
	matches := float64(len(pairs))
	p, r := matches/float64(len(candidate)), matches/float64(len(other))
	fragmentation := float64(chunks) / matches
	return (1 - gamma*fragmentation*fragmentation*fragmentation) * p * r / (alpha*p + (1-alpha)*r)
}
