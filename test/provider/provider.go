package provider

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options of a server.
type Options struct {
	// Key is the only key that is accepted. Start makes one up where it is empty.
	Key string
	// Seed decides what varies: see Request.Draw.
	Seed uint64
	// Answer replies to a request, or returns nil to leave it to the model of its name. It is called by many requests at
	// once. Of its reply to a listing of models only Error, Raw, Header and FirstToken count.
	Answer func(*Request) *Reply
}

// Server is a provider of models that answers from a script.
type Server struct {
	// URL is the address without a path: the base URL for Anthropic. OpenAI's is URL + "/v1".
	URL string
	Key string

	options  Options
	http     *http.Server
	mu       sync.Mutex
	requests []*Request
	queue    []Reply
	repeats  map[[sha256.Size]byte]int
}

// Start starts a server that ends with the test.
func Start(tb testing.TB, options Options) *Server {
	tb.Helper()
	if options.Key == "" {
		var random [20]byte
		_, _ = rand.Read(random[:]) // never fails
		options.Key = "sk-scripted-" + hex.EncodeToString(random[:])
	}
	server, err := Listen(tb.Context(), "127.0.0.1:0", options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

// Listen starts a server on an address. It serves until it is closed.
func Listen(ctx context.Context, address string, options Options) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for requests to models: %w", err)
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), Key: options.Key, options: options,
		repeats: map[[sha256.Size]byte]int{},
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // of connections that were broken on purpose
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("serve models: %v", err))
		}
	}()
	return s, nil
}

// Close breaks all connections.
func (s *Server) Close() error {
	if err := s.http.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the provider: %w", err)
	}
	return nil
}

// Next queues replies to the next requests for an answer, one for each, whatever their model. It precedes
// Options.Answer and the models.
func (s *Server) Next(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Requests returns what arrived so far, in order, including requests that were refused.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
		all[i].Sent = slices.Clone(r.Sent)
	}
	return all
}

// record numbers a request and shows it to Requests.
func (s *Server) record(request *Request) {
	sum := sha256.Sum256(request.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	request.Number, request.Repeat = len(s.requests)+1, s.repeats[sum]
	s.repeats[sum]++
	s.requests = append(s.requests, request)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	request := &Request{
		At: time.Now(), Method: r.Method, Host: r.Host, URI: r.RequestURI, Header: r.Header.Clone(), Protocol: protocolOf(r),
		Parallel: true, seed: s.options.Seed,
	}
	answer := &answer{w: w, r: r, server: s, request: request}
	var err error
	if request.Body, err = io.ReadAll(r.Body); err != nil {
		request.Gone, request.Ended = true, time.Now()
		s.record(request)
		return
	}
	refusal := s.refuse(request, r)
	s.record(request)
	defer answer.end()
	if refusal != nil {
		answer.send(&Reply{Error: refusal})
		return
	}
	answer.send(s.reply(request, r))
}

// protocolOf tells whose API a request means.
func protocolOf(r *http.Request) Protocol {
	switch {
	case strings.HasPrefix(r.URL.Path, "/openai/deployments/"):
		return Azure
	case strings.HasSuffix(r.URL.Path, "/messages"), r.Header.Get("Anthropic-Version") != "", r.Header.Get("X-Api-Key") != "":
		return Anthropic
	default:
		return OpenAI
	}
}

// basePaths are those of OpenAI, of Azure's newer API, and of a compatible server whose base URL does not end in /v1.
var basePaths = []string{"/v1", "/openai/v1", "/compatible"}

// operation returns what a path asks for: chat, models, model, or nothing that is known.
func operation(r *http.Request, protocol Protocol) (name, model string) {
	path, base := r.URL.Path, "/v1"
	switch protocol {
	case Azure:
		deployment, rest, _ := strings.Cut(strings.TrimPrefix(path, "/openai/deployments/"), "/")
		if rest == "chat/completions" && r.Method == http.MethodPost && r.URL.Query().Get("api-version") != "" {
			return "chat", deployment
		}
		return "", ""
	case OpenAI:
		for _, b := range basePaths {
			if strings.HasPrefix(path, b+"/") {
				base = b
			}
		}
	}
	chat := map[Protocol]string{OpenAI: "/chat/completions", Anthropic: "/messages"}[protocol]
	rest, found := strings.CutPrefix(path, base)
	switch {
	case found && rest == chat && r.Method == http.MethodPost:
		return "chat", ""
	case found && rest == "/models" && r.Method == http.MethodGet:
		return "models", ""
	case found && strings.HasPrefix(rest, "/models/") && r.Method == http.MethodGet:
		return "model", strings.TrimPrefix(rest, "/models/")
	}
	return "", ""
}

// refuse checks the path, the key and the body.
func (s *Server) refuse(request *Request, r *http.Request) *Error {
	name, model := operation(r, request.Protocol)
	if name == "" {
		return unknownPath(request.Protocol, r)
	}
	if refusal := s.authenticate(request.Protocol, r.Header); refusal != nil {
		return refusal
	}
	request.Model = model
	if name != "chat" {
		return nil
	}
	if request.Protocol == Anthropic {
		return readAnthropic(request)
	}
	return readOpenAI(request)
}

func (s *Server) authenticate(protocol Protocol, header http.Header) *Error {
	bearer, _ := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	switch protocol {
	case Anthropic:
		key := header.Get("X-Api-Key")
		switch {
		case key == "" && bearer == "":
			return &Error{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "x-api-key header is required"}
		case key != s.Key && bearer != s.Key:
			return &Error{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "invalid x-api-key"}
		case header.Get("Anthropic-Version") == "":
			return invalid("anthropic-version: header is required")
		}
	default:
		if key := header.Get("Api-Key"); key != "" && key == s.Key || bearer == s.Key {
			return nil
		}
		return wrongKey(protocol, bearer)
	}
	return nil
}

// reply finds the reply to a request that is in order.
func (s *Server) reply(request *Request, r *http.Request) *Reply {
	name, _ := operation(r, request.Protocol)
	if name == "chat" {
		s.mu.Lock()
		if len(s.queue) > 0 {
			reply := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			reply.ToolCalls = slices.Clone(reply.ToolCalls)
			return &reply
		}
		s.mu.Unlock()
	}
	if s.options.Answer != nil {
		if reply := s.options.Answer(request); reply != nil {
			return reply
		}
	}
	if name != "chat" {
		return listing(name, request)
	}
	return modelReply(request, r)
}
