package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/providers"
)

// Code returns a request as a shell command and as a Python program. Both read the API key from an environment variable.
func Code(p *providers.Preview) (curl, python string) {
	return curlOf(p), pythonOf(p)
}

func curlOf(p *providers.Preview) string {
	var out strings.Builder
	fmt.Fprintf(&out, "curl %s", shellQuote(p.URL))
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		// The value may name a variable of the shell.
		fmt.Fprintf(&out, " \\\n  -H %s", doubleQuote(name+": "+p.Headers[name]))
	}
	fmt.Fprintf(&out, " \\\n  -d %s\n", shellQuote(indented(p.Body)))
	return out.String()
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func doubleQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(text) + `"`
}

func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// keyVariables are the environment variables from which the providers' clients read the key.
var keyVariables = map[llm.Kind]string{llm.OpenAI: "OPENAI_API_KEY", llm.Anthropic: "ANTHROPIC_API_KEY"}

func pythonOf(p *providers.Preview) string {
	var out strings.Builder
	client, class, method := "openai", "OpenAI", "client.chat.completions.create"
	if p.Provider.Kind == llm.Anthropic {
		client, class, method = "anthropic", "Anthropic", "client.messages.create"
	}
	fmt.Fprintf(&out, "import json\nimport os\n\nfrom %s import %s\n\n", client, class)
	fmt.Fprintf(&out, "client = %s(\n    base_url=%s,\n    api_key=os.environ.get(%q, \"none\"),\n", class, pythonString(p.Provider.BaseURL), keyVariables[p.Provider.Kind])
	if len(p.Provider.HeaderNames) > 0 {
		out.WriteString("    default_headers={\n")
		for _, name := range p.Provider.HeaderNames {
			fmt.Fprintf(&out, "        %s: os.environ[%s],\n", pythonString(name), pythonString(variableOf(name)))
		}
		out.WriteString("    },\n")
	}
	// JSON in a string keeps the body exact, members that the client does not know among them.
	fmt.Fprintf(&out, ")\nbody = json.loads(%s)\n", pythonString(indented(p.Body)))
	known := "model"
	if p.Provider.Kind == llm.Anthropic {
		known = "model\", \"max_tokens"
	}
	fmt.Fprintf(&out, "named = {name: body.pop(name) for name in (\"%s\", \"messages\", \"stream\") if name in body}\n", known)
	fmt.Fprintf(&out, "response = %s(**named, extra_body=body)\n", method)
	if streams(p.Body) {
		out.WriteString("for event in response:\n    print(event)\n")
	} else {
		out.WriteString("print(response)\n")
	}
	return out.String()
}

// variableOf returns a name of an environment variable for a header.
func variableOf(header string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(header))
}

// pythonString returns a literal of Python: JSON's strings are some, too.
func pythonString(text string) string {
	literal, err := json.Marshal(text)
	if err != nil {
		return `""` // a string is always encoded
	}
	return string(literal)
}

func streams(body json.RawMessage) bool {
	var m struct {
		Stream bool `json:"stream"`
	}
	return json.Unmarshal(body, &m) == nil && m.Stream
}
