package instrument

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/docs/recipes"
)

// Languages of recipes.
const (
	Python     = "python"
	TypeScript = "typescript"
	JavaScript = "javascript"
	Go         = "go"
	Java       = "java"
	// Any is of programs in every language: a Collector.
	Any = "any"
)

// Package is a library that identifies the framework of a program.
type Package struct {
	// Registry is pypi, npm, go or maven.
	Registry string
	Name     string
}

// Recipe explains how to record programs that use a framework.
type Recipe struct {
	ID       string
	Title    string
	Language string
	// Packages identify the framework in a program's dependencies.
	Packages []Package
	Install  string
	// File is the name of the file for Code.
	File string
	Code string
	// Run is the command that runs Code, with the variables that it needs beside the guide's environment.
	Run string
	// Notes are further remarks in Markdown.
	Notes string
}

// packagesOf are the packages that identify the framework of each recipe.
var packagesOf = map[string][]Package{
	"ag2":                          {{"pypi", "ag2"}},
	"agno":                         {{"pypi", "agno"}},
	"anthropic":                    {{"pypi", "anthropic"}},
	"autogen":                      {{"pypi", "autogen-agentchat"}, {"pypi", "autogen-core"}, {"pypi", "autogen-ext"}},
	"crewai":                       {{"pypi", "crewai"}},
	"dspy":                         {{"pypi", "dspy"}, {"pypi", "dspy-ai"}},
	"google-adk":                   {{"pypi", "google-adk"}},
	"haystack":                     {{"pypi", "haystack-ai"}},
	"langchain":                    {{"pypi", "langchain"}, {"pypi", "langchain-core"}, {"pypi", "langchain-openai"}, {"pypi", "langchain-anthropic"}},
	"langchain-js":                 {{"npm", "langchain"}, {"npm", "@langchain/core"}, {"npm", "@langchain/openai"}, {"npm", "@langchain/langgraph"}},
	"langgraph":                    {{"pypi", "langgraph"}},
	"litellm":                      {{"pypi", "litellm"}},
	"llama-index":                  {{"pypi", "llama-index"}, {"pypi", "llama-index-core"}},
	"logfire":                      {{"pypi", "logfire"}},
	"mastra":                       {{"npm", "@mastra/core"}, {"npm", "mastra"}},
	"mcp":                          {{"pypi", "mcp"}, {"pypi", "fastmcp"}},
	"openai":                       {{"pypi", "openai"}, {"pypi", "instructor"}},
	"openai-agents":                {{"pypi", "openai-agents"}},
	"opentelemetry-collector":      {{"go", "go.opentelemetry.io/collector"}},
	"opentelemetry-go":             {{"go", "go.opentelemetry.io/otel"}},
	"opentelemetry-java":           {{"maven", "com.openai:openai-java"}, {"maven", "io.opentelemetry:opentelemetry-api"}, {"maven", "io.opentelemetry:opentelemetry-sdk"}},
	"opentelemetry-node":           {{"npm", "@opentelemetry/api"}, {"npm", "@opentelemetry/sdk-node"}},
	"opentelemetry-python":         {{"pypi", "opentelemetry-api"}, {"pypi", "opentelemetry-sdk"}},
	"opentelemetry-zero-code":      {{"pypi", "opentelemetry-distro"}, {"pypi", "opentelemetry-instrumentation-genai-openai"}, {"pypi", "opentelemetry-instrumentation-openai-v2"}},
	"opentelemetry-zero-code-node": {{"npm", "@opentelemetry/auto-instrumentations-node"}, {"npm", "openai"}},
	"pydantic-ai":                  {{"pypi", "pydantic-ai"}, {"pypi", "pydantic-ai-slim"}},
	"semantic-kernel":              {{"pypi", "semantic-kernel"}},
	"smolagents":                   {{"pypi", "smolagents"}},
	"strands":                      {{"pypi", "strands-agents"}},
	"vercel-ai":                    {{"npm", "ai"}},
}

// defaultRecipe is the recipe for programs whose framework has none, by language.
var defaultRecipe = map[string]string{
	Python: "opentelemetry-python", TypeScript: "opentelemetry-node", JavaScript: "opentelemetry-node", Go: "opentelemetry-go",
	Java: "opentelemetry-java",
}

var (
	block     = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```\n?")
	emptyRows = regexp.MustCompile(`\n{3,}`)
)

// languageOf is the language of a recipe whose program is a configuration.
var languageOf = map[string]string{"yaml": Any}

// readRecipes parses the pages. Each has a heading, notes, a command to install, the program with the name of its file, the command to
// run it, and more notes.
func readRecipes() ([]Recipe, error) {
	pages, err := fs.Glob(recipes.Pages, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list recipes: %w", err)
	}
	var list []Recipe
	for _, page := range pages {
		if page == "README.md" {
			continue
		}
		text, err := fs.ReadFile(recipes.Pages, page)
		if err != nil {
			return nil, fmt.Errorf("read recipe: %w", err)
		}
		r := Recipe{ID: strings.TrimSuffix(page, path.Ext(page))}
		heading, rest, _ := strings.Cut(string(text), "\n")
		blocks := block.FindAllStringSubmatch(rest, -1)
		if !strings.HasPrefix(heading, "# ") || len(blocks) < 3 || blocks[0][1] != "sh" || blocks[1][2] == "" || blocks[2][1] != "sh" || len(packagesOf[r.ID]) == 0 {
			return nil, fmt.Errorf("recipe %s lacks a heading, a command to install, a program with the name of its file, a command to run it or a package", page)
		}
		r.Title, r.Packages = strings.TrimPrefix(heading, "# "), packagesOf[r.ID]
		r.Install, r.File, r.Code, r.Run = blocks[0][3], blocks[1][2], blocks[1][3], blocks[2][3]
		r.Language = cmp.Or(languageOf[blocks[1][1]], blocks[1][1])
		notes := rest
		for _, taken := range blocks[:3] {
			notes = strings.Replace(notes, taken[0], "", 1)
		}
		r.Notes = strings.TrimSpace(emptyRows.ReplaceAllString(notes, "\n\n"))
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Recipe) int { return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) })
	return list, nil
}
