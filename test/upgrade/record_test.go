package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// record says what a data folder has. It stands beside the packed folder.
type record struct {
	Version   string    `json:"version"`
	WrittenAt time.Time `json:"written_at"`
	ProjectID string    `json:"project_id"`
	// Users and keys are those of the folder. They are secrets of nothing.
	Users []user `json:"users"`
	Keys  struct {
		Admin   string `json:"admin"`
		Ingest  string `json:"ingest"`
		Reader  string `json:"reader"`
		Revoked string `json:"revoked"`
	} `json:"keys"`
	Provider modelProvider `json:"provider"`
	Failures []failure     `json:"failures"`
	// Reads are what the product answers about the data.
	Reads []read `json:"reads"`
}

type user struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	// Refused is why the user cannot log in, empty for one who can.
	Refused string `json:"refused,omitempty"`
}

// modelProvider is what a provider of models must be for the connections of the folder.
type modelProvider struct {
	// Address is where it listens. A connection with another address would need its API key again.
	Address      string `json:"address"`
	Key          string `json:"key"`
	ConnectionID string `json:"connection_id"`
	// Header is one that the connection adds to each request. Its value is encrypted, too.
	Header string `json:"header"`
	Value  string `json:"value"`
	Model  string `json:"model"`
}

// failure is a group of failed runs about which something was decided.
type failure struct {
	Fingerprint string `json:"fingerprint"`
	// Run is a run that fails in this way, but for id and times.
	Run object `json:"run"`
	// Decision is what was decided, as the product answers it.
	Decision object `json:"decision"`
	// Reopens is true if another failed run opens the group again.
	Reopens bool `json:"reopens"`
}

// read is a request for data, and what it must answer at least: later releases may add members.
type read struct {
	Path string `json:"path"`
	// Answer is JSON, or a text of another format.
	Answer any `json:"answer"`
}

func readRecord(file string) (record, error) {
	var r record
	text, err := os.ReadFile(file)
	if err != nil {
		return r, fmt.Errorf("read what a data folder has: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read what a data folder has: %w", err)
	}
	return r, nil
}

// write writes each read on a line of its own, so that a change of one shows in a diff.
func (r *record) write(file string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	rest := *r
	rest.Reads = nil
	if err := encoder.Encode(rest); err != nil {
		return fmt.Errorf("write what a data folder has: %w", err)
	}
	text.Truncate(text.Len() - len("null}\n")) // reads are the last member
	separator := "[\n"
	for _, one := range r.Reads {
		text.WriteString(separator)
		if err := encoder.Encode(one); err != nil {
			return fmt.Errorf("write what a data folder has: %w", err)
		}
		text.Truncate(text.Len() - len("\n"))
		separator = ",\n"
	}
	text.WriteString("\n]}\n")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write what a data folder has: %w", err)
	}
	return nil
}

// forgotten are members that change by themselves: when a key was used last, what a connection has spent this month and does now, and what
// a rule does today.
var forgotten = []string{"last_used_at", "month", "activity", "today", "looked_until", "recent_errors"}

// lasting returns a value without what changes by itself.
func lasting(value any) any {
	switch value := value.(type) {
	case object:
		kept := object{}
		for name, member := range value {
			if !slices.Contains(forgotten, name) {
				kept[name] = lasting(member)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i := range value {
			kept[i] = lasting(value[i])
		}
		return kept
	default:
		return value
	}
}

// records returns the objects of an answer that is a text with a JSON object a line, and any other answer as it is.
func records(answer any) any {
	text, ok := answer.(string)
	if !ok {
		return answer
	}
	var list []any
	for line := range strings.Lines(text) {
		var record object
		if json.Unmarshal([]byte(line), &record) != nil {
			return answer
		}
		list = append(list, record)
	}
	return list
}

// differences lists where an answer lacks what it had, or has another value. Members that it has besides are none.
func differences(at string, want, got any) []string {
	switch want := want.(type) {
	case object:
		members, ok := got.(object)
		if !ok {
			return []string{fmt.Sprintf("%s is %s, and was an object", at, short(got))}
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			member, there := members[name]
			if !there {
				all = append(all, fmt.Sprintf("%s.%s is missing", at, name))
				continue
			}
			all = append(all, differences(at+"."+name, want[name], member)...)
		}
		return all
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s is %s, and had %d elements: %s", at, short(got), len(want), short(want))}
		}
		var all []string
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, i), want[i], list[i])...)
		}
		return all
	default:
		if want != got {
			return []string{fmt.Sprintf("%s is %s, and was %s", at, short(got), short(want))}
		}
		return nil
	}
}

// short returns a value as JSON, cut.
func short(value any) string {
	const most = 300
	text, _ := json.Marshal(value) // it came from JSON
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
