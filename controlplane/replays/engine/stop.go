package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/recorded"
	"github.com/looptrace/looptrace/internal/jsontext"
)

// ending is a way in which an attempt ends early: what happened, and what to do. The words are for people, and the same for those who use
// the API and those who see a form. What they quote is stored with the attempt, after the run is deleted: names of tools and of arguments,
// and what a provider says, but nothing that was recorded.
type ending struct {
	reason         StopReason
	detail, remedy string
}

// Remedies of several endings.
const (
	callModels    = "Replay with model calls."
	editElsewhere = "Edit this request itself, or a later step."
	policyOfTool  = "Say what calls of the tool get that were not recorded: a fixed result, or that of the most similar recorded call."
)

var (
	unansweredRequest = ending{StopMiss, "The recording has the request to the model, but not its answer.", recorded.RecordContents}
	otherRequest      = ending{StopMiss, "The request to the model is not the recorded one, and this replay calls no model.", callModels}
	modelTimedOut     = ending{
		StopModelError, "The call of the model times out, and the recording does not say what the program does then.", "Choose a longer timeout, or edit another step.",
	}
	answerCensored = ending{
		StopCensored, "The call of the model would have gone on longer than recorded, so that nobody knows its answer.",
		"Leave its timeout and retries as recorded, or edit another step.",
	}
	resultCensored = ending{
		StopCensored, "The call of the tool would have gone on longer than recorded, so that nobody knows its result.", "Add an edit that sets the result.",
	}
	writtenRequest   = ending{StopOpaque, "The request has the output of a step that differs, in a text that only the program writes.", editElsewhere}
	writtenArguments = ending{
		StopOpaque, "The arguments of the tool call have the output of a step that differs, in a text that only the program writes.", "Add an edit that sets the result of the call.",
	}
	writtenResult = ending{
		StopOpaque, "The result of the tool is made of steps below it that differ, in a way that only the program knows.", "Add an edit that sets the result of the tool.",
	}
	handedOff = ending{
		StopOpaque, "The recorded program changed its system prompt, its tools or its parameters after other tool calls than those of the attempt.", "Edit a later step.",
	}
	handledError = ending{
		StopOpaque, "The program itself calls the tool, and the recording does not say what it does after an error.", "Set a result of the tool instead of an error.",
	}
)

// opaque is the end at a request that only the program can make: why says how it differs.
func opaque(why string) ending { return ending{StopOpaque, why, editElsewhere} }

// modelFailed is the end at a call that a provider refused.
func modelFailed(message string) ending {
	return ending{StopModelError, "The call of the model failed: " + message, "Correct the request or choose another model, or make the missing attempts when the provider answers again."}
}

// tooManySteps is the end at the limit of steps.
func tooManySteps(most int) ending {
	return ending{StopStepLimit, fmt.Sprintf("The attempt made %d calls, which is the limit: about twice as many as recorded.", most), "See in its run whether the agent repeats itself."}
}

// limited is the end for a reason of Options.Limit.
func limited(reason StopReason) ending {
	return ending{reason, "A limit of the replay is reached.", "Raise the limit."}
}

// unrecorded is the end at a call of a tool that the recording has no result for.
func (c *cassette) unrecorded(found *lookup, name, arguments string) ending {
	out := ending{reason: StopMiss, remedy: policyOfTool}
	tool := strconv.Quote(name)
	if found.unanswered {
		out.detail = "The recording has the call of the tool " + tool + ", but not its result."
		return out
	}
	out.detail = "The recording has no call of the tool " + tool + "."
	if len(c.byName[name]) > 0 {
		out.detail = "The recording has no call of the tool " + tool + " with the same arguments"
		if names := c.otherArguments(name, arguments); len(names) > 0 {
			out.detail += " (different: " + strings.Join(names, ", ") + ")"
		}
		out.detail += "."
	}
	if found.writes {
		out.reason = StopWriteBarrier
		out.detail += " It counts as a tool that writes."
		out.remedy += " If the tool changes nothing, say that it only reads."
	}
	return out
}

// mostNames is how many arguments an ending names.
const mostNames = 5

// argumentName is a name that a definition of a tool may have. Others may be anything that a model wrote.
var argumentName = regexp.MustCompile(`^[A-Za-z_][\w.-]{0,63}$`)

// otherArguments names, in quotes, the arguments in which a call differs from the most similar recorded one of its tool.
func (c *cassette) otherArguments(name, arguments string) []string {
	best, at := -1., 0
	for _, n := range c.byName[name] {
		if s := similarity(c.Calls[n].Arguments, arguments); s > best {
			best, at = s, n
		}
	}
	was, made := jsontext.Members([]byte(c.Calls[at].Arguments)), jsontext.Members([]byte(arguments))
	all := maps.Clone(was)
	if all == nil || made == nil {
		return nil
	}
	maps.Copy(all, made)
	var names []string
	for _, one := range slices.Sorted(maps.Keys(all)) {
		if !argumentName.MatchString(one) || recorded.CanonicalText(string(was[one])) == recorded.CanonicalText(string(made[one])) {
			continue
		}
		if len(names) == mostNames {
			return append(names, "…")
		}
		names = append(names, strconv.Quote(one))
	}
	return names
}
