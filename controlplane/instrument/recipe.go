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
)

// Package is a library by which a program can be told to use a framework.
type Package struct {
	// Registry is pypi, npm or go.
	Registry string
	Name     string
}

// Recipe is how programs on one framework are recorded.
type Recipe struct {
	ID       string
	Title    string
	Language string
	// Packages are those by which the framework is found in a program's dependencies.
	Packages []Package
	Install  string
	Code     string
	// Notes are what to know besides, in Markdown.
	Notes string
}

// detected are the libraries by which each recipe's framework is found.
var detected = map[string][]Package{
	"agno":                 {{"pypi", "agno"}},
	"anthropic":            {{"pypi", "anthropic"}},
	"crewai":               {{"pypi", "crewai"}},
	"dspy":                 {{"pypi", "dspy"}, {"pypi", "dspy-ai"}},
	"google-adk":           {{"pypi", "google-adk"}},
	"haystack":             {{"pypi", "haystack-ai"}},
	"langchain":            {{"pypi", "langchain"}, {"pypi", "langchain-core"}},
	"langgraph":            {{"pypi", "langgraph"}},
	"litellm":              {{"pypi", "litellm"}},
	"llama-index":          {{"pypi", "llama-index"}, {"pypi", "llama-index-core"}},
	"logfire":              {{"pypi", "logfire"}},
	"mcp":                  {{"pypi", "mcp"}, {"pypi", "fastmcp"}},
	"openai":               {{"pypi", "openai"}},
	"openai-agents":        {{"pypi", "openai-agents"}},
	"opentelemetry-go":     {{"go", "go.opentelemetry.io/otel"}},
	"opentelemetry-node":   {{"npm", "@opentelemetry/api"}, {"npm", "@opentelemetry/sdk-node"}},
	"opentelemetry-python": {{"pypi", "opentelemetry-api"}, {"pypi", "opentelemetry-sdk"}},
	"pydantic-ai":          {{"pypi", "pydantic-ai"}, {"pypi", "pydantic-ai-slim"}},
	"smolagents":           {{"pypi", "smolagents"}},
	"strands":              {{"pypi", "strands-agents"}},
	"vercel-ai":            {{"npm", "ai"}},
}

// general are the recipes for programs whose framework has none.
var general = map[string]string{
	Python: "opentelemetry-python", TypeScript: "opentelemetry-node", JavaScript: "opentelemetry-node", Go: "opentelemetry-go",
}

var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```\n?")

// readRecipes reads the pages: a heading, notes, how to install, the program, more notes.
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
		if !strings.HasPrefix(heading, "# ") || len(blocks) < 2 || blocks[0][1] != "sh" || len(detected[r.ID]) == 0 {
			return nil, fmt.Errorf("recipe %s has no heading, no command to install, no program or no package to be found by", page)
		}
		r.Title, r.Packages = strings.TrimPrefix(heading, "# "), detected[r.ID]
		r.Install, r.Language, r.Code = blocks[0][2], blocks[1][1], blocks[1][2]
		notes := strings.Replace(strings.Replace(rest, blocks[0][0], "", 1), blocks[1][0], "", 1)
		r.Notes = strings.TrimSpace(regexp.MustCompile(`\n{3,}`).ReplaceAllString(notes, "\n\n"))
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Recipe) int { return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) })
	return list, nil
}
