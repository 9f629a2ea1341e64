package provider

import (
	"net/http"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// listing is the reply to GET /v1/models and GET /v1/models/{id}.
func listing(name string, q *Request) *Reply {
	var listed []any
	for _, id := range Models() {
		var entry any = map[string]any{"id": id, "object": "model", "created": 1790000000, "owned_by": "scripted"}
		if q.Protocol == Anthropic {
			entry = map[string]any{"type": "model", "id": id, "display_name": id, "created_at": "2026-09-21T00:00:00Z"}
		}
		if name == "model" && id == q.Model {
			return jsonReply(entry)
		}
		listed = append(listed, entry)
	}
	switch {
	case name == "model":
		return &Reply{Error: unknownModel(q.Protocol, q.Model)}
	case q.Protocol == Anthropic:
		all := Models()
		return jsonReply(map[string]any{"data": listed, "has_more": false, "first_id": all[0], "last_id": all[len(all)-1]})
	default:
		return jsonReply(map[string]any{"object": "list", "data": listed})
	}
}

func jsonReply(value any) *Reply {
	return &Reply{Raw: &Raw{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: string(jsontext.MustEncode(value))}}
}
