package agentview

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// Encodings in which a budget is counted.
const (
	EncodingO200k  = "o200k_base"
	EncodingCL100k = "cl100k_base"
)

var codecs = map[string]func() (tokenizer.Codec, error){
	EncodingO200k:  sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) }),
	EncodingCL100k: sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.Cl100kBase) }),
}

// counter counts tokens. Both encodings cut text before they look for tokens, and they cut after a newline that is
// followed by neither whitespace nor a slash. So the tokens of a text are the sum of the tokens of its pieces, where
// each ends with a newline and begins with neither. Every piece of a view is such a piece.
type counter struct {
	codec  tokenizer.Codec
	counts map[string]int // of what was counted already
}

// maxRemembered bounds counter.counts.
const maxRemembered = 20_000

func newCounter(encoding string) (*counter, error) {
	codec, ok := codecs[encoding]
	if !ok {
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
	c, err := codec()
	if err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", encoding, err)
	}
	return &counter{codec: c, counts: map[string]int{}}, nil
}

func (c *counter) count(text string) int {
	if n, ok := c.counts[text]; ok {
		return n
	}
	n, err := c.codec.Count(text)
	if err != nil {
		// The expression that cuts text has no time limit, so that there is none to run into. Were there an error,
		// a token for each byte is more than there can be.
		n = len(text)
	}
	if len(c.counts) < maxRemembered {
		c.counts[text] = n
	}
	return n
}

// widest is how many bytes of ordinary text n tokens take at most; rarer text is cut shorter.
const widest = 12

// head is how many bytes at the beginning of text about n tokens take; text is valid UTF-8.
func (c *counter) head(text string, n int) int {
	part := text[:boundary(text, min(len(text), n*widest))]
	_, pieces, err := c.codec.Encode(part)
	if err != nil || len(pieces) <= n {
		return len(part)
	}
	length := 0
	for _, piece := range pieces[:n] {
		length += len(piece)
	}
	return boundary(text, length)
}

// tail is how many bytes at the end of text about n tokens take.
func (c *counter) tail(text string, n int) int {
	from := boundary(text, max(0, len(text)-n*widest))
	part := text[from:]
	_, pieces, err := c.codec.Encode(part)
	if err != nil || len(pieces) <= n {
		return len(part)
	}
	length := 0
	for _, piece := range pieces[len(pieces)-n:] {
		length += len(piece)
	}
	return len(text) - forward(text, len(text)-length)
}

// boundary is the last place at or before i where a character begins.
func boundary(text string, i int) int {
	for i > 0 && i < len(text) && text[i]&0xC0 == 0x80 {
		i--
	}
	return i
}

// forward is the first place at or after i where a character begins.
func forward(text string, i int) int {
	for i < len(text) && text[i]&0xC0 == 0x80 {
		i++
	}
	return i
}
