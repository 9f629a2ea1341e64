package formula

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// Formula is the calculate_output of OpenAI's multi grader: numbers, names of graders, + - * / ^, parentheses, and functions.
type Formula struct {
	Evaluate func(scores map[string]float64) float64
	Names    []string
}

// functions of formulas, by name. A function has that many arguments; 0 means one or more.
var functions = map[string]struct {
	arguments int
	apply     func(x []float64) float64
}{
	"min":   {0, slices.Min[[]float64]},
	"max":   {0, slices.Max[[]float64]},
	"abs":   {1, func(x []float64) float64 { return math.Abs(x[0]) }},
	"floor": {1, func(x []float64) float64 { return math.Floor(x[0]) }},
	"ceil":  {1, func(x []float64) float64 { return math.Ceil(x[0]) }},
	"exp":   {1, func(x []float64) float64 { return math.Exp(x[0]) }},
	"sqrt":  {1, func(x []float64) float64 { return math.Sqrt(x[0]) }},
	"log":   {1, func(x []float64) float64 { return math.Log(x[0]) }},
}

type term = func(scores map[string]float64) float64

// formulaParser reads a formula by recursive descent.
type formulaParser struct {
	text  string
	at    int
	depth int
	known []string
	used  []string
	err   error
}

const maxFormulaDepth = 50

// ParseFormula reads a formula of the named graders.
func ParseFormula(text string, known []string) (*Formula, error) {
	if len(text) > jsonvalue.MaxExpression {
		return nil, fmt.Errorf("must have at most %d bytes", jsonvalue.MaxExpression)
	}
	p := &formulaParser{text: text, known: known}
	sum := p.sum()
	if p.skip(); p.err == nil && p.at < len(text) {
		p.fail("unexpected %s", jsonvalue.Quote(text[p.at:]))
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Formula{sum, p.used}, nil
}

func (p *formulaParser) fail(format string, args ...any) term {
	if p.err == nil {
		p.err = fmt.Errorf("is not a formula: %s at character %d. It has the names of the graders (%s), numbers, + - * / ^, parentheses and the functions %s",
			fmt.Sprintf(format, args...), p.at+1, jsonvalue.List(p.known), jsonvalue.List(jsonvalue.SortedKeys(functions)))
	}
	return func(map[string]float64) float64 { return math.NaN() }
}

func (p *formulaParser) skip() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

// take takes one of the characters.
func (p *formulaParser) take(characters string) (byte, bool) {
	if p.skip(); p.at < len(p.text) && strings.IndexByte(characters, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1], true
	}
	return 0, false
}

func (p *formulaParser) sum() term {
	if p.depth++; p.depth > maxFormulaDepth {
		return p.fail("more than %d levels", maxFormulaDepth)
	}
	defer func() { p.depth-- }()
	left := p.product()
	for {
		operator, ok := p.take("+-")
		if !ok {
			return left
		}
		a, b := left, p.product()
		if operator == '+' {
			left = func(s map[string]float64) float64 { return a(s) + b(s) }
		} else {
			left = func(s map[string]float64) float64 { return a(s) - b(s) }
		}
	}
}

func (p *formulaParser) product() term {
	left := p.signed()
	for {
		operator, ok := p.take("*/")
		if !ok {
			return left
		}
		a, b := left, p.signed()
		if operator == '*' {
			left = func(s map[string]float64) float64 { return a(s) * b(s) }
		} else {
			left = func(s map[string]float64) float64 { return a(s) / b(s) }
		}
	}
}

// signed reads a power with signs before it: -2^2 is -4.
func (p *formulaParser) signed() term {
	if p.depth++; p.depth > maxFormulaDepth {
		return p.fail("more than %d levels", maxFormulaDepth)
	}
	defer func() { p.depth-- }()
	if sign, ok := p.take("+-"); ok {
		one := p.signed()
		if sign == '-' {
			return func(s map[string]float64) float64 { return -one(s) }
		}
		return one
	}
	base := p.atom()
	if _, ok := p.take("^"); ok {
		exponent := p.signed() // 2^3^2 is 2^9, and 2^-1 is allowed
		return func(s map[string]float64) float64 { return math.Pow(base(s), exponent(s)) }
	}
	return base
}

func (p *formulaParser) atom() term {
	if _, ok := p.take("("); ok {
		inside := p.sum()
		if _, ok := p.take(")"); !ok {
			return p.fail("a parenthesis is not closed")
		}
		return inside
	}
	p.skip()
	rest := p.text[p.at:]
	word := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."))]
	if word == "" {
		return p.fail("a value is missing")
	}
	if jsonvalue.IsDigit(word[0]) || word[0] == '.' {
		// An exponent with a sign, as in 1e-3.
		if last := word[len(word)-1] | 0x20; last == 'e' && len(rest) > len(word)+1 && strings.IndexByte("+-", rest[len(word)]) >= 0 {
			more := rest[len(word)+1:]
			word = rest[:len(rest)-len(strings.TrimLeft(more, "0123456789"))]
		}
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return p.fail("%s is not a number", jsonvalue.Quote(word))
		}
		p.at += len(word)
		return func(map[string]float64) float64 { return number }
	}
	if slices.Contains(p.known, word) {
		p.at += len(word)
		p.used = append(p.used, word)
		return func(s map[string]float64) float64 { return s[word] }
	}
	return p.function(word)
}

func (p *formulaParser) function(name string) term {
	f, ok := functions[name]
	if !ok {
		return p.fail("%s is neither a grader nor a function", jsonvalue.Quote(name))
	}
	p.at += len(name)
	if _, ok := p.take("("); !ok {
		return p.fail("%s needs its arguments in parentheses", name)
	}
	arguments := []term{p.sum()}
	for {
		if _, ok := p.take(","); !ok {
			break
		}
		arguments = append(arguments, p.sum())
	}
	if _, ok := p.take(")"); !ok {
		return p.fail("a parenthesis is not closed")
	}
	if f.arguments > 0 && len(arguments) != f.arguments {
		return p.fail("%s has %d argument", name, f.arguments)
	}
	return func(s map[string]float64) float64 {
		values := make([]float64, len(arguments))
		for i := range arguments {
			values[i] = arguments[i](s)
		}
		return f.apply(values)
	}
}
