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

// Package is a library that identifies the framework of a program.
type Package struct {
	// Registry is pypi, npm or go.
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
	Code     string
	// Notes are further remarks in Markdown.
	Notes string
}

// packagesOf are the packages that identify the framework of each recipe.
var packagesOf = map[string][]Package{
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

// defaultRecipe is the recipe for programs whose framework has none, by language.
var defaultRecipe = map[string]string{
	Python: "opentelemetry-python", TypeScript: "opentelemetry-node", JavaScript: "opentelemetry-node", Go: "opentelemetry-go",
}

var block = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```\n?")

// readRecipes parses the pages. Each has a heading, notes, a command to install, the program, and more notes.
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
		if !strings.HasPrefix(heading, "# ") || len(blocks) < 2 || blocks[0][1] != "sh" || len(packagesOf[r.ID]) == 0 {
			return nil, fmt.Errorf("recipe %s lacks a heading, a command to install, a program or a package", page)
		}
		r.Title, r.Packages = strings.TrimPrefix(heading, "# "), packagesOf[r.ID]
		r.Install, r.Language, r.Code = blocks[0][2], blocks[1][1], blocks[1][2]
		notes := strings.Replace(strings.Replace(rest, blocks[0][0], "", 1), blocks[1][0], "", 1)
		r.Notes = strings.TrimSpace(regexp.MustCompile(`\n{3,}`).ReplaceAllString(notes, "\n\n"))
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Recipe) int { return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) })
	return list, nil
}
