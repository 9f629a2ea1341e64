package jsonschema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// Limits of JSON Schemas. In a few lines a schema can ask for more work than any machine does.
const (
	maxSchema      = 64 << 10
	maxSchemaSteps = 200_000
)

// Schema is a JSON Schema (drafts 4 to 2020-12) whose validations have limits. It may be used by several goroutines.
type Schema struct {
	document any
	// free has compiled forms that no validation uses: they count their own steps.
	free sync.Pool
}

// compiled is a schema that counts its steps.
type compiled struct {
	schema  *jsonschema.Schema
	counter *counter
}

// Misfit is a place where a value does not fit.
type Misfit struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// ParseSchema reads a JSON Schema of at most 64 KiB. References to other documents are refused. An error completes a sentence about it.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("must have at most %d KiB", maxSchema>>10)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("is no JSON Schema: %w", err)
	}
	s := &Schema{document: document}
	c, err := s.compile()
	if err != nil {
		return nil, err
	}
	s.free.Put(c)
	return s, nil
}

const schemaURL = "grader:schema"

func (s *Schema) compile() (*compiled, error) {
	steps := &counter{}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(boundedRegexp)
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: schemaURL + "/steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return steps, nil
		},
	})
	compiler.AssertVocabs() // counts the steps in every draft
	if err := compiler.AddResource(schemaURL, s.document); err != nil {
		return nil, fmt.Errorf("is no JSON Schema: %w", err)
	}
	schema, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("is no JSON Schema: %s", strings.ReplaceAll(err.Error(), schemaURL, ""))
	}
	return &compiled{schema, steps}, nil
}

// noLoader refuses remote references.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not loaded; put the schema into $defs", url)
}

func boundedRegexp(text string) (jsonschema.Regexp, error) {
	p, err := NewPattern(text, false)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// MatchString and String make a pattern one of the library's.
func (p *Pattern) MatchString(text string) bool {
	if err := p.Affordable(text); err != nil {
		panic(stoppedError{err})
	}
	return p.Regexp.MatchString(text)
}

func (p *Pattern) String() string { return p.Regexp.String() }

// counter counts the schemas that a validation visits.
type counter struct {
	ctx   context.Context
	steps int
}

// stoppedError ends a validation from inside of the library.
type stoppedError struct{ error }

// Validate counts a step.
func (c *counter) Validate(*jsonschema.ValidatorContext, any) {
	if c.steps++; c.steps > maxSchemaSteps {
		panic(stoppedError{fmt.Errorf("the schema needs more than %d steps for this value; make it simpler", maxSchemaSteps)})
	}
	if c.steps%1000 == 0 && c.ctx.Err() != nil {
		panic(stoppedError{c.ctx.Err()})
	}
}

// Misfit says where and why a JSON text does not fit, or nothing if it fits. An error is no misfit: a limit was reached, or ctx ended.
func (s *Schema) Misfit(ctx context.Context, raw json.RawMessage) (string, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return "", fmt.Errorf("the value is not JSON: %w", err)
	}
	found, err := s.Misfits(ctx, value)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Path + " " + found[0].Message, nil
}

// Misfits returns where a value does not fit, at most 20 places.
func (s *Schema) Misfits(ctx context.Context, value any) (found []Misfit, err error) {
	c, ok := s.free.Get().(*compiled)
	if !ok {
		if c, err = s.compile(); err != nil {
			return nil, err
		}
	}
	defer s.free.Put(c)
	*c.counter = counter{ctx: ctx}
	defer func() {
		if r := recover(); r != nil {
			stopped, ok := r.(stoppedError)
			if !ok {
				panic(r)
			}
			found, err = nil, stopped.error
		}
	}()
	err = c.schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, err
	}
	collect(invalid, &found)
	return found, nil
}

var (
	english = message.NewPrinter(language.English)
	escaped = strings.NewReplacer("~", "~0", "/", "~1") // as in a JSON pointer
)

// collect flattens an error to its causes.
func collect(e *jsonschema.ValidationError, found *[]Misfit) {
	const most = 20
	if len(*found) == most {
		return
	}
	if len(e.Causes) == 0 {
		var pointer strings.Builder
		for _, name := range e.InstanceLocation {
			pointer.WriteString("/" + escaped.Replace(name))
		}
		*found = append(*found, Misfit{"$" + pointer.String(), shortMessage(e.ErrorKind.LocalizedString(english))})
	}
	for _, cause := range e.Causes {
		collect(cause, found)
	}
}

// shortMessage cuts a message that quotes the value.
func shortMessage(text string) string {
	const maxBytes = 200
	if len(text) <= maxBytes {
		return text
	}
	return utf8text.Bytes(text, maxBytes) + "…"
}
