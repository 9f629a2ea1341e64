package runsreceiver

import "bytes"

// dropNulls removes members that are null. In the JSON form of protobuf they are the same as absent ones, but pdata's
// decoders refuse some. The body must be valid JSON, and is overwritten.
func dropNulls(body []byte) []byte {
	if !bytes.Contains(body, []byte("null")) {
		return body
	}
	d := nullDropper{in: body, out: body[:0]}
	d.value()
	return d.out
}

// nullDropper copies JSON. out and in may share memory, since out never becomes longer than what was read of in.
type nullDropper struct{ in, out []byte }

func (d *nullDropper) value() {
	d.space()
	switch d.in[0] {
	case '{':
		d.object()
	case '[':
		d.array()
	default:
		d.out = append(d.out, d.scalar()...)
	}
}

func (d *nullDropper) object() {
	d.copy()
	for first := true; d.in[0] != '}'; d.space() {
		d.skip(',')
		key := d.scalar()
		d.skip(':')
		if d.in[0] == 'n' {
			d.scalar()
			continue
		}
		if !first {
			d.out = append(d.out, ',')
		}
		first = false
		d.out = append(append(d.out, key...), ':')
		d.value()
	}
	d.copy()
}

func (d *nullDropper) array() {
	d.copy()
	for d.in[0] != ']' {
		if d.in[0] == ',' {
			d.copy()
		}
		d.value()
		d.space()
	}
	d.copy()
}

// scalar copies a string, a number or a name.
func (d *nullDropper) scalar() []byte {
	n := 1
	if d.in[0] == '"' {
		for ; d.in[n] != '"'; n++ {
			if d.in[n] == '\\' {
				n++
			}
		}
		n++
	} else if n = bytes.IndexAny(d.in, ",:]} \t\r\n"); n < 0 {
		n = len(d.in)
	}
	scalar := d.in[:n]
	d.in = d.in[n:]
	return scalar
}

// copy copies a bracket or a comma, and the space after it.
func (d *nullDropper) copy() {
	d.out = append(d.out, d.in[0])
	d.in = d.in[1:]
	d.space()
}

// skip skips a mark, if it is there, and the space around it.
func (d *nullDropper) skip(mark byte) {
	d.space()
	if d.in[0] == mark {
		d.in = d.in[1:]
		d.space()
	}
}

func (d *nullDropper) space() { d.in = bytes.TrimLeft(d.in, " \t\r\n") }
