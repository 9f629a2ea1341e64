package grader

import (
	"context"
	"fmt"

	"github.com/looptrace/looptrace/controlplane/grader/jsonvalue"
)

// toolLoop finds calls that are repeated without need.
type toolLoop struct {
	repeats int
}

func readToolLoop(d *definition) (check, bool) {
	c := &toolLoop{repeats: 2}
	if n := d.integer("max_repeats", 1); n != nil {
		c.repeats = *n
	}
	return c, false
}

// cycle is a block of calls that is repeated in direct succession.
type cycle struct {
	Position int `json:"position"`
	Length   int `json:"length"`
	Repeats  int `json:"repeats"`
}

// repeat is a call that was made more than once with the same arguments.
type repeat struct {
	Tool      string `json:"tool"`
	Positions []int  `json:"positions"`
}

// maxCycle is the longest block that is looked for.
const maxCycle = 20

func (c *toolLoop) grade(ctx context.Context, s *subject) verdict {
	calls, v := s.compared()
	if v != nil {
		return *v
	}
	if len(calls) == 0 {
		return notApplicable("the sample has no tool calls")
	}
	const most = 100_000
	if len(calls) > most {
		return failed(fmt.Errorf("the sample has %d tool calls; at most %d are searched for loops", len(calls), most))
	}
	numbers, positions := map[string]int{}, [][]int{}
	sequence := make([]int, len(calls)) // calls as numbers
	known, stagnant := map[string]bool{}, 0
	for i := range calls {
		number, ok := numbers[calls[i].key]
		if !ok {
			number = len(positions)
			numbers[calls[i].key] = number
			positions = append(positions, nil)
		}
		positions[number] = append(positions[number], i)
		sequence[i] = number
		// A repeated call is not redundant if it brought another result.
		key := calls[i].key + "\x00" + string(calls[i].recorded.Result)
		if e := calls[i].recorded.Error; e != nil {
			key += "\x00" + *e
		}
		if known[key] {
			stagnant++
		}
		known[key] = true
	}
	repeats, loops := []repeat{}, false
	for _, at := range positions {
		if len(at) > 1 {
			repeats = jsonvalue.AppendLimited(repeats, repeat{calls[at[0]].name, at[:min(len(at), 50)]})
		}
		loops = loops || len(at) > c.repeats
	}
	cycles, err := findCycles(ctx, sequence)
	if err != nil {
		return failed(err)
	}
	for _, one := range cycles {
		loops = loops || one.Repeats > c.repeats
	}
	score := 1 - float64(stagnant)/float64(len(calls))
	evidence := map[string]any{"redundant": stagnant, "repeated": repeats, "cycles": cycles[:min(len(cycles), 50)]}
	return judged(score, !loops, evidence, "%d of %d calls repeat an earlier one with the same result; cycles: %d", stagnant, len(calls), len(cycles))
}

// findCycles finds blocks of at most maxCycle elements that follow each other at least twice. A block is not found again within its
// repeats.
func findCycles(ctx context.Context, sequence []int) ([]cycle, error) {
	cycles := []cycle{}
	for i := 0; i < len(sequence); {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		best := cycle{}
		for length := 1; length <= maxCycle && i+2*length <= len(sequence); length++ {
			same := 0
			for i+length+same < len(sequence) && sequence[i+same] == sequence[i+length+same] {
				same++
			}
			if repeats := same/length + 1; repeats > 1 && repeats*length > best.Repeats*best.Length {
				best = cycle{i, length, repeats}
			}
		}
		if best.Repeats == 0 {
			i++
			continue
		}
		cycles = append(cycles, best)
		i += best.Length * best.Repeats
	}
	return cycles, nil
}
