package httpapi

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/runmodel"
)

// otlpLine is the size from which spans go into another line, in bytes. The Collector's otlpjsonfile receiver reads lines up to 1 MiB
// unless its max_log_size says otherwise, and ingest reads requests up to 20 MiB.
const otlpLine = 1_000_000

// otlpJSON writes runs as OTLP/JSON, one ExportTraceServiceRequest per line. A line has spans of one run.
type otlpJSON struct {
	to      *json.Encoder
	of      otlpRun
	request otlpRequest
	size    int
}

// otlpRun is what a run's spans do not say.
type otlpRun struct {
	root   uint64
	scores []runmodel.Score
}

func newOTLP(to io.Writer) *otlpJSON {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	return &otlpJSON{to: encoder}
}

func (o *otlpJSON) run(r *runs.Run) error {
	if err := o.flush(); err != nil {
		return err
	}
	o.of = otlpRun{r.RootSpanID, r.OwnScores}
	return nil
}

func (o *otlpJSON) span(s *runs.Span) error {
	var ofRun []runmodel.Score
	if s.SpanID == o.of.root {
		ofRun = o.of.scores
	}
	written, err := otlpSpanOf(s, ofRun)
	if err != nil {
		return fmt.Errorf("write span %s of run %s: %w", runmodel.FormatSpanID(s.SpanID), s.RunID, err)
	}
	text, err := json.Marshal(written)
	if err != nil {
		return fmt.Errorf("write span %s of run %s: %w", runmodel.FormatSpanID(s.SpanID), s.RunID, err)
	}
	size := len(text) + len(s.Resource)
	if o.size+size > otlpLine {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.size += size
	return o.request.add(s, text)
}

// flush writes the spans since the last line.
func (o *otlpJSON) flush() error {
	if o.size == 0 {
		return nil
	}
	if err := o.to.Encode(&o.request); err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	o.request, o.size = otlpRequest{}, 0
	return nil
}

func (o *otlpJSON) Close() error { return o.flush() }

// otlpRequest is an ExportTraceServiceRequest of OTLP.
type otlpRequest struct {
	ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
}

type otlpResourceSpans struct {
	Resource   otlpResource     `json:"resource"`
	ScopeSpans []otlpScopeSpans `json:"scopeSpans"`

	stored string
}

type otlpResource struct {
	Attributes []otlpAttribute `json:"attributes,omitempty"`
}

type otlpScopeSpans struct {
	Scope otlpScope         `json:"scope"`
	Spans []json.RawMessage `json:"spans"`
}

type otlpScope struct {
	Name       string          `json:"name,omitempty"`
	Version    string          `json:"version,omitempty"`
	Attributes []otlpAttribute `json:"attributes"`
}

// add appends a span to those before it if they have its resource and scope.
func (r *otlpRequest) add(s *runs.Span, text json.RawMessage) error {
	last := len(r.ResourceSpans) - 1
	if last < 0 || r.ResourceSpans[last].stored != string(s.Resource) {
		attributes, err := otlpAttributesOf(s.Resource)
		if err != nil {
			return fmt.Errorf("write the resource of span %s of run %s: %w", runmodel.FormatSpanID(s.SpanID), s.RunID, err)
		}
		r.ResourceSpans = append(r.ResourceSpans, otlpResourceSpans{Resource: otlpResource{attributes}, stored: string(s.Resource)})
		last++
	}
	of := &r.ResourceSpans[last]
	at := len(of.ScopeSpans) - 1
	if at < 0 || of.ScopeSpans[at].Scope.Name != s.ScopeName || of.ScopeSpans[at].Scope.Version != s.ScopeVersion {
		of.ScopeSpans = append(of.ScopeSpans, otlpScopeSpans{Scope: otlpScope{s.ScopeName, s.ScopeVersion, []otlpAttribute{{runmodel.KeyExported, otlpBool(true)}}}})
		at++
	}
	of.ScopeSpans[at].Spans = append(of.ScopeSpans[at].Spans, text)
	return nil
}
