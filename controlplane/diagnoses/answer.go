package diagnoses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/controlplane/recorded/edit"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/internal/jsontext"
	"github.com/looptrace/looptrace/internal/problem"
	"github.com/looptrace/looptrace/internal/utf8text"
)

const (
	// maxClaims is how many claims an answer has at most, and maxQuotes how many quotes a claim.
	maxClaims, maxQuotes = 5, 5
	// maxClaim is how many characters of a claim are kept, and maxWhy of the reason why an edit is left out.
	maxClaim, maxWhy = 500, 500
	// maxAnswer is how many bytes an answer may have to be read, and maxEdit those of an edit.
	maxAnswer, maxEdit = 256 << 10, 64 << 10
)

// Reason is why a claim was dropped.
type Reason string

// The reasons.
const (
	// DroppedMalformed is one that does not have the form that was asked for.
	DroppedMalformed Reason = "malformed"
	// DroppedTooMany is one beyond those that were asked for.
	DroppedTooMany Reason = "too_many"
	// DroppedRun is one about a run that the model was not sent.
	DroppedRun Reason = "run_not_sent"
	// DroppedStep is one about a step that its run does not have.
	DroppedStep Reason = "step_not_found"
	// DroppedNoQuotes is one without a quote.
	DroppedNoQuotes Reason = "no_quotes"
	// DroppedQuote is one of which the step has no quote.
	DroppedQuote Reason = "quote_not_found"
)

// Claim is a cause that the model claims, with quotes that were found. Its text is the model's: nothing of it was checked.
type Claim struct {
	Text   string    `json:"text"`
	RunID  uuid.UUID `json:"run_id"`
	SpanID string    `json:"span_id"`
	Quotes []Quote   `json:"quotes"`
	// QuotesNotFound is how many quotes were left out because the step does not have them.
	QuotesNotFound int `json:"quotes_not_found"`
	// Edit fits the run. It is nil if the model gave none; WhyNoEdit then says whether it gave one that cannot be replayed.
	Edit      *edit.Edit `json:"edit"`
	WhyNoEdit string     `json:"why_no_edit"`
}

var spanID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// claimed is a claim as a model writes it.
type claimed struct {
	Claim  string          `json:"claim"`
	RunID  string          `json:"run_id"`
	Step   string          `json:"step"`
	Quotes []string        `json:"quotes"`
	Edit   json.RawMessage `json:"edit"`
}

// claimsOf reads the claims of an answer, false if it has not the form that was asked for.
func claimsOf(content string) ([]json.RawMessage, bool) {
	var answer struct {
		Claims *[]json.RawMessage `json:"claims"`
	}
	if len(content) > maxAnswer || json.Unmarshal([]byte(content), &answer) != nil || answer.Claims == nil {
		return nil, false
	}
	return *answer.Claims, true
}

// check drops the claims whose quotes are not in the steps that they name.
func check(ctx context.Context, asked []AskedRun, claims []json.RawMessage, read reader) (*Result, error) {
	result := &Result{Claims: []Claim{}, Dropped: map[Reason]int{}}
	for i, raw := range claims {
		if i >= maxClaims {
			result.Dropped[DroppedTooMany] += len(claims) - maxClaims
			break
		}
		claim, dropped, err := checkClaim(ctx, asked, raw, read)
		if err != nil {
			return nil, err
		}
		if dropped != "" {
			result.Dropped[dropped]++
			continue
		}
		result.Claims = append(result.Claims, *claim)
	}
	return result, nil
}

// reader reads what is recorded of a run.
type reader interface {
	// step returns a step in full, [runs.ErrNotFound] if the run does not have it.
	step(ctx context.Context, run uuid.UUID, spanID string) (runs.Span, error)
	recording(ctx context.Context, run uuid.UUID) (*recorded.Recording, error)
}

// checkClaim returns a claim with the quotes that its step has, or why it is dropped.
func checkClaim(ctx context.Context, asked []AskedRun, raw json.RawMessage, read reader) (*Claim, Reason, error) {
	var said claimed
	if json.Unmarshal(raw, &said) != nil {
		said = claimed{} // which has no text
	}
	claim := &Claim{Text: line(said.Claim, maxClaim), Quotes: []Quote{}}
	if claim.Text == "" {
		return nil, DroppedMalformed, nil
	}
	at := slices.IndexFunc(asked, func(r AskedRun) bool { return r.RunID.String() == said.RunID })
	if at < 0 {
		return nil, DroppedRun, nil
	}
	if !spanID.MatchString(said.Step) {
		return nil, DroppedStep, nil
	}
	claim.RunID, claim.SpanID = asked[at].RunID, said.Step
	span, err := read.step(ctx, claim.RunID, claim.SpanID)
	if errors.Is(err, runs.ErrNotFound) {
		return nil, DroppedStep, nil
	}
	if err != nil {
		return nil, "", err //nolint:wrapcheck // it says what it does
	}
	if len(said.Quotes) == 0 {
		return nil, DroppedNoQuotes, nil
	}
	fields := fieldsOf(&span)
	for i, quote := range said.Quotes {
		found, ok := Quote{}, false
		if i < maxQuotes {
			found, ok = find(fields, quote)
		}
		switch {
		case !ok:
			claim.QuotesNotFound++
		case !slices.Contains(claim.Quotes, found):
			claim.Quotes = append(claim.Quotes, found)
		}
	}
	if len(claim.Quotes) == 0 {
		return nil, DroppedQuote, nil
	}
	return claim, "", claim.readEdit(ctx, said.Edit, read)
}

// readEdit sets the edit if it can be replayed in the run of the claim, else why not.
func (c *Claim) readEdit(ctx context.Context, raw json.RawMessage, read reader) error {
	change, err := editOf(raw)
	if err == nil && change != nil {
		var recording *recorded.Recording
		if recording, err = read.recording(ctx, c.RunID); err != nil && !isOfRun(err) {
			return err //nolint:wrapcheck // it says what it does
		}
		if err == nil {
			_, err = edit.Check(recording, []edit.Edit{*change}, "edit")
		}
	}
	if err != nil {
		c.WhyNoEdit = line("The model's edit cannot be replayed: "+reasonOf(err), maxWhy)
		return nil
	}
	c.Edit = change
	return nil
}

// isOfRun reports whether an error says that a run cannot be replayed, which another try does not change.
func isOfRun(err error) bool {
	refused := problem.Of(err)
	return refused != nil && (refused.Kind == problem.TooLarge || refused.Kind == problem.NotFound || refused.Kind == problem.Conflict)
}

// reasonOf says what is wrong with an edit.
func reasonOf(err error) string {
	refused := problem.Of(err)
	if refused == nil || len(refused.Fields) == 0 {
		return err.Error()
	}
	reasons := make([]string, len(refused.Fields))
	for i, f := range refused.Fields {
		reasons[i] = f.Location + " " + f.Message
	}
	return strings.Join(reasons, "; ")
}

// editOf reads an edit strictly. A model may write it as an object, or as a text that holds one. It returns nil if there is none.
func editOf(raw json.RawMessage) (*edit.Edit, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(strings.TrimSpace(text))
	}
	if jsontext.IsNull(raw) {
		return nil, nil //nolint:nilnil // there is none
	}
	if len(raw) > maxEdit {
		return nil, fmt.Errorf("it has more than %d bytes", maxEdit)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var change edit.Edit
	if err := decoder.Decode(&change); err != nil {
		return nil, fmt.Errorf("read the edit: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the edit")
	}
	if change.Set.Prompt != nil {
		return nil, errors.New("a version of a prompt is chosen by a person")
	}
	return &change, nil
}

// line makes one line of a text, of a number of characters at most.
func line(text string, most int) string {
	return utf8text.Cut(strings.Join(strings.Fields(utf8text.Storable(text)), " "), most)
}
