package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/internal/problem"
)

// keptHeaders are the headers of an answer that a retry gets too.
var keptHeaders = []string{"Content-Type", "Location"}

// keptAnswer is an answer as stored for retries.
type keptAnswer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

// idempotent answers the retry of a request with an Idempotency-Key with the first answer. Requests that earlier middleware refuses
// do not use up their key.
func (a *api) idempotent(c *gin.Context) {
	keys := c.Request.Header.Values(idempotency.Header)
	request := callOf(c.Request.Context())
	if !request.operation.idempotent || len(keys) == 0 {
		c.Next()
		return
	}
	if len(keys) > 1 {
		a.fail(c, problem.InvalidField("header."+idempotency.Header, "must be given once"))
		return
	}
	body, err := readAll(c, request.operation.maxBody)
	if err != nil {
		a.fail(c, err)
		return
	}
	claim, kept, err := a.idempotency.Begin(c.Request.Context(), request.principal, idempotency.Attempt{
		Operation: c.FullPath(), Key: keys[0], Request: append([]byte(c.Request.URL.RequestURI()+"\n"), body...),
	})
	switch {
	case err != nil:
		a.fail(c, err)
	case kept != nil:
		a.answerAgain(c, kept)
	default:
		a.answerOnce(c, claim)
	}
}

func (a *api) answerAgain(c *gin.Context, text []byte) {
	var kept keptAnswer
	if err := json.Unmarshal(text, &kept); err != nil {
		a.fail(c, fmt.Errorf("read the answer kept for a retry: %w", err))
		return
	}
	for name, value := range kept.Headers {
		c.Header(name, value)
	}
	c.Abort()
	c.Status(kept.Status)
	if _, err := c.Writer.Write(kept.Body); err != nil {
		a.unwritten(c, err)
	}
}

// answerOnce does the work and keeps the answer before it is sent. The work continues if the client disconnects, because a retry may ask
// for its answer. 5xx and 429 answers are not kept, because they ask for a retry, and neither are refusals of work that took too long, which
// another time may have enough of.
func (a *api) answerOnce(c *gin.Context, claim idempotency.Claim) {
	settled := context.WithoutCancel(c.Request.Context())
	working, cancel := context.WithTimeout(settled, idempotency.WorkTime)
	defer cancel()
	c.Request = c.Request.WithContext(working)
	held := &heldWriter{ResponseWriter: c.Writer, status: http.StatusOK}
	done := false
	c.Writer = held
	defer func() {
		c.Writer = held.ResponseWriter
		if !done { // also after a panic
			a.release(settled, claim)
		}
	}()
	c.Next()
	late := overdue(c.Request.Context()) != nil && held.status == http.StatusUnprocessableEntity
	if held.status < http.StatusInternalServerError && held.status != http.StatusTooManyRequests && !late {
		done = true
		a.keep(settled, claim, held)
	}
	held.ResponseWriter.WriteHeader(held.status)
	if _, err := held.ResponseWriter.Write(held.body.Bytes()); err != nil {
		c.Abort() // the client disconnected
	}
}

// keep stores an answer. If that fails, the client still gets the answer, because the work is done.
func (a *api) keep(ctx context.Context, claim idempotency.Claim, held *heldWriter) {
	kept := keptAnswer{Status: held.status, Headers: map[string]string{}, Body: held.body.Bytes()}
	for _, name := range keptHeaders {
		if value := held.Header().Get(name); value != "" {
			kept.Headers[name] = value
		}
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = a.idempotency.Keep(ctx, claim, text)
	}
	if err != nil {
		a.log.WarnContext(ctx, "the answer could not be kept for a retry", "request_id", callOf(ctx).id, "error", err)
	}
}

func (a *api) release(ctx context.Context, claim idempotency.Claim) {
	if err := a.idempotency.Release(ctx, claim); err != nil {
		a.log.WarnContext(ctx, "a retry key could not be released; it is free in a minute", "request_id", callOf(ctx).id, "error", err)
	}
}

// heldWriter buffers an answer.
type heldWriter struct {
	gin.ResponseWriter
	status int
	begun  bool
	body   bytes.Buffer
}

func (w *heldWriter) WriteHeader(status int) {
	if !w.begun {
		w.status = status
	}
}

func (w *heldWriter) WriteHeaderNow() { w.begun = true }

func (w *heldWriter) Write(text []byte) (int, error) {
	w.begun = true
	return w.body.Write(text)
}

func (w *heldWriter) WriteString(text string) (int, error) {
	w.begun = true
	return w.body.WriteString(text)
}

func (w *heldWriter) Status() int   { return w.status }
func (w *heldWriter) Size() int     { return w.body.Len() }
func (w *heldWriter) Written() bool { return w.begun }
