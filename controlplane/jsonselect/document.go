package jsonselect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"github.com/looptrace/looptrace/internal/jsontext"
)

// Member is a member of a document, with its JSON.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Document is an object that paths select from. Its members are parsed when a path needs them, and values are selected as they were
// written, with the order of their members.
type Document struct {
	members []Member
	root    map[string]any
	// containers are by the addresses of their maps and slices. Those of empty slices are not in it.
	containers map[unsafe.Pointer]container
}

// container is an object or an array as it was written.
type container struct {
	text json.RawMessage
	// names are those of an object, in order.
	names []string
}

// NewDocument returns a document. Members must be valid JSON. Of members with the same name, the last counts.
func NewDocument(members []Member) *Document { return &Document{members: members} }

// Has reports whether the document has a member.
func (d *Document) Has(name string) bool { return d.member(name) != nil }

// member returns the JSON of a member, nil for none.
func (d *Document) member(name string) json.RawMessage {
	for i := len(d.members) - 1; i >= 0; i-- {
		if d.members[i].Name == name {
			return d.members[i].Value
		}
	}
	return nil
}

// parse parses the document once.
func (d *Document) parse() error {
	if d.root != nil {
		return nil
	}
	d.containers = map[unsafe.Pointer]container{}
	root := make(map[string]any, len(d.members))
	var names []string
	for _, m := range d.members {
		decoder := json.NewDecoder(bytes.NewReader(m.Value))
		decoder.UseNumber()
		value, err := d.value(decoder, m.Value, 0)
		if err == nil {
			if _, err = decoder.Token(); errors.Is(err, io.EOF) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("parse %s: %w", m.Name, err)
		}
		if _, ok := root[m.Name]; !ok {
			names = append(names, m.Name)
		}
		root[m.Name] = value
	}
	d.root = root
	d.containers[address(root)] = container{names: names}
	return nil
}

// maxDepth limits how deep a document nests.
const maxDepth = 1000

var errDepth = errors.New("nests too deep")

// value reads a value of text.
func (d *Document) value(decoder *json.Decoder, text json.RawMessage, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errDepth
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	from := decoder.InputOffset() - 1
	if delim == '[' {
		list := []any{}
		for decoder.More() {
			element, err := d.value(decoder, text, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		if _, err := decoder.Token(); err != nil {
			return nil, err
		}
		if len(list) > 0 {
			d.containers[address(list)] = container{text: text[from:decoder.InputOffset()]}
		}
		return list, nil
	}
	object := map[string]any{}
	var names []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // a key is a string
		element, err := d.value(decoder, text, depth+1)
		if err != nil {
			return nil, err
		}
		if _, ok := object[name]; !ok {
			names = append(names, name)
		}
		object[name] = element
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	d.containers[address(object)] = container{text: text[from:decoder.InputOffset()], names: names}
	return object, nil
}

// address is that of a map or a slice.
func address(of any) unsafe.Pointer { return reflect.ValueOf(of).UnsafePointer() }

// text returns the JSON of a selected value.
func (d *Document) text(value any) (json.RawMessage, error) {
	switch v := value.(type) {
	case map[string]any:
		if text := d.containers[address(v)].text; text != nil {
			return text, nil
		}
		return d.whole()
	case []any:
		if len(v) == 0 {
			return json.RawMessage("[]"), nil
		}
		return d.containers[address(v)].text, nil
	}
	return jsontext.Encode(value)
}

// whole returns the JSON of the document.
func (d *Document) whole() (json.RawMessage, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, name := range d.containers[address(d.root)].names {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := jsontext.Encode(name)
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(d.member(name))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
