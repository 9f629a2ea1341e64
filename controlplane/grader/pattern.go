package grader

import (
	"errors"

	"github.com/looptrace/looptrace/controlplane/grader/jsonschema"
)

// errNoAnswer says that the pattern found no answer to grade.
var errNoAnswer = errors.New("the pattern finds no answer in the text")

// answer is the text of a template, or what the pattern finds in it.
type answer struct {
	input   *template
	pattern *jsonschema.Pattern
}

func (d *definition) answer() answer {
	return answer{d.template("input", ofOutput), d.pattern("pattern", false)}
}

func (a *answer) text(s *subject) (string, error) {
	text, err := a.input.text(s)
	if err != nil || a.pattern == nil {
		return text, err
	}
	match, span, err := a.pattern.Find(text)
	if err == nil && span == nil {
		err = errNoAnswer
	}
	return match, err
}

// both returns the answer and the references. If both lack something, what the item lacks decides.
func (a *answer) both(s *subject, reference *template) (string, []string, *verdict) {
	references, err := reference.texts(s)
	text, textErr := a.text(s)
	if err == nil || (isMissing(textErr) && isMissing(err)) {
		err = worse(err, textErr)
	}
	if err != nil {
		v := unanswered(err)
		return "", nil, &v
	}
	return text, references, nil
}

// unanswered is [unresolved] for an answer.
func unanswered(err error) verdict {
	if errors.Is(err, errNoAnswer) {
		return passed(false, nil, "%s", err.Error())
	}
	return unresolved(err)
}
