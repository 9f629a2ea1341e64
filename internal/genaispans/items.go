package genaispans

import (
	"cmp"
	"strings"
)

// isItem reports whether a type is that of an item of the Responses API which is no message: a call, its output, or what
// the server did (platform.openai.com/docs/api-reference/responses, Items).
func isItem(kind string) bool {
	switch kind {
	case "tool_call":
		return false // a part of the conventions
	case "item_reference", "compaction":
		return true
	}
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output") || strings.HasPrefix(kind, "mcp_")
}

// item writes an item of the Responses API. What it calls is the assistant's, and what came back the tool's.
func (w *writer) item(o object, text, kind string) {
	id := o.str("call_id", "id")
	output := o.get("output", "outputs", "result", "results")
	if strings.HasSuffix(kind, "_output") {
		if output == "" {
			output = o.without("type", "id", "call_id", "status")
		}
		w.begin("tool", "")
		w.toolResponse(id, o.str("name"), contentValue(output))
		w.also(o)
		w.end("")
		return
	}
	w.begin("assistant", "")
	name, arguments := o.str("name"), o.get("arguments", "input")
	switch {
	case kind == "image_generation_call" && output != "" && output[0] == '"':
		w.toolCall(id, "image_generation", o.without("type", "id", "status", "result", "error"))
		w.also(o)
		w.media("image", mimeOf("image", cmp.Or(o.str("output_format"), "png")), "", o.str("result"))
		w.end("")
		return
	case !strings.HasSuffix(kind, "_call"), name == "" && (kind == "function_call" || kind == "custom_tool_call"):
		w.verbatim(text)
		w.end("")
		return
	case name == "": // a tool of the server, which has its arguments as members
		name, arguments = strings.TrimSuffix(kind, "_call"), o.without("type", "id", "call_id", "status", "output", "outputs", "result", "results")
	}
	w.toolCall(id, name, arguments)
	w.also(object{{"server_label", o.get("server_label")}, {"approval_request_id", o.get("approval_request_id")}})
	w.end("")
	if failed := o.get("error"); output != "" || failed != "" {
		w.begin("tool", "")
		w.toolResponse(id, "", contentValue(output))
		w.also(object{{"error", failed}})
		w.end("")
	}
}

// reasoningOf writes the reasoning beside the content of a message: as text, or as blocks with signatures, in the
// message itself or in LangChain's additional arguments.
func (w *writer) reasoningOf(o object) {
	for _, at := range [...]object{o, o.at("additional_kwargs")} {
		if at == nil {
			continue
		}
		for _, key := range [...]string{"thinking_blocks", "reasoning_details"} { // LiteLLM's, OpenRouter's
			blocks, _ := cutArray(at.get(key))
			for _, block := range blocks {
				if inner, ok := cutObject(block); ok {
					w.reasoning(inner.plain("thinking", "text", "summary"), inner)
				}
			}
			if len(blocks) > 0 {
				return
			}
		}
		switch text := at.get("reasoning_content", "reasoning", "thinking"); {
		case text == "", text == `""`:
		case text[0] == '"':
			plain, _ := jsonString(text)
			w.reasoning(plain, nil)
			return
		case text[0] == '{':
			inner, _ := cutObject(text)
			w.reasoning(cmp.Or(summaryOf(inner), inner.plain("text")), inner)
			return
		}
	}
}

// besides writes what OpenAI's and OpenRouter's messages have beside their content: audio, images, annotations.
func (w *writer) besides(o object) {
	if audio := o.at("audio"); audio != nil {
		w.audio(audio, o.get("audio"))
	}
	if images := o.get("images"); images != "" && images[0] == '[' {
		w.content(images)
	}
	if annotations := o.get("annotations"); annotations != "" && annotations != "[]" && annotations[0] == '[' {
		w.verbatim(`{"type":"annotations","annotations":` + annotations + `}`)
	}
}

// audio writes audio with its transcript as a text, or a reference to audio as it is.
func (w *writer) audio(o object, raw string) {
	transcript, data := o.plain("transcript"), o.str("data", "audio")
	if transcript != "" {
		w.text(transcript)
	}
	switch {
	case data != "":
		w.media("audio", mimeOf("audio", o.str("format")), "", data)
	case transcript == "":
		w.typed("audio", o, raw)
	}
}

// typed writes a block unchanged but for its type, which it may lack.
func (w *writer) typed(kind string, o object, raw string) {
	switch {
	case o.get("type") != "":
		w.verbatim(raw)
	case o == nil:
		w.verbatim(`{"type":"` + kind + `","content":` + raw + `}`)
	case len(o) == 0:
		w.verbatim(`{"type":"` + kind + `"}`)
	default:
		w.verbatim(`{"type":"` + kind + `",` + strings.TrimSpace(raw)[1:])
	}
}
