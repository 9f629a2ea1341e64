// Package tokens gives the encoding in which tokens are counted. It takes tens of megabytes, so the process has one.
package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Encoding is the name of the encoding.
const Encoding = "o200k_base"

// Codec returns the encoding. It is loaded at its first use.
var Codec = sync.OnceValue(codec.NewO200kBase)
