package textmetrics

import (
	"regexp"
	"strings"
	"unicode"
)

// words are the words of a text in lower case: sequences of letters, marks and digits. For ASCII these are the tokens of rouge-score.
// Characters of scripts without spaces between words are words of their own.
func words(text string) []string {
	var list []string
	text = strings.ToLower(text)
	begin := -1
	flush := func(end int) {
		if begin >= 0 {
			list = append(list, text[begin:end])
			begin = -1
		}
	}
	for i, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			flush(i)
			list = append(list, string(r))
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			if begin < 0 {
				begin = i
			}
		default:
			flush(i)
		}
	}
	flush(len(text))
	return list
}

// steps13a are those of mteval-v13a, as in sacrebleu.
var steps13a = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile("([{-~\\[-` -&(-+:-@/])"), " $1 "},
	{regexp.MustCompile(`([^0-9])([.,])`), "$1 $2 "},
	{regexp.MustCompile(`([.,])([^0-9])`), " $1 $2"},
	{regexp.MustCompile(`([0-9])(-)`), "$1 $2 "},
}

var entities13a = strings.NewReplacer("&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">")

// tokens13a are the tokens of mteval-v13a, which BLEU is published with.
func tokens13a(text string) []string {
	text = strings.ReplaceAll(text, "<skipped>", "")
	text = strings.ReplaceAll(text, "-\n", "")
	text = strings.ReplaceAll(text, "\n", " ")
	text = " " + entities13a.Replace(text) + " "
	for _, step := range steps13a {
		text = step.pattern.ReplaceAllString(text, step.replacement)
	}
	return strings.Fields(text)
}
