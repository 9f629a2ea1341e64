// Package instrument explains how to record programs, by language and framework, for agents, the UI and llms.txt. The
// recipes are those of docs/recipes, which are tested against a real installation.
package instrument

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// KeyPlaceholder is written in place of a key. A guide never contains one.
const KeyPlaceholder = "lt_YOUR_KEY"

// ErrUnknownFramework means that no recipe and no package of a recipe has the name.
var ErrUnknownFramework = errors.New("unknown framework")

// Variable is a variable of a program's environment.
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
	// Tool is the MCP call that shows the same run.
	Tool string
}

// Guide is how to record programs in an installation.
type Guide struct {
	Endpoint string
	// Environment is for the SDK and the recipes. Any OpenTelemetry SDK reads OTLP instead, without changes to code.
	Environment []Variable
	OTLP        []Variable
	// Frameworks are the recipes for the language.
	Frameworks []Recipe
	// Recipe is the one for the framework. If none was named, it is the language's default one, or nil without a language.
	Recipe *Recipe
	Test   SelfTest
}

// Step is something to do. Command is for a shell and may be empty.
type Step struct {
	ID          string
	Instruction string
	Command     string
}

// Steps returns the steps of the guide, in order.
func (g *Guide) Steps() []Step {
	steps := []Step{
		{"key", "Ask a person to create a key at " + g.Endpoint + ", under Settings > Keys, with the presets Ingest and Agent for recording and for the self-test. " +
			"Put it into the environment in place of " + KeyPlaceholder + ", never into code.", ""},
		{"environment", "Set the address and the key.", exports(g.Environment)},
	}
	if g.Recipe == nil {
		steps = append(steps, Step{
			"detect", "Find the program's framework by the packages in its dependencies. " +
				"Then request this guide again with framework= its id, or with language= if there is none.", "",
		})
	} else {
		steps = append(steps,
			Step{"install", "Install the packages that record.", g.Recipe.Install},
			Step{"code", "Add the lines of recipe.code that are not the framework's own calls to the program. Read recipe.notes.", ""},
			Step{"run", "Run the program. Its variables are needed beside those of the environment.", g.Recipe.Run})
	}
	return append(steps,
		Step{"send", "Send the run of the self-test. The answer is 202.", g.Test.Send},
		Step{"check", "Read it back. 200 within seconds means that address and key are correct. Then run the program and look for its run.", g.Test.Check})
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

// Guide returns the guide for an installation's address. language and framework may be empty. framework is a recipe's
// id or the name of a package.
func (g *Guides) Guide(endpoint, language, framework string, testRun uuid.UUID) (Guide, error) {
	guide := Guide{
		Endpoint: endpoint,
		Environment: []Variable{
			{"LOOPTRACE_ENDPOINT", endpoint},
			{"LOOPTRACE_API_KEY", KeyPlaceholder},
		},
		OTLP: otlp(endpoint, language),
		Test: selfTest(endpoint, testRun),
	}
	for i := range g.recipes {
		if r := &g.recipes[i]; language == "" || canUse(language, r.Language) {
			guide.Frameworks = append(guide.Frameworks, *r)
		}
	}
	wanted := cmp.Or(framework, language)
	if general, ok := defaultRecipe[wanted]; ok {
		wanted = general
	}
	if wanted == "" {
		return guide, nil
	}
	index := slices.IndexFunc(guide.Frameworks, func(r Recipe) bool { return r.ID == wanted })
	if index < 0 {
		index = slices.IndexFunc(guide.Frameworks, func(r Recipe) bool {
			return slices.ContainsFunc(r.Packages, func(p Package) bool { return p.Name == wanted })
		})
	}
	if index < 0 {
		return Guide{}, ErrUnknownFramework
	}
	guide.Recipe = &guide.Frameworks[index]
	return guide, nil
}

// otlp returns what makes a stock OpenTelemetry SDK send whole runs here, whatever its exporters default to: the address of spans and of
// logs, in which some instrumentations put messages, no metrics, which are not stored, and messages at all, which no instrumentation of
// OpenTelemetry records unless it is told to. The key goes into x-api-key, because SDKs differ in how they read the space of a bearer.
func otlp(endpoint, language string) []Variable {
	capture := "span_only"
	if language == Java || canUse(language, JavaScript) {
		capture = "true"
	}
	return []Variable{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=" + KeyPlaceholder},
		{"OTEL_TRACES_EXPORTER", "otlp"},
		{"OTEL_LOGS_EXPORTER", "otlp"},
		{"OTEL_METRICS_EXPORTER", "none"},
		{"OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"},
		{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", capture},
	}
}

// canUse reports whether a program in a language can use a recipe in another. TypeScript and JavaScript share theirs.
func canUse(language, recipe string) bool {
	script := []string{TypeScript, JavaScript}
	return language == recipe || recipe == Any || (slices.Contains(script, language) && slices.Contains(script, recipe))
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

// ValidEndpoint returns an address as guides write it into commands, or false if it is not safe there.
func ValidEndpoint(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	unsafe := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]", r)
	}
	if u.Host == "" || strings.ContainsFunc(u.Host, unsafe) || strings.ContainsFunc(strings.ReplaceAll(u.Path, "/", ""), unsafe) {
		return "", false
	}
	return u.Scheme + "://" + u.Host + u.Path, true
}
