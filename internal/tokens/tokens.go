// Package tokens gives the encodings in which tokens are counted. Each takes tens of megabytes, so the process has one of each.
package tokens

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// Encodings in which tokens are counted.
const (
	EncodingO200k  = "o200k_base"
	EncodingCL100k = "cl100k_base"
)

var codecs = map[string]func() (tokenizer.Codec, error){
	EncodingO200k:  sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) }),
	EncodingCL100k: sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.Cl100kBase) }),
}

// Codec returns an encoding. It is loaded at its first use.
func Codec(encoding string) (tokenizer.Codec, error) {
	load, ok := codecs[encoding]
	if !ok {
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
	codec, err := load()
	if err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", encoding, err)
	}
	return codec, nil
}
