package llm

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

// events yields the data of each event of a stream (text/event-stream), without the white space around it. It leaves out
// events without data, and an event that the end of the stream cuts off. An error of the stream is the last thing it
// yields. The caller may keep the data.
//
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html. The names and ids of events, which no provider's
// protocol needs, are skipped.
func events(stream io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, 2*maxLine) // the connection's own limit comes first
		var data []byte
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if event := bytes.TrimSpace(data); len(event) > 0 && !yield(event, nil) {
					return
				}
				data = nil
				continue
			}
			if name, value, _ := bytes.Cut(line, []byte(":")); string(name) == "data" {
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// readEvent reads an event into an answer. It returns true if it is the last one. An event may report an error instead.
func readEvent(r reader, data []byte) (last bool, err error) {
	if reportsError(data) {
		return false, &reportedError{data}
	}
	return r.event(data)
}

// withoutMark removes a byte order mark from the beginning of a text.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }
