package provider

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Protocol is whose API a request was sent to.
type Protocol string

// Protocols of the server.
const (
	OpenAI    Protocol = "openai"
	Azure     Protocol = "azure" // OpenAI's under /openai/deployments, with Azure's errors and content filter results
	Anthropic Protocol = "anthropic"
)

// Request is a request to the server and what became of it.
type Request struct {
	// Number counts the requests from 1, in order of arrival.
	Number int
	At     time.Time
	Method string
	Host   string
	// URI is the path with its query, as sent.
	URI    string
	Header http.Header
	Body   []byte

	Protocol Protocol
	// Model is empty where models are listed. For Azure it is the deployment.
	Model  string
	Stream bool

	// What was read from the body.
	Messages []Message
	Tools    []Tool
	// ToolChoice is empty for the model's choice, "none", "required", or the name of a tool.
	ToolChoice string
	// Parallel is false where at most one tool may be called.
	Parallel bool
	// Schema is the JSON schema of the answer, nil where none was asked for.
	Schema json.RawMessage
	// JSONObject is true where any JSON object was asked for.
	JSONObject bool
	// MaxTokens is 0 for no limit.
	MaxTokens int
	Stop      []string
	// Thinks is true where Anthropic's thinking was switched on.
	Thinks bool

	// Repeat counts the earlier requests with the same body.
	Repeat int

	// Status is the HTTP status that was sent, 0 where none was.
	Status int
	// Sent has the tokens of a stream, in order.
	Sent []Token
	// Gone is true when the client went away before the end.
	Gone bool
	// Ended is zero while the request is being answered.
	Ended time.Time

	seed         uint64
	includeUsage bool
	obfuscate    bool
}

// Token is a piece of a stream.
type Token struct {
	// At is the time just before it was written to the connection.
	At   time.Time
	Text string
}

// Message is a message of a request. Anthropic's system prompt is a message of the role system.
type Message struct {
	Role   string
	Text   string
	Images int
	// Calls are the ids of the tool calls in it.
	Calls []string
	// Results are the ids of the tool calls that it answers.
	Results []string
	// reasons is true where it begins with a thinking block.
	reasons bool
}

// Tool is a tool that the request offers.
type Tool struct {
	Name   string
	Schema json.RawMessage
}

// Prompt returns the texts of all messages, one after the other.
func (r *Request) Prompt() string {
	texts := make([]string, len(r.Messages))
	for i, m := range r.Messages {
		texts[i] = m.Text
	}
	return strings.Join(texts, "\n")
}

// Last returns the text of the last message.
func (r *Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Draw returns a number of [0, 1) that depends on the server's seed, the body and the purpose alone.
func (r *Request) Draw(purpose string) float64 { return r.random(purpose).Float64() }

func (r *Request) random(purpose string) *rand.Rand {
	hash := sha256.New()
	_ = binary.Write(hash, binary.LittleEndian, r.seed) // a hash takes all
	_, _ = hash.Write(r.Body)
	_, _ = hash.Write([]byte("\x00" + purpose))
	sum := hash.Sum(nil)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])))
}

// answersTools tells whether the last message has results of tools.
func (r *Request) answersTools() bool {
	return len(r.Messages) > 0 && len(r.Messages[len(r.Messages)-1].Results) > 0
}

// inputTokens is a rough count: four bytes to a token, 85 to an image.
func (r *Request) inputTokens() int {
	count := 3
	for _, m := range r.Messages {
		count += 4 + (len(m.Text)+3)/4 + 85*m.Images
	}
	for _, t := range r.Tools {
		count += (len(t.Name) + len(t.Schema) + 3) / 4
	}
	return count
}

// content reads content that is a string or a list of parts, of either protocol.
func content(raw json.RawMessage) (text string, parts []part, err error) {
	if jsontext.IsNull(raw) {
		return "", nil, nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, nil, err
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", nil, err
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), parts, nil
}

// part is a content part of OpenAI or a content block of Anthropic.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
}
