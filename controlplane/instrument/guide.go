// Package instrument says how programs are recorded, per language and framework: to agents, in the UI and as llms.txt. The
// recipes are those of docs/recipes, which are run against a real installation.
package instrument

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// KeyPlaceholder stands where a key goes. A guide never holds one.
const KeyPlaceholder = "lt_YOUR_KEY"

// ErrUnknownFramework is a framework that no recipe and no package of one is called.
var ErrUnknownFramework = errors.New("unknown framework")

// Variable is one of a program's environment.
type Variable struct {
	Name  string
	Value string
}

// SelfTest sends a run and reads it back. Both commands take the key from LOOPTRACE_API_KEY.
type SelfTest struct {
	RunID uuid.UUID
	// Send needs the scope ingest:write, Check runs:read.
	Send  string
	Check string
	// Tool is the call of the MCP server that shows the same.
	Tool string
}

// Guide is how to record programs in an installation.
type Guide struct {
	Endpoint string
	// Environment is what the SDK and the recipes read, OTLP what any OpenTelemetry SDK reads instead.
	Environment []Variable
	OTLP        []Variable
	// Frameworks are all that have a recipe in the language.
	Frameworks []Recipe
	// Recipe is the one that was asked for, the language's general one where no framework was named, else nil.
	Recipe *Recipe
	Test   SelfTest
}

// Step is one thing to do. Command, for a shell, may be empty.
type Step struct {
	ID          string
	Instruction string
	Command     string
}

// Steps are what to do, in order.
func (g *Guide) Steps() []Step {
	steps := []Step{
		{"key", "Have a person make a key on the page Keys of " + g.Endpoint + ", with the presets Ingest and Agent for recording and for the self-test. " +
			"Put it in the environment in place of " + KeyPlaceholder + ", never in code.", ""},
		{"environment", "Set where runs go.", exports(g.Environment)},
	}
	if g.Recipe == nil {
		steps = append(steps, Step{
			"detect", "Find the program's framework: look for the packages of frameworks in its dependencies. " +
				"Then ask for this guide again with framework= the id, or with language= alone where none is found.", "",
		})
	} else {
		steps = append(steps,
			Step{"install", "Install what records.", g.Recipe.Install},
			Step{"code", "Add to the program what recipe.code has besides the framework's own calls. Read recipe.notes.", ""})
	}
	return append(steps,
		Step{"send", "Send the run of the self-test: it is answered 202.", g.Test.Send},
		Step{"check", "Read it back: 200 within seconds shows that address and key are good. Then run the program and look for its run.", g.Test.Check})
}

// Guides writes guides.
type Guides struct {
	recipes []Recipe
}

// New reads the recipes.
func New() (*Guides, error) {
	list, err := readRecipes()
	if err != nil {
		return nil, err
	}
	return &Guides{recipes: list}, nil
}

// Guide is the guide for an installation's address. Language and framework may be empty; a framework is a recipe's id or
// the name of a package.
func (g *Guides) Guide(endpoint, language, framework string, testRun uuid.UUID) (Guide, error) {
	guide := Guide{
		Endpoint: endpoint,
		Environment: []Variable{
			{"LOOPTRACE_ENDPOINT", endpoint},
			{"LOOPTRACE_API_KEY", KeyPlaceholder},
		},
		OTLP: []Variable{
			{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"},
			{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint + "/v1/traces"},
			{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "authorization=Bearer%20" + KeyPlaceholder},
		},
		Test: selfTest(endpoint, testRun),
	}
	for i := range g.recipes {
		if r := &g.recipes[i]; language == "" || speaks(language, r.Language) {
			guide.Frameworks = append(guide.Frameworks, *r)
		}
	}
	wanted := framework
	if wanted == "" {
		wanted = general[language]
	}
	if wanted == "" {
		return guide, nil
	}
	at := slices.IndexFunc(guide.Frameworks, func(r Recipe) bool { return r.ID == wanted })
	if at < 0 {
		at = slices.IndexFunc(guide.Frameworks, func(r Recipe) bool {
			return slices.ContainsFunc(r.Packages, func(p Package) bool { return p.Name == wanted })
		})
	}
	if at < 0 {
		return Guide{}, ErrUnknownFramework
	}
	guide.Recipe = &guide.Frameworks[at]
	return guide, nil
}

// speaks tells whether a program in one language can use a recipe in another: TypeScript and JavaScript are one.
func speaks(language, recipe string) bool {
	script := []string{TypeScript, JavaScript}
	return language == recipe || (slices.Contains(script, language) && slices.Contains(script, recipe))
}

// SelfTestName is the name of the run that a self-test sends.
const SelfTestName = "looptrace self-test"

func selfTest(endpoint string, run uuid.UUID) SelfTest {
	return SelfTest{
		RunID: run,
		Send: fmt.Sprintf(`now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%SZ); curl -sS --fail-with-body %s/v1/runs \
  -H "Authorization: Bearer $LOOPTRACE_API_KEY" -H 'Content-Type: application/json' \
  -d "{\"runs\":[{\"run_id\":\"%s\",\"name\":\"%s\",\"start_time\":\"$now\",\"end_time\":\"$now\",\"inputs\":\"ping\",\"outputs\":\"pong\"}]}"
`, endpoint, run, SelfTestName),
		Check: fmt.Sprintf(`curl -sS --fail-with-body --retry 15 --retry-delay 1 --retry-all-errors %s/v1/runs/%s \
  -H "Authorization: Bearer $LOOPTRACE_API_KEY"
`, endpoint, run),
		Tool: fmt.Sprintf(`runs.read {"run_id":"%s"}`, run),
	}
}

// ValidEndpoint returns an address as guides write it into commands, or false for one that is none.
func ValidEndpoint(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	odd := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]", r)
	}
	if u.Host == "" || strings.ContainsFunc(u.Host, odd) || strings.ContainsFunc(strings.ReplaceAll(u.Path, "/", ""), odd) {
		return "", false
	}
	return u.Scheme + "://" + u.Host + u.Path, true
}
