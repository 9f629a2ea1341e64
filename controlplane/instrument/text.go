package instrument

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Text returns the whole guide as Markdown, for /llms.txt (llmstxt.org). It contains neither a project nor a key.
func (g *Guides) Text(endpoint string, testRun uuid.UUID) (string, error) {
	guide, err := g.Guide(endpoint, "", "", testRun)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Looptrace

> Records runs of AI agents: the prompts and answers of models, tool calls, and failures. This page explains how to record a
> program at %[1]s and how to read its runs.

## Key

A person creates one at %[1]s, under Settings > Keys: preset Ingest to record, preset Agent to read. Put it into the environment,
never into code.

## Environment

The Python SDK and the recipes read these. Models need the key of their provider too, such as OPENAI_API_KEY.

%[2]s
Zero-code instrumentation and any other OpenTelemetry SDK read these instead, without changes to code. Each is needed: messages may
travel as logs, metrics are not stored, and OpenTelemetry's instrumentations record no messages unless they are told to. For Java and
Node, the last one is "true". The recipe opentelemetry-zero-code says what other instrumentations need.

%[3]s
## Self-test

This sends a run (scope ingest:write). The answer is 202:

%[4]s
This reads it back (scope runs:read). The answer is 200 within seconds:

%[5]s
## Reading

- [API](%[1]s/v1/docs): the REST API; [OpenAPI](%[1]s/v1/openapi.json)
- %[1]s/mcp: the same for agents, over the Model Context Protocol (streamable HTTP, the key as bearer). Tools: runs.failures,
  runs.search, runs.read, runs.diff, replay.edit, replay.diff, work.list. Use %[1]s/mcp?tool_names=underscore for clients that do not accept dots in names.
- GET %[1]s/v1/agent/instrument-guide?project_id=…&framework=…: this page as JSON, one recipe at a time

## Recipes

Find the framework by the packages in the program's dependencies. ./sdk/python is a folder of Looptrace's source.
`, endpoint, shell(exports(guide.Environment)), shell(exports(guide.OTLP)), shell(guide.Test.Send), shell(guide.Test.Check))
	for _, r := range guide.Frameworks {
		names := make([]string, len(r.Packages))
		for i, p := range r.Packages {
			names[i] = p.Registry + " " + p.Name
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s: %s\n\n%s\n%s:\n\n```\n%s```\n\n%s", r.Title, r.ID, strings.Join(names, ", "), shell(r.Install), r.File, r.Code, shell(r.Run))
		if r.Notes != "" {
			b.WriteString("\n" + r.Notes + "\n")
		}
	}
	return b.String(), nil
}

func exports(variables []Variable) string {
	var b strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, v.Value)
	}
	return b.String()
}

func shell(command string) string { return "```sh\n" + command + "```\n" }
