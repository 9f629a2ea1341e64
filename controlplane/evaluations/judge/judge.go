// Package judge does everything about one vote of a model that judges an output, except calling the model.
//
// [Parse] reads the JSON of a judge and says what is wrong with it. [New] prepares it. [Judge.Ask] and [Judge.AskPreference] write
// the messages, in which what is judged is fenced: no text in it can end its part or pass for instructions of the judge's author.
// [Question.Read] reads the answer of the model into a [Vote]. Nothing is guessed: an answer that has no value on the scale is a vote
// without a value, and its status says why.
//
// docs/judges.md describes judges for their users.
package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
	"github.com/looptrace/looptrace/internal/problem"
)

// Format is the version of what judges are told besides their rubric or prompt, and of how their answers are read. It is raised when a
// release changes either.
const Format = "looptrace-judge/1"

// Judge asks for votes. Several goroutines may use it at once.
type Judge struct {
	definition *Definition
	prompt     *prompttemplate.Prompt // nil for a rubric
	version    string
	limit      int // of the tokens of a part
}

// New prepares a judge. prompt is the content of the version that the definition names, nil for a definition with a rubric. An error is
// [problem.Invalid] below path, the location of the definition: a prompt must show the judge what it judges, in messages of users.
func New(d *Definition, prompt *prompttemplate.Prompt, path string) (*Judge, error) {
	if (d.Prompt != nil) != (prompt != nil) {
		return nil, errors.New("a judge takes a prompt exactly if its definition names one")
	}
	j := &Judge{definition: d, prompt: prompt, limit: MaxPartTokens}
	if prompt != nil {
		if err := checkPrompt(d, prompt, path+".prompt"); err != nil {
			return nil, err
		}
	}
	var err error
	if j.version, err = j.hash(); err != nil {
		return nil, problem.InvalidField(path, "cannot be read: "+err.Error())
	}
	return j, nil
}

// Definition is what the judge was made of.
func (j *Judge) Definition() *Definition { return j.definition }

// Version identifies everything that can change a vote: the rubric or the content of the prompt, the scale, the provider, the model with
// its parameters, and [Format]. Votes of the same version on the same subject are repeats of each other. The name, the number of
// repeats and what passes are not part of it.
func (j *Judge) Version() string { return j.version }

func (j *Judge) hash() (string, error) {
	d := j.definition
	whole, err := json.Marshal(map[string]any{
		"format": Format, "type": d.Type, "provider_id": d.ProviderID, "model_config": d.ModelConfig, "rubric": d.Rubric,
		"prompt": j.prompt, "scale": d.Scale,
	})
	if err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(whole)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:8]), nil
}

// checkPrompt refuses prompts that would judge nothing or something else. It renders the prompt once.
func checkPrompt(d *Definition, prompt *prompttemplate.Prompt, path string) error {
	if err := prompt.Check(); err != nil {
		return problem.InvalidField(path, "is no template: "+err.Error())
	}
	if len(prompt.Placeholders()) > 0 {
		return problem.InvalidField(path, fmt.Sprintf("has the placeholder %s, for which a judge has no messages: use variables", prompt.Placeholders()[0]))
	}
	known := variables(d.Type)
	for i, message := range prompt.Messages {
		one := prompttemplate.Prompt{Messages: []map[string]any{message}, Plain: prompt.Plain}
		for _, name := range one.Names() {
			if slices.Contains(known, name) && message["role"] != roleUser {
				return problem.InvalidField(path, fmt.Sprintf(
					"has {{%s}} in messages[%d], which has the role %v: move it to a message of the role user, so that what is judged never speaks as the system",
					name, i, message["role"]))
			}
		}
	}
	names := prompt.Names()
	for _, shown := range judged(d.Type) {
		if !slices.ContainsFunc(shown, func(name string) bool { return slices.Contains(names, name) }) {
			return problem.InvalidField(path, fmt.Sprintf("has none of the variables %s: the judge would not see what it judges", strings.Join(shown, ", ")))
		}
	}
	values := map[string]any{}
	for _, name := range known {
		values[name] = name
	}
	strict := *prompt
	strict.Missing = prompttemplate.MissingError
	_, err := strict.Render(prompttemplate.Values{Variables: values})
	var wrong *prompttemplate.ValuesError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &wrong):
		return problem.InvalidField(path, "cannot be rendered: "+err.Error())
	case len(wrong.WrongTypes) > 0:
		return problem.InvalidField(path, fmt.Sprintf("declares %s as %s: a judge gets texts, so declare string or any", wrong.WrongTypes[0].Name, wrong.WrongTypes[0].Type))
	}
	return problem.InvalidField(path, fmt.Sprintf(
		"has the variable %s, for which a judge has no value: it gets %s, each as a whole text", wrong.Variables[0], strings.Join(known, ", ")))
}
