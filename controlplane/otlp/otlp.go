// Package otlp writes runs as OTLP/JSON, with their scores as events of OpenTelemetry's GenAI conventions.
package otlp

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// maxLine is the size from which spans go into another line, in bytes. The Collector's otlpjsonfile receiver reads lines up to 1 MiB
// unless its max_log_size says otherwise, and ingest reads requests up to 20 MiB.
const maxLine = 1_000_000

// Writer writes runs as OTLP/JSON, one ExportTraceServiceRequest per line. A line has spans of one run.
type Writer struct {
	to      *json.Encoder
	of      runScores
	request request
	size    int
}

// runScores is what a run's spans do not say.
type runScores struct {
	root   uint64
	scores []runmodel.Score
}

// NewWriter returns a writer to a file. Close ends the file.
func NewWriter(to io.Writer) *Writer {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return &Writer{to: encoder}
}

// Run begins a run. Its spans follow.
func (o *Writer) Run(r *runs.Run) error {
	if err := o.flush(); err != nil {
		return err
	}
	o.of = runScores{r.RootSpanID, r.OwnScores}
	return nil
}

// Span writes a span.
func (o *Writer) Span(s *runs.Span) error {
	var ofRun []runmodel.Score
	if s.SpanID == o.of.root {
		ofRun = o.of.scores
	}
	written, err := spanOf(s, ofRun)
	if err != nil {
		return fmt.Errorf("write span %s of run %s: %w", runmodel.FormatSpanID(s.SpanID), s.RunID, err)
	}
	text, err := json.Marshal(written)
	if err != nil {
		return fmt.Errorf("write span %s of run %s: %w", runmodel.FormatSpanID(s.SpanID), s.RunID, err)
	}
	size := len(text) + len(s.Resource)
	if o.size+size > maxLine {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.size += size
	return o.request.add(s, text)
}

// flush writes the spans since the last line.
func (o *Writer) flush() error {
	if o.size == 0 {
		return nil
	}
	if err := o.to.Encode(&o.request); err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	o.request, o.size = request{}, 0
	return nil
}

// Close writes what is left.
func (o *Writer) Close() error { return o.flush() }

// request is an ExportTraceServiceRequest of OTLP.
type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`

	stored string
}

type resource struct {
	Attributes []keyValue `json:"attributes,omitempty"`
}

type scopeSpans struct {
	Scope scope             `json:"scope"`
	Spans []json.RawMessage `json:"spans"`
}

type scope struct {
	Name       string     `json:"name,omitempty"`
	Version    string     `json:"version,omitempty"`
	Attributes []keyValue `json:"attributes"`
}

// add appends a span to those before it if they have its resource and scope.
func (r *request) add(s *runs.Span, text json.RawMessage) error {
	last := len(r.ResourceSpans) - 1
	if last < 0 || r.ResourceSpans[last].stored != string(s.Resource) {
		attributes, err := keyValuesOf(s.Resource)
		if err != nil {
			return fmt.Errorf("write the resource of span %s of run %s: %w", runmodel.FormatSpanID(s.SpanID), s.RunID, err)
		}
		r.ResourceSpans = append(r.ResourceSpans, resourceSpans{Resource: resource{attributes}, stored: string(s.Resource)})
		last++
	}
	of := &r.ResourceSpans[last]
	at := len(of.ScopeSpans) - 1
	if at < 0 || of.ScopeSpans[at].Scope.Name != s.ScopeName || of.ScopeSpans[at].Scope.Version != s.ScopeVersion {
		of.ScopeSpans = append(of.ScopeSpans, scopeSpans{Scope: scope{s.ScopeName, s.ScopeVersion, []keyValue{{runmodel.KeyExported, boolValue(true)}}}})
		at++
	}
	of.ScopeSpans[at].Spans = append(of.ScopeSpans[at].Spans, text)
	return nil
}
