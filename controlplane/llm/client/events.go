package client

import (
	"bufio"
	"bytes"
	"io"
	"iter"

	"github.com/looptrace/looptrace/controlplane/llm/wire"
)

// event is an event of a stream. Its data have no white space around them.
type event struct {
	data []byte
	// fails is whether the event is named error. No provider's protocol needs other names.
	fails bool
}

// events yields the events of a stream (text/event-stream). It leaves out events without data, and an event that the end of
// the stream cuts off. An error of the stream is the last thing it yields. The caller may keep the data.
//
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html. The ids of events are skipped. A byte order mark
// may stand before the stream.
func events(stream io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, 2*maxLine) // the connection's own limit comes first
		var e event
		for first := true; lines.Scan(); first = false {
			line := lines.Bytes()
			if first {
				line = wire.WithoutMark(line)
			}
			if len(line) == 0 {
				if e.data = bytes.TrimSpace(wire.WithoutMark(bytes.TrimSpace(e.data))); len(e.data) > 0 && !yield(e, nil) {
					return
				}
				e = event{}
				continue
			}
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(name) {
			case "data":
				e.data = append(append(e.data, value...), '\n')
			case "event":
				e.fails = string(value) == "error"
			}
		}
		if err := lines.Err(); err != nil {
			yield(event{}, err)
		}
	}
}

// readEvent reads an event into an answer. It returns true if it is the last one. An event may report a failure instead, or
// beside the last of the answer.
func readEvent(r reader, e event) (last bool, err error) {
	report := wire.Reported(e.data)
	if report == nil && e.fails {
		report = &wire.ReportedError{Body: e.data}
	}
	if report == nil {
		return r.Event(e.data)
	}
	_, _ = r.Event(e.data) // what can be read of the answer is kept
	return false, report
}

// readWhole reads an answer that is not streamed.
func readWhole(r reader, body []byte) error {
	report := wire.Reported(body)
	err := r.Whole(body) // of a failure, too: what can be read of the answer is kept
	if report != nil {
		return report
	}
	return err
}
