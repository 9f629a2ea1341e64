package provider

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// answer writes the reply to one request.
type answer struct {
	w       http.ResponseWriter
	r       *http.Request
	server  *Server
	request *Request
}

// event is an event of a stream.
type event struct {
	name  string // Anthropic's
	data  any
	text  string // of a token
	token bool
}

func (a *answer) end() {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	a.request.Ended = time.Now()
}

func (a *answer) gone() {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	a.request.Gone = true
}

// send writes a reply.
func (a *answer) send(reply *Reply) {
	if reply.Fault == Stall {
		a.stall()
		return
	}
	chat := reply.Error == nil && reply.Raw == nil
	isStream := a.request.Stream && (chat || reply.Fault == ErrorEvent)
	if chat || isStream {
		reply.complete(a.request)
	}
	if a.request.Protocol != Anthropic || !isStream {
		wait := reply.FirstToken
		if chat && !isStream {
			wait += time.Duration(max(reply.tokens()-1, 0)) * reply.PerToken
		}
		if !a.wait(time.Now().Add(wait)) {
			return
		}
	}
	switch {
	case reply.Raw != nil:
		a.raw(reply)
	case !isStream && (reply.Error != nil || reply.Fault == ErrorEvent):
		a.fail(reply)
	case isStream:
		a.stream(reply)
	default:
		a.body(reply)
	}
}

// wait waits until a time. It returns false when the client has gone away.
func (a *answer) wait(until time.Time) bool {
	left := time.Until(until)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.r.Context().Done():
		a.gone()
		return false
	}
}

func (a *answer) stall() {
	<-a.r.Context().Done()
	a.gone()
}

// start sends the status and the header.
func (a *answer) start(status int, contentType string, extra http.Header) {
	header := a.w.Header()
	header.Set("Content-Type", contentType)
	a.identify(header)
	maps.Copy(header, extra)
	a.server.mu.Lock()
	a.request.Status = status
	a.server.mu.Unlock()
	a.w.WriteHeader(status)
}

// identify sets the headers that the providers send with every answer.
func (a *answer) identify(header http.Header) {
	reset := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	switch a.request.Protocol {
	case Anthropic:
		header.Set("Request-Id", a.requestID())
		header.Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000000")
		header.Set("Anthropic-Ratelimit-Requests-Limit", "4000")
		header.Set("Anthropic-Ratelimit-Requests-Remaining", "3999")
		header.Set("Anthropic-Ratelimit-Requests-Reset", reset)
		header.Set("Anthropic-Ratelimit-Tokens-Limit", "480000")
		header.Set("Anthropic-Ratelimit-Tokens-Remaining", "479000")
		header.Set("Anthropic-Ratelimit-Tokens-Reset", reset)
	case Azure:
		header.Set("Apim-Request-Id", a.requestID())
		header.Set("X-Ms-Region", "Sweden Central")
		fallthrough
	default:
		header.Set("X-Request-Id", a.requestID())
		header.Set("Openai-Organization", "org-scripted")
		header.Set("Openai-Version", "2020-10-01")
		header.Set("Openai-Processing-Ms", strconv.FormatInt(time.Since(a.request.At).Milliseconds(), 10))
		header.Set("X-Ratelimit-Limit-Requests", "10000")
		header.Set("X-Ratelimit-Remaining-Requests", "9999")
		header.Set("X-Ratelimit-Reset-Requests", "6ms")
		header.Set("X-Ratelimit-Limit-Tokens", "30000000")
		header.Set("X-Ratelimit-Remaining-Tokens", "29999000")
		header.Set("X-Ratelimit-Reset-Tokens", "2ms")
	}
}

func (a *answer) requestID() string {
	if a.request.Protocol == Anthropic {
		return a.request.id("req_011C", "request", 20)
	}
	return a.request.id("req_", "request", 32)
}

// id makes up an id that belongs to the request: equal for equal seeds and numbers.
func (r *Request) id(prefix, purpose string, length int) string {
	const letters = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	source := r.random("id " + purpose + " " + strconv.Itoa(r.Number))
	id := []byte(prefix)
	for range length {
		id = append(id, letters[source.IntN(len(letters))])
	}
	return string(id)
}

func (a *answer) raw(reply *Reply) {
	contentType := "text/html"
	if reply.Raw.Header.Get("Content-Type") != "" {
		contentType = reply.Raw.Header.Get("Content-Type")
	}
	header := maps.Clone(reply.Header)
	if header == nil {
		header = http.Header{}
	}
	maps.Copy(header, reply.Raw.Header)
	a.start(reply.Raw.Status, contentType, header)
	for range max(reply.Raw.Repeat, 1) {
		if !a.write([]byte(reply.Raw.Body)) {
			return
		}
	}
}

func (a *answer) fail(reply *Reply) {
	failure := reply.Error
	if failure == nil {
		failure = overloaded(a.request.Protocol)
	}
	a.start(failure.Status, "application/json", reply.Header)
	a.write(jsontext.MustEncode(failure.body(a.request.Protocol, a.requestID())))
}

// body sends an answer that is no stream.
func (a *answer) body(reply *Reply) {
	var body []byte
	if a.request.Protocol == Anthropic {
		body = jsontext.MustEncode(anthropicMessage(a.request, reply))
	} else {
		body = jsontext.MustEncode(openAICompletion(a.request, reply))
	}
	half := body[:len(body)/2]
	switch reply.Fault {
	case BadJSON, BadSSE, Cut:
		body = half
	case Reset, StallStream:
		a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		body = half
	}
	a.start(http.StatusOK, "application/json", reply.Header)
	if !a.write(body) {
		return
	}
	switch reply.Fault {
	case Reset:
		a.flush()
		a.reset()
	case StallStream:
		a.flush()
		a.stall()
	}
}

// stream sends an answer as server-sent events.
func (a *answer) stream(reply *Reply) {
	var events []event
	if a.request.Protocol == Anthropic {
		events = anthropicEvents(a.request, reply)
	} else {
		events = openAIEvents(a.request, reply)
	}
	a.w.Header().Set("Cache-Control", "no-cache")
	a.start(http.StatusOK, "text/event-stream; charset=utf-8", reply.Header)
	breaks := breakAt(events, reply)
	due := time.Now()
	if a.request.Protocol == Anthropic {
		due = due.Add(reply.FirstToken)
	}
	for i, e := range events {
		if i == breaks && !a.fault(reply) {
			return
		}
		if e.token {
			a.flush()
			if !a.wait(due) {
				return
			}
			due = due.Add(reply.PerToken)
			a.server.mu.Lock()
			a.request.Sent = append(a.request.Sent, Token{At: time.Now(), Text: e.text})
			a.server.mu.Unlock()
		}
		if !a.write(line(e)) {
			return
		}
		if e.token {
			a.flush()
		}
	}
	if breaks == len(events) && !a.fault(reply) {
		return
	}
	a.flush()
	if a.r.Context().Err() != nil {
		a.gone()
	}
}

// breakAt returns the event before which the fault occurs: that after the given number of tokens, or after the last.
func breakAt(events []event, reply *Reply) int {
	if reply.Fault == "" {
		return -1
	}
	seen, after := 0, 0
	for i, e := range events {
		if e.token && seen == reply.After {
			return i
		}
		if e.token {
			seen, after = seen+1, i+1
		}
	}
	return after
}

// fault breaks a stream and tells whether it goes on.
func (a *answer) fault(reply *Reply) bool {
	a.flush()
	switch reply.Fault {
	case StallStream:
		a.stall()
	case Reset:
		a.reset()
	case ErrorEvent:
		failure := reply.Error
		if failure == nil {
			failure = overloaded(a.request.Protocol)
		}
		e := event{data: failure.body(a.request.Protocol, a.requestID())}
		if a.request.Protocol == Anthropic {
			e.name = "error"
		}
		a.write(line(e))
	case BadJSON:
		name := map[Protocol]string{Anthropic: "content_block_delta"}[a.request.Protocol]
		return a.write([]byte(prefix(name) + "data: {\"choices\": [{\"delta\": {\"content\": \"bro\n\n"))
	case BadSSE:
		a.write([]byte("<html>\r\n<body>upstream connect error or disconnect/reset before headers</body>\r\n</html>\r\n"))
	}
	return false
}

// line is an event as it is sent.
func line(e event) []byte {
	if text, ok := e.data.(string); ok {
		return []byte("data: " + text + "\n\n")
	}
	return fmt.Appendf(nil, "%sdata: %s\n\n", prefix(e.name), jsontext.MustEncode(e.data))
}

func prefix(name string) string {
	if name == "" {
		return ""
	}
	return "event: " + name + "\n"
}

func (a *answer) write(data []byte) bool {
	if _, err := a.w.Write(data); err != nil || a.r.Context().Err() != nil {
		a.gone()
		return false
	}
	return true
}

func (a *answer) flush() {
	_ = http.NewResponseController(a.w).Flush() // a broken connection is noticed by write and wait
}

// reset closes the connection so that the client is told of an error.
func (a *answer) reset() {
	connection, _, err := http.NewResponseController(a.w).Hijack()
	if err != nil {
		a.gone()
		return
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // otherwise the end would be clean
	}
	_ = connection.Close()
}

// draw returns a source for what varies with the seed, the request and its repetition.
func (r *Request) draw(purpose string) *rand.Rand {
	return r.random(purpose + " " + strconv.Itoa(r.Repeat))
}
