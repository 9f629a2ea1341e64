package agentview

import (
	"github.com/tiktoken-go/tokenizer"

	"github.com/looptrace/looptrace/controlplane/tokens"
	"github.com/looptrace/looptrace/internal/utf8text"
)

// counter counts tokens. The encoding splits text before it looks for tokens, and it splits after a newline that is followed by
// neither whitespace nor a slash. So the tokens of a text are the sum of the tokens of its pieces, if each ends with a newline and begins
// with neither. Every piece of a view does.
type counter struct {
	codec  tokenizer.Codec
	counts map[string]int // cache by text
}

// maxCachedCounts is the maximum size of counter.counts.
const maxCachedCounts = 20_000

func newCounter() *counter { return &counter{codec: tokens.Codec(), counts: map[string]int{}} }

func (c *counter) count(text string) int {
	if n, ok := c.counts[text]; ok {
		return n
	}
	n, err := c.codec.Count(text)
	if err != nil {
		// The pattern that splits text has no time limit, so this does not happen. A text has at most a token for each byte.
		n = len(text)
	}
	if len(c.counts) < maxCachedCounts {
		c.counts[text] = n
	}
	return n
}

// maxTokenBytes is how many bytes a token of ordinary text has at most. Rarer text is cut shorter.
const maxTokenBytes = 12

// head returns how many bytes about n tokens at the beginning of text take. text is valid UTF-8.
func (c *counter) head(text string, n int) int {
	part := text[:utf8text.RuneStart(text, min(len(text), n*maxTokenBytes))]
	_, pieces, err := c.codec.Encode(part)
	if err != nil || len(pieces) <= n {
		return len(part)
	}
	length := 0
	for _, piece := range pieces[:n] {
		length += len(piece)
	}
	return utf8text.RuneStart(text, length)
}

// tail returns how many bytes about n tokens at the end of text take.
func (c *counter) tail(text string, n int) int {
	from := utf8text.RuneStart(text, max(0, len(text)-n*maxTokenBytes))
	part := text[from:]
	_, pieces, err := c.codec.Encode(part)
	if err != nil || len(pieces) <= n {
		return len(part)
	}
	length := 0
	for _, piece := range pieces[len(pieces)-n:] {
		length += len(piece)
	}
	return len(text) - utf8text.NextRuneStart(text, len(text)-length)
}
