package deadletters

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/components/kafkabatchreceiver"
	"github.com/looptrace/looptrace/internal/otlpwire"
)

// headerPrefix begins every header that the receiver adds to those of the record.
const headerPrefix = "dead_letter."

// location is the location of a dead letter in its topic, written PARTITION:OFFSET.
type location struct {
	partition int32
	offset    int64
}

func (p location) String() string { return fmt.Sprintf("%d:%d", p.partition, p.offset) }

func parseLocation(text string) (location, error) {
	left, right, found := strings.Cut(text, ":")
	partition, errPartition := strconv.ParseUint(left, 10, 31)
	offset, errOffset := strconv.ParseUint(right, 10, 63)
	if !found || errPartition != nil || errOffset != nil {
		return location{}, fmt.Errorf("%q is not PARTITION:OFFSET, such as 0:17", text)
	}
	return location{partition: int32(partition), offset: int64(offset)}, nil
}

// origin is the location and time of the record before it became a dead letter. Its fields are the texts of the
// headers, empty if a header is missing.
type origin struct {
	topic, partition, offset string
	written                  time.Time
}

func (o origin) String() string {
	if o.topic == "" {
		return "unknown"
	}
	return o.topic + " " + o.partition + ":" + o.offset
}

// deadLetter is one record of the dead-letter topic.
type deadLetter struct {
	location
	// written is when it became a dead letter.
	written time.Time
	reason  string
	// text is the error of the failed attempt.
	text   string
	origin origin
	record *kgo.Record
}

// newDeadLetter parses the headers. The receiver's are last: the record's own may have the same names.
func newDeadLetter(record *kgo.Record) deadLetter {
	l := deadLetter{
		location: location{record.Partition, record.Offset}, written: record.Timestamp, reason: "unknown", record: record,
	}
	for _, header := range record.Headers {
		value := string(header.Value)
		switch header.Key {
		case kafkabatchreceiver.HeaderReason:
			l.reason = value
		case kafkabatchreceiver.HeaderError:
			l.text = value
		case kafkabatchreceiver.HeaderTopic:
			l.origin.topic = value
		case kafkabatchreceiver.HeaderPartition:
			l.origin.partition = value
		case kafkabatchreceiver.HeaderOffset:
			l.origin.offset = value
		case kafkabatchreceiver.HeaderTimestamp:
			l.origin.written, _ = time.Parse(time.RFC3339Nano, value) // zero if it is invalid
		}
	}
	return l
}

// traces decodes the value.
func (l deadLetter) traces() (ptrace.Traces, error) {
	return otlpwire.Decode(l.record.Value)
}

// original returns the record as it was before, for the topic that it was in. It keeps its time, which is the version
// of its spans: with a new time an old state would win over what was stored since.
func (l deadLetter) original(topic string) *kgo.Record {
	record := &kgo.Record{Topic: topic, Key: l.record.Key, Value: l.record.Value, Timestamp: l.origin.written}
	if record.Timestamp.IsZero() {
		record.Timestamp = l.written
	}
	for _, header := range l.record.Headers {
		if !strings.HasPrefix(header.Key, headerPrefix) {
			record.Headers = append(record.Headers, header)
		}
	}
	return record
}

// summary is an entry of the list.
type summary struct {
	deadLetter
	bytes int
	// spans is nil if the value cannot be decoded.
	spans    *int
	redriven bool
}

// summarize does not keep the record, so that a long list is small.
func summarize(l deadLetter, redriven bool) summary {
	s := summary{deadLetter: l, bytes: len(l.record.Value), redriven: redriven}
	if traces, err := l.traces(); err == nil {
		n := traces.SpanCount()
		s.spans = &n
	}
	s.record = nil
	return s
}

// MarshalJSON writes what --json prints.
func (s summary) MarshalJSON() ([]byte, error) {
	type originJSON struct {
		Topic     string     `json:"topic"`
		Partition string     `json:"partition"`
		Offset    string     `json:"offset"`
		Time      *time.Time `json:"time"`
	}
	from := originJSON{Topic: s.origin.topic, Partition: s.origin.partition, Offset: s.origin.offset}
	if !s.origin.written.IsZero() {
		from.Time = &s.origin.written
	}
	return json.Marshal(struct {
		Partition int32      `json:"partition"`
		Offset    int64      `json:"offset"`
		Time      time.Time  `json:"time"`
		Reason    string     `json:"reason"`
		Error     string     `json:"error"`
		Original  originJSON `json:"original"`
		Bytes     int        `json:"bytes"`
		Spans     *int       `json:"spans"`
		Redriven  bool       `json:"redriven"`
	}{s.partition, s.offset, s.written.UTC(), s.reason, s.text, from, s.bytes, s.spans, s.redriven})
}
