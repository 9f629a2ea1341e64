package diagnoses

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

const (
	// minQuote is how many characters a quote has at least, and minWord how many of them are letters or digits: less stands anywhere.
	minQuote, minWord = 8, 4
	// maxQuote is how many characters a quote has at most.
	maxQuote = 2000
)

// Quote is a recorded text that a claim quotes.
type Quote struct {
	// Text is as it was recorded, which may differ from the model's in white space and in how characters are composed.
	Text string `json:"text"`
	// Field is the member of the step that has it, for example output_messages[0].parts[1] or tool.result.
	Field string `json:"field"`
	// Offset and Length count Unicode code points of the field's text.
	Offset int `json:"offset"`
	Length int `json:"length"`
}

// field is a text of a step.
type field struct{ name, text string }

// fieldsOf returns the texts of a step, what it did before what it was given. Messages are read as in agent views, which the model has
// seen: texts plainly, and calls of tools as name(arguments).
func fieldsOf(span *runs.Span) []field {
	list := []field{
		{"error", strings.Trim(span.ErrorType+": "+span.ErrorMessage, ": ")},
		{"error.stack", span.ErrorStack},
		{"tool.result", span.ToolResult},
		{"tool.arguments", span.ToolArguments},
	}
	for i, raw := range span.OutputMessages {
		list = appendMessage(list, fmt.Sprintf("output_messages[%d]", i), raw)
	}
	if span.Outputs != nil {
		list = append(list, field{"outputs", *span.Outputs})
	}
	for i, raw := range span.InputMessages {
		list = appendMessage(list, fmt.Sprintf("input_messages[%d]", i), raw)
	}
	if span.Inputs != nil {
		list = append(list, field{"inputs", *span.Inputs})
	}
	for i, raw := range span.SystemInstructions {
		list = append(list, field{fmt.Sprintf("system_instructions[%d]", i), instructionOf(raw)})
	}
	for i, raw := range span.ToolDefinitions {
		list = append(list, field{fmt.Sprintf("tool_definitions[%d]", i), string(raw)})
	}
	return list
}

// appendMessage adds the texts of a message.
func appendMessage(list []field, name string, raw []byte) []field {
	message, ok := runmodel.ReadMessage(raw)
	if !ok {
		return append(list, field{name, runmodel.PlainJSON(raw)}) // not a message of the conventions
	}
	for i := range message.Parts {
		list = append(list, field{fmt.Sprintf("%s.parts[%d]", name, i), message.Parts[i].Text()})
	}
	return list
}

// find looks a quote up in the texts of a step. It is found if a text has it exactly after both are normalized to NFC, with white space
// folded to single spaces. It must not end inside of a character that people see.
func find(fields []field, quote string) (Quote, bool) {
	wanted, ok := quotable(quote)
	if !ok {
		return Quote{}, false
	}
	for _, f := range fields {
		if from, to, ok := locate(f.text, wanted); ok {
			return Quote{
				Text: f.text[from:to], Field: f.name,
				Offset: utf8.RuneCountInString(f.text[:from]), Length: utf8.RuneCountInString(f.text[from:to]),
			}, true
		}
	}
	return Quote{}, false
}

// quotable returns a quote as it is looked up, false if it is too short or too long to say anything.
func quotable(quote string) (string, bool) {
	if len(quote) > maxQuote*utf8.UTFMax {
		return "", false
	}
	folded := strings.TrimSpace(foldText(quote))
	length, words := 0, 0
	for i, r := range folded {
		if i == 0 && unicode.Is(unicode.M, r) {
			return "", false // it begins inside of a character
		}
		length++
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			words++
		}
	}
	return folded, minQuote <= length && length <= maxQuote && words >= minWord
}

// locate returns where a text has a folded quote, in bytes of the text.
func locate(text, quote string) (from, to int, ok bool) {
	folded := foldText(text)
	for start := 0; ; {
		at := strings.Index(folded[start:], quote)
		if at < 0 {
			return 0, 0, false
		}
		at += start
		end := at + len(quote)
		if next, _ := utf8.DecodeRuneInString(folded[end:]); !unicode.Is(unicode.M, next) {
			from, to = originOf(text, at, end)
			return from, to, true
		}
		start = at + 1
	}
}

// foldText normalizes a text to NFC, with each run of white space as one space.
func foldText(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	fold(text, func(piece []byte, _, _ int) bool {
		b.Write(piece)
		return true
	})
	return b.String()
}

// originOf returns which bytes of a text became the bytes from at to end of the folded one.
func originOf(text string, at, end int) (from, to int) {
	written, begun := 0, false
	fold(text, func(piece []byte, start, stop int) bool {
		if !begun && written+len(piece) > at {
			from, begun = start, true
		}
		written += len(piece)
		to = stop
		return written < end
	})
	return from, to
}

// fold calls emit with each piece of the folded text, and the bytes of the text from which it was made, until emit returns false.
func fold(text string, emit func(piece []byte, start, stop int) bool) {
	var iter norm.Iter
	iter.InitString(norm.NFC, text)
	space := false
	for !iter.Done() {
		start := iter.Pos()
		piece := iter.Next()
		r, size := utf8.DecodeRune(piece)
		if size == len(piece) && unicode.IsSpace(r) {
			if space {
				continue
			}
			space, piece = true, []byte{' '}
		} else {
			space = false
		}
		if !emit(piece, start, iter.Pos()) {
			return
		}
	}
}
