package upgrade

import "net/http"

// writeFindings keeps what was learnt about the groups of failures: one is confirmed and promoted to a version of a prompt, one is deleted.
func (w *writer) writeFindings() {
	body := func(title string) object {
		return object{
			"project_id": w.project, "fingerprint": w.record.Failures[0].Fingerprint, "note": "seen by a person",
			"candidate": object{
				"kind": "instructions", "title": title, "key": title,
				"edits": []object{{"target": "all", "set": object{"system_prompt": "Ask before you look up anything."}}},
			},
		}
	}
	path := "/v1/findings/" + w.owner.create("/v1/findings", body("It does not ask"))
	w.owner.do(http.MethodPatch, path, object{"status": "confirmed", "base_revision": 1})
	prompt := w.owner.create("/v1/prompts", object{
		"project_id": w.project, "name": "lookup", "version": object{"messages": []object{{"role": "system", "content": "Look up things."}}},
	})
	w.owner.do(http.MethodPost, path+"/_actions/promote", object{"prompt": object{"id": prompt}})
	w.owner.do(http.MethodDelete, "/v1/findings/"+w.owner.create("/v1/findings", body("It asks")), nil)
	w.reads("/v1/findings?project_id="+w.project, path, "/v1/prompts/"+prompt+"/versions")
}
